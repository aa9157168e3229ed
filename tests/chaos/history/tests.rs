//! A history that is right, and for each rule one that breaks it. A checker that finds nothing proves nothing.

use super::{Delivery, Effect, End, History, KeyHistory, Look, Plan, Reply, Row, Undoable, Wish};
use super::{judge, story};
use serde_json::{Value, json};

fn reply(status: u16, body: &Value) -> Reply {
    Reply {
        status,
        headers: vec![
            ("Onceward-Task-Id".to_owned(), "t1".to_owned()),
            ("X-Chaos".to_owned(), "k1".to_owned()),
        ],
        body: body.to_string().into_bytes(),
    }
}

fn delivery(sent: u64, body: u32, status: u16, document: &Value) -> Delivery {
    Delivery {
        sent,
        done: sent + 10,
        body,
        reply: Some(reply(status, document)),
    }
}

fn call(target: &str, key: &str, at: u64) -> Effect {
    Effect {
        target: target.to_owned(),
        key: key.to_owned(),
        at,
        ended: Some(at + 10),
        hung_up: false,
        undoes: None,
    }
}

fn undo(target: &str, key: &str, at: u64, undoes: &str) -> Effect {
    Effect {
        undoes: Some(undoes.to_owned()),
        ..call(target, key, at)
    }
}

fn outcome(key: &str) -> Value {
    json!({ "status": 201, "body": { "id": format!("id-{key}") } })
}

fn look(at: u64, state: &str) -> Look {
    Look {
        sent: at,
        done: at + 10,
        document: json!({ "state": state, "generation": 7, "created_at": "then" }),
    }
}

fn plan(ends: &'static str) -> Plan {
    let undoable = |name: &str| Undoable {
        step: name.to_owned(),
        target: format!("/{name}"),
        undo: format!("/undo-{name}"),
    };
    Plan {
        paths: vec![vec!["/a".to_owned(), "/b".to_owned()]],
        undoable: vec![undoable("a"), undoable("b")],
        ends,
        signal: Some("go".to_owned()),
        ..Plan::default()
    }
}

fn end(state: &str) -> End {
    End {
        document: Some(json!({ "state": state, "generation": 7 })),
        row: Some(Row {
            state: state.to_owned(),
            generation: 7,
            answer: None,
        }),
        ..End::default()
    }
}

/// Two steps and a signal; the server died between the first call of `/b` and its record.
fn success() -> History {
    let answer = json!({ "task_id": "t1", "steps": { "a": outcome("A"), "b": outcome("B") } });
    let document = json!({ "task_id": "t1", "state": "running", "generation": 7 });
    let journal = json!([
        { "step": "a", "kind": "step", "state": "succeeded", "value": outcome("A") },
        { "step": "go", "kind": "signal", "state": "succeeded", "value": 1 },
        { "step": "go#1", "kind": "signal", "state": "succeeded", "value": 2 },
        { "step": "b", "kind": "step", "state": "succeeded", "value": outcome("B") },
    ]);
    let key = KeyHistory {
        key: "k1".to_owned(),
        task_id: "t1".to_owned(),
        plan: plan("succeeded"),
        deliveries: vec![
            delivery(0, 0, 202, &document),
            delivery(50, 1, 422, &json!({ "code": "key_reused" })),
            delivery(9_000, 0, 201, &answer),
            delivery(9_100, 0, 201, &answer),
        ],
        looks: vec![look(60, "running"), look(9_200, "succeeded")],
        effects: vec![
            call("/a", "A", 20),
            call("/b", "B", 100),
            call("/b", "B", 8_000),
        ],
        signals: vec![json!(1), json!(2)],
        end: End {
            journal: journal.as_array().cloned().unwrap_or_default(),
            ..end("succeeded")
        },
        ..KeyHistory::default()
    };
    History {
        kills: vec![105],
        calm_from: 8_500,
        keys: vec![key],
    }
}

/// Two steps, then a failure; both are undone.
fn failure() -> History {
    let document = json!({ "task_id": "t1", "state": "failed" });
    let key = KeyHistory {
        key: "k1".to_owned(),
        task_id: "t1".to_owned(),
        plan: plan("failed"),
        deliveries: vec![delivery(0, 0, 200, &document)],
        effects: vec![
            call("/a", "A", 20),
            call("/b", "B", 40),
            undo("/undo-b", "UB", 60, "B"),
            undo("/undo-a", "UA", 80, "A"),
        ],
        end: end("failed"),
        ..KeyHistory::default()
    };
    History {
        keys: vec![key],
        ..History::default()
    }
}

/// The rules that a history breaks.
fn broken(history: &History) -> Vec<&'static str> {
    judge(history)
        .wrong
        .iter()
        .map(|wrong| wrong.rule)
        .collect()
}

