//! Schedules in the scheduled jobs: each time begins one task, however often, late or twice it is looked at.

use crate::cron::{Mood, Town, run_with, town};
use onceward::config::Builder;
use onceward::function::Function;
use onceward::function::flow::{Begun, FlowInput, flow};
use onceward::protocol::Begin;
use onceward::runtime::App;
use onceward::types::TaskKind;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::rc::Rc;

const EACH_MINUTE: &str = "id: beat\nnamespace: team\nlabels: {team: night}\ntriggers:\n  - {id: each, type: io.kestra.plugin.core.trigger.Schedule, cron: \"* * * * *\"}\n\
    tasks:\n  - {id: hi, type: io.kestra.plugin.core.log.Log, message: hi}\n";

fn app(texts: &[&str]) -> App {
    let builder = Builder::<Function>::new().own(flow());
    let builder = texts
        .iter()
        .fold(builder, |builder, text| builder.flow(text));
    builder.build().expect("a configuration")
}

/// Runs the jobs at so many milliseconds after the start of the town.
fn run_at(town: &Rc<Town>, app: &App, began_ms: u64, after_ms: u64) -> Value {
    town.clock.ms.set(began_ms + after_ms);
    run_with(town, Some(app)).0
}

fn begun(town: &Town) -> Vec<Begin> {
    town.begun.borrow().clone()
}

fn keys(town: &Town) -> Vec<String> {
    begun(town)
        .iter()
        .map(|begin| begin.key.key.clone())
        .collect()
}

/// The town, known to its flows for an hour, at the start of a minute.
fn long_known(texts: &[&str], moods: &[Mood]) -> (Rc<Town>, App, u64) {
    let town = Rc::new(town(moods));
    let began_ms = town.clock.ms.get() / 60_000 * 60_000;
    let app = app(texts);
    // The release's own get their revision with their first use.
    run_at(&town, &app, began_ms, 500);
    town.begun.borrow_mut().clear();
    (town, app, began_ms)
}

#[test]
fn each_time_begins_one_task() {
    let (town, app, began_ms) = long_known(&[EACH_MINUTE], &[Mood::Well]);
    let line = run_at(&town, &app, began_ms, 60_900);
    assert_eq!(line["schedules"]["begun"], 1, "{line}");
    let all = begun(&town);
    let [begin] = all.as_slice() else {
        panic!("one task: {all:?}");
    };
    assert_eq!(
        (begin.key.kind, begin.key.name.as_str()),
        (TaskKind::Source, "flow:team/beat")
    );
    assert_eq!(begin.function, "flow:team/beat");
    assert!(!begin.claims && begin.parent.is_none());
    assert_eq!(
        begin.about.labels.get("team").map(String::as_str),
        Some("night")
    );
    let input = FlowInput::read(begin.input.clone()).expect("of a flow");
    assert_eq!(input.key.as_deref(), Some(begin.key.key.as_str()));
    let Begun::Trigger(trigger) = &input.begun else {
        panic!("begun by its trigger: {input:?}");
    };
    let date = trigger["date"].as_str().expect("a date");
    assert_eq!(begin.key.key, format!("each/{date}"));
    assert_eq!(trigger["id"], "each");
    // Later in the same minute there is nothing to do.
    let line = run_at(&town, &app, began_ms, 90_000);
    assert!(line["schedules"]["begun"].is_null(), "{line}");
}

#[test]
fn missed_runs_are_made_up_for_and_doubled_ones_find_the_same_keys() {
    let (town, app, began_ms) = long_known(&[EACH_MINUTE], &[Mood::Well]);
    run_at(&town, &app, began_ms, 10 * 60_000 + 700);
    let made_up = keys(&town);
    assert_eq!(made_up.len(), 10, "{made_up:?}");
    // A run that knows nothing of that one, as one that began at the same time.
    let forget = "DELETE FROM jobs WHERE job = 'schedules'";
    town.databases[0].0.execute(forget, []).expect("forgotten");
    run_at(&town, &app, began_ms, 10 * 60_000 + 800);
    let all = keys(&town);
    assert_eq!(all.len(), 11, "the last minute once more");
    let different: BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), 10, "but no other task");
}

#[test]
fn a_long_outage_is_made_up_for_over_several_runs() {
    let (town, app, began_ms) = long_known(&[EACH_MINUTE], &[Mood::Well]);
    let outage_ms = 250 * 60_000 + 500;
    let mut runs = 0;
    while keys(&town).len() < 250 {
        let line = run_at(&town, &app, began_ms, outage_ms + runs);
        assert!(line["schedules"]["begun"].as_u64() <= Some(100), "{line}");
        runs += 1;
    }
    assert_eq!(runs, 3);
    let all = keys(&town);
    assert_eq!(
        all.iter().collect::<BTreeSet<_>>().len(),
        250,
        "each of them once"
    );
}

#[test]
fn an_object_or_a_database_that_fails_only_delays_it() {
    let (town, app, began_ms) = long_known(&[EACH_MINUTE], &[Mood::Well, Mood::Dead]);
    town.closed.set(true);
    let line = run_at(&town, &app, began_ms, 60_500);
    assert!(line["schedules"]["failed"].as_u64() >= Some(1), "{line}");
    assert!(keys(&town).is_empty());
    town.closed.set(false);
    run_at(&town, &app, began_ms, 121_000);
    assert_eq!(keys(&town).len(), 2, "that of the minute before as well");
}

#[test]
fn what_was_deployed_at_run_time_counts_and_what_is_disabled_does_not() {
    let off = EACH_MINUTE
        .replace("id: beat", "id: off")
        .replace("namespace: team", "namespace: team\ndisabled: true");
    let (town, app, began_ms) = long_known(&[EACH_MINUTE, &off], &[Mood::Well, Mood::Well]);
    let deployed = EACH_MINUTE
        .replace("id: beat", "id: deployed")
        .replace("id: each", "id: own");
    town.deploy(1, "team", "deployed", &deployed);
    run_at(&town, &app, began_ms, 60_500);
    let names: BTreeSet<String> = begun(&town)
        .into_iter()
        .map(|begin| begin.key.name)
        .collect();
    assert_eq!(
        names,
        BTreeSet::from(["flow:team/beat".to_owned(), "flow:team/deployed".to_owned()])
    );
}

#[test]
fn conditions_see_the_time_and_one_that_fails_keeps_nobody_else() {
    let with = |id: &str, condition: &str| {
        EACH_MINUTE
            .replace("id: beat", &format!("id: {id}"))
            .replace(
                "cron: \"* * * * *\"",
                &format!("cron: \"* * * * *\", when: \"{condition}\""),
            )
    };
    let holds = with("holds", "{{ trigger.id == 'each' }}");
    let not = with("not", "{{ trigger.date == 'x' }}");
    let fails = with("fails", "{{ kv('a') }}");
    let (town, app, began_ms) = long_known(&[&holds, &not, &fails], &[Mood::Well]);
    run_at(&town, &app, began_ms, 60_500);
    assert_eq!(
        begun(&town)
            .iter()
            .map(|begin| begin.key.name.as_str())
            .collect::<Vec<_>>(),
        ["flow:team/holds"]
    );
    let log = town.log.borrow();
    let told = log
        .iter()
        .any(|line| line["event"] == "schedule" && line["flow"] == "team/fails");
    assert!(told, "{log:?}");
    drop(log);
    assert_eq!(json!(keys(&town).len()), 1);
}