#[track_caller]
fn assert_caught(mut history: History, rule: &str, spoil: impl FnOnce(&mut History, usize)) {
    spoil(&mut history, 0);
    let found = broken(&history);
    assert!(found.contains(&rule), "{rule}: {found:?}");
}

#[test]
fn what_is_right_passes() {
    for history in [success(), failure()] {
        assert_eq!(judge(&history).wrong, []);
    }
    assert_eq!(judge(&success()).repeats.killed, 1);
    assert_eq!(judge(&success()).lost, 0);
    assert_eq!(success().keys[0].taken_signals(), 2);
}

#[test]
fn wrong_answers_are_caught() {
    assert_caught(success(), "one answer per key", |h, k| {
        h.keys[k].deliveries[3].reply = Some(reply(201, &json!({ "task_id": "t1", "steps": {} })));
    });
    assert_caught(success(), "one answer per key", |h, k| {
        h.keys[k].end.row.as_mut().expect("a row").answer = Some(b"{}".to_vec());
    });
    assert_caught(
        success(),
        "another body is refused, and nothing else",
        |h, k| {
            let stored = h.keys[k].deliveries[2].reply.clone();
            h.keys[k].deliveries[1].reply = stored;
        },
    );
    assert_caught(
        success(),
        "an answer is one of the contract, and its own",
        |h, k| {
            h.keys[k].deliveries[0].reply = Some(reply(422, &json!({ "code": "key_reused" })));
        },
    );
    assert_caught(success(), "an answer names the task of its key", |h, k| {
        h.keys[k].task_id = "t2".to_owned();
    });
    assert_caught(success(), "without faults nobody is turned away", |h, k| {
        h.keys[k].deliveries[3].reply = Some(reply(503, &json!({})));
    });
}

#[test]
fn steps_back_are_caught() {
    assert_caught(success(), "what is final stays so", |h, k| {
        h.keys[k].looks.push(look(9_300, "running"));
    });
    assert_caught(success(), "what is final stays so", |h, k| {
        let early = h.keys[k].deliveries[0].clone();
        h.keys[k].deliveries.push(Delivery {
            sent: 9_500,
            done: 9_510,
            ..early
        });
    });
    assert_caught(success(), "generations grow", |h, k| {
        h.keys[k].looks[1].document["generation"] = json!(6);
    });
    assert_caught(success(), "a key is accepted once", |h, k| {
        h.keys[k].looks[1].document["created_at"] = json!("later");
    });
}

#[test]
fn repeated_effects_are_caught() {
    assert_caught(success(), "a repeat has a reason", |h, k| {
        h.kills.clear();
        h.keys[k].effects[2].at = 2_400;
    });
    assert_caught(success(), "what is recorded is not done again", |h, k| {
        h.keys[k].effects.push(call("/a", "A", 8_100));
    });
    assert_caught(success(), "one key per step and generation", |h, k| {
        h.keys[k].effects[2].key = "C".to_owned();
    });
    assert_caught(success(), "a key belongs to one step", |h, k| {
        h.keys[k].effects[1].key = "A".to_owned();
    });
    assert_caught(success(), "nothing is done after the end", |h, k| {
        h.keys[k].effects.push(call("/b", "B", 9_600));
    });
    assert_caught(success(), "one record per step", |h, k| {
        let record = h.keys[k].end.journal[0].clone();
        h.keys[k].end.journal.push(record);
    });
    assert_caught(success(), "what is recorded stays", |h, k| {
        let early = json!([{ "step": "a", "kind": "step", "state": "succeeded", "value": 1 }]);
        let page = json!({ "generation": 7, "records": early });
        h.keys[k].journals.push(page);
    });
    assert_caught(success(), "a record names what happened", |h, k| {
        h.keys[k].end.journal[0]["value"] = outcome("Z");
    });
    assert_caught(success(), "an answer tells what happened", |h, k| {
        let effects = &mut h.keys[k].effects;
        effects.retain(|effect| effect.key != "B");
    });
}

#[test]
fn failed_calls_and_lost_time_explain_a_repeat() {
    let mut failed = success();
    failed.kills.clear();
    failed.keys[0].effects[2].at = 300;
    failed.keys[0].plan.failures.insert("/b".to_owned(), 1);
    let verdict = judge(&failed);
    assert_eq!((verdict.wrong.len(), verdict.repeats.failed), (0, 1));
    let mut late = success();
    late.kills.clear();
    late.keys[0].effects[2].at = 3_000;
    let verdict = judge(&late);
    assert_eq!((verdict.wrong.len(), verdict.repeats.timed_out), (0, 1));
    let mut cut = success();
    cut.kills.clear();
    let verdict = judge(&cut);
    assert_eq!((verdict.wrong.len(), verdict.repeats.cut), (0, 1));
}

#[test]
fn losses_are_caught() {
    let mut history = success();
    history.keys[0].end = End::default();
    assert_eq!(judge(&history).lost, 1);
    let mut history = success();
    history.keys[0].end.document = Some(json!({ "state": "running", "generation": 7 }));
    assert_eq!(judge(&history).lost, 1);
    assert_caught(success(), "what is not accepted does nothing", |h, k| {
        h.keys[k].end = End::default();
        h.keys[k].deliveries.clear();
    });
    assert_caught(success(), "it ends as its program says", |h, k| {
        h.keys[k].end = end("cancelled");
    });
    assert_caught(success(), "D1 agrees in the end", |h, k| {
        h.keys[k].end.row.as_mut().expect("a row").generation = 6;
    });
    assert_caught(success(), "D1 agrees in the end", |h, k| {
        h.keys[k].end.row = None;
    });
}

#[test]
fn a_cancelled_task_needs_somebody_who_cancelled_it() {
    let mut history = failure();
    let key = &mut history.keys[0];
    key.deliveries.clear();
    key.end = end("cancelled");
    assert_eq!(broken(&history), ["it ends as its program says"]);
    history.keys[0].wishes.push(Wish {
        sent: 50,
        what: "cancel",
        status: 202,
        new_generation: false,
    });
    assert_eq!(broken(&history), [""; 0]);
}

#[test]
fn signals_and_children_that_come_twice_are_caught() {
    assert_caught(success(), "a signal is taken once", |h, k| {
        h.keys[k].end.journal[2]["value"] = json!(1);
    });
    assert_caught(success(), "a signal is what somebody sent", |h, k| {
        h.keys[k].end.journal[2]["value"] = json!(3);
    });
    assert_caught(success(), "a child has one answer", |h, k| {
        h.keys[k].end.children.push((json!(1), json!(2)));
    });
}

#[test]
fn undos_that_are_missing_or_out_of_order_are_caught() {
    assert_caught(failure(), "what happened is undone, or named", |h, k| {
        h.keys[k].effects.pop();
    });
    assert_caught(failure(), "the last thing is undone first", |h, k| {
        h.keys[k].effects[3].at = 50;
    });
    assert_caught(failure(), "only what was done is undone", |h, k| {
        h.keys[k].effects[3].undoes = Some("Z".to_owned());
    });
    assert_caught(failure(), "an undo has one key", |h, k| {
        h.keys[k].effects.push(undo("/undo-a", "UX", 90, "A"));
    });
    assert_caught(failure(), "what is not undone has a name", |h, k| {
        let document = h.keys[k].end.document.as_mut().expect("a document");
        document["undone"] = json!("partial");
    });
    assert_caught(
        success(),
        "a success keeps what it answers with, and nothing else",
        |h, k| {
            h.keys[k].effects.push(undo("/undo-a", "UA", 8_100, "A"));
        },
    );
    let mut named = failure();
    let key = &mut named.keys[0];
    key.effects.pop();
    key.end.document = Some(json!({
        "state": "failed", "generation": 7, "undone": "partial", "not_undone": [{ "step": "a" }],
    }));
    assert_eq!(broken(&named), [""; 0]);
}

#[test]
fn what_explains_itself_passes_and_nothing_else_does() {
    // Somebody who worked for this key died, not the whole server.
    let mut died = success();
    died.keys[0].kills = std::mem::take(&mut died.kills);
    assert_eq!(judge(&died).repeats.killed, 1);
    assert_eq!(broken(&died), [""; 0]);
    // A child hears of its parent's end a little later, but nobody else does anything after it.
    let late = |of_children: &[&str]| {
        let mut history = success();
        history.keys[0].plan.of_children = of_children.iter().map(|t| (*t).to_owned()).collect();
        history.keys[0].effects.push(call("/child", "C", 9_900));
        broken(&history)
    };
    assert_eq!(late(&["/child"]), [""; 0]);
    assert_eq!(late(&[]), ["nothing is done after the end"]);
    // What is left over of an earlier generation is for the operator who had it tried again.
    let retried = |sent| {
        let mut history = success();
        let key = &mut history.keys[0];
        key.plan.paths.clear();
        key.effects.insert(0, call("/a", "A-before", 5));
        key.wishes.push(Wish {
            sent,
            what: "retry",
            status: 202,
            new_generation: true,
        });
        broken(&history)
    };
    assert_eq!(retried(10), [""; 0]);
    let rule = "a success keeps what it answers with, and nothing else";
    assert_eq!(retried(1), [rule]);
}

#[test]
fn a_story_tells_what_happened_in_order() {
    let history = success();
    let text = story(&history, &history.keys[0]);
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("delivers its body") < at("/a called with A"));
    assert!(at("/a called with A") < at("killed"));
    assert!(at("killed") < at("gets 201"));
    assert!(at("faults stop") < at("end: "));
}
