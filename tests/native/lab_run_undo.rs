//! Undos and unknown outcomes of lab programs.
#![cfg(feature = "entry")]

use super::lab_run::{document, input, lab, ok, ran, run};
use onceward::function::FetchError;
use onceward::protocol::State;
use onceward::testing::{Action, Bench, Reaction, Sent};
use onceward::types::FailureKind;
use serde_json::json;

fn undoable(name: &str, more: &str) -> String {
    format!(
        r#"{{"do": "call", "name": "{name}", "url": "http://h/{name}", "undo": {{"url": "http://h/undo-{name}"{more}}}}}"#
    )
}

fn once(steps: &[String]) -> String {
    format!(
        r#"{{"steps": [{}], "config": {{"max_attempts": 1, "slice_cut": "5s", "lease": "10s"}}}}"#,
        steps.join(",")
    )
}

const FAIL: &str = r#"{"do": "fail", "kind": "terminal"}"#;

fn urls(bench: &Bench) -> Vec<String> {
    let requests = bench.requests();
    let path = |s: &Sent| s.request.url.trim_start_matches("http://h/").to_owned();
    requests.iter().map(path).collect()
}

fn not_undone(bench: &Bench) -> Vec<String> {
    let undone = bench.task("k").and_then(|t| t.undone).expect("undone");
    let named = undone.not_undone.iter();
    named
        .map(|n| format!("{} {}", n.step.as_ref().expect("a step"), n.code))
        .collect()
}

#[test]
fn undos_run_last_first_with_the_outcome_as_body() {
    let steps = [
        undoable("a", ""),
        undoable("b", r#", "method": "DELETE", "body": {"why": 1.10}"#),
        undoable("c", r#", "method": "GET""#),
        r#"{"do": "call", "name": "plain", "url": "http://h/plain"}"#.to_owned(),
        FAIL.to_owned(),
    ];
    let bench = ran(&once(&steps), |_| Reaction::json(201, r#"{"id": 1.10}"#));
    assert_eq!(
        urls(&bench),
        ["a", "b", "c", "plain", "undo-c", "undo-b", "undo-a"]
    );
    let requests = bench.requests();
    let [c, b, a] = &requests[4..] else {
        panic!("three undos");
    };
    let seen = |s: &Sent| {
        let body = String::from_utf8(s.request.body.clone()).expect("text");
        let kind = s.request.headers.get("content-type").map(str::to_owned);
        (s.request.method.clone(), body, kind)
    };
    let json = Some("application/json".to_owned());
    assert_eq!(seen(c), ("GET".to_owned(), String::new(), None));
    assert_eq!(
        seen(b),
        (
            "DELETE".to_owned(),
            r#"{"why":1.10}"#.to_owned(),
            json.clone()
        )
    );
    let outcome =
        r#"{"status":201,"headers":{"content-type":"application/json"},"body":{"id":1.10}}"#;
    assert_eq!(seen(a), ("POST".to_owned(), outcome.to_owned(), json));
    let mut keys: Vec<&str> = requests.iter().map(Sent::key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 7, "an undo has a key of its own");
    assert_eq!(
        bench.task("k").expect("a task").state,
        State::Failed { resumable: false }
    );
    assert!(not_undone(&bench).is_empty());
}

#[test]
fn a_success_is_not_undone_unless_somebody_wants_it() {
    let steps = [undoable("a", ""), undoable("b", "")];
    let mut bench = ran(&once(&steps), ok);
    assert_eq!(urls(&bench), ["a", "b"]);
    let answer = bench.answer("k");
    bench.undo("k");
    bench.run_until_idle();
    assert_eq!(urls(&bench), ["a", "b", "undo-b", "undo-a"]);
    assert_eq!(bench.answer("k"), answer);
}

#[test]
fn a_panic_and_used_up_attempts_are_undone_as_well() {
    let panics = [
        undoable("a", ""),
        undoable("b", ""),
        r#"{"do": "panic"}"#.to_owned(),
    ];
    let bench = ran(&once(&panics), ok);
    assert_eq!(urls(&bench), ["a", "b", "undo-b", "undo-a"]);
    let fails = [
        undoable("a", ""),
        r#"{"do": "call", "name": "x", "url": "http://h/x"}"#.to_owned(),
    ];
    let bench = ran(&once(&fails), |sent| {
        Reaction::status(if sent.request.url.ends_with('x') {
            500
        } else {
            200
        })
    });
    assert_eq!(urls(&bench), ["a", "x", "undo-a"]);
}

#[test]
fn branches_and_turns_are_undone_each() {
    let steps = [
        format!(
            r#"{{"do": "repeat", "name": "r", "times": 3, "step": {}}}"#,
            undoable("a", "")
        ),
        format!(
            r#"{{"do": "parallel", "name": "p", "branches": [[{}], [{}], [{FAIL}]]}}"#,
            undoable("b", ""),
            undoable("b", "")
        ),
    ];
    let bench = ran(&once(&steps), ok);
    let all = urls(&bench);
    assert_eq!(all[5..], ["undo-b", "undo-b", "undo-a", "undo-a", "undo-a"]);
    assert!(not_undone(&bench).is_empty());
}

#[test]
fn what_cannot_be_undone_is_named_and_the_others_are() {
    let steps = [
        undoable("a", ""),
        undoable("b", ""),
        undoable("c", ""),
        FAIL.to_owned(),
    ];
    let react = |refusal: u16| {
        move |sent: &Sent| {
            let refused = sent.request.url.ends_with("undo-b");
            Reaction::status(if refused { refusal } else { 200 })
        }
    };
    // Tried again, in vain.
    let bench = ran(&once(&steps), react(503));
    let of_b = urls(&bench).iter().filter(|u| *u == "undo-b").count();
    assert_eq!(of_b, 5);
    assert_eq!(urls(&bench).last().map(String::as_str), Some("undo-a"));
    assert_eq!(not_undone(&bench), ["b status"]);
    // For good.
    let bench = ran(&once(&steps), react(410));
    assert_eq!(urls(&bench), ["a", "b", "c", "undo-c", "undo-b", "undo-a"]);
    assert_eq!(not_undone(&bench), ["b status"]);
}

#[test]
fn an_unknown_call_is_undone_only_with_a_body_of_its_own() {
    let broken = |sent: &Sent| {
        if sent.request.url.ends_with("/b") {
            Reaction::error(FetchError::Network("reset".to_owned()))
        } else {
            Reaction::status(200)
        }
    };
    let bench = ran(&once(&[undoable("a", ""), undoable("b", "")]), broken);
    assert_eq!(urls(&bench), ["a", "b", "undo-a"]);
    assert_eq!(not_undone(&bench), ["b outcome_unknown"]);
    let bench = ran(
        &once(&[undoable("a", ""), undoable("b", r#", "body": null"#)]),
        broken,
    );
    assert_eq!(urls(&bench), ["a", "b", "undo-b", "undo-a"]);
    assert_eq!(bench.requests()[2].request.body, b"null");
    assert!(not_undone(&bench).is_empty());
    // A call that is known to have failed leaves nothing to undo.
    let bench = ran(&once(&[undoable("a", ""), undoable("b", "")]), |sent| {
        Reaction::status(if sent.request.url.ends_with("/b") {
            409
        } else {
            200
        })
    });
    assert_eq!(urls(&bench), ["a", "b", "undo-a"]);
    assert_eq!(not_undone(&bench), Vec::<String>::new());
}

#[test]
fn what_became_of_a_call_is_known_when_its_attempt_ends_later() {
    let beside = |branch: &str| {
        let wait = r#"{"do": "wait", "for": "1s"}"#;
        let step = format!(
            r#"{{"do": "parallel", "name": "p", "branches": [[{branch}], [{wait}, {wait}]]}}"#
        );
        once(&[undoable("a", ""), step])
    };
    let broken = |sent: &Sent| {
        if sent.request.url.ends_with("/b") {
            Reaction::error(FetchError::Network("reset".to_owned()))
        } else {
            Reaction::status(200)
        }
    };
    let bench = ran(&beside(&undoable("b", "")), broken);
    assert_eq!(urls(&bench), ["a", "b", "undo-a"]);
    assert_eq!(not_undone(&bench), ["p/0/b outcome_unknown"]);
    let refused = |sent: &Sent| {
        Reaction::status(if sent.request.url.ends_with("/b") {
            409
        } else {
            200
        })
    };
    let bench = ran(&beside(&undoable("b", "")), refused);
    assert_eq!(urls(&bench), ["a", "b", "undo-a"]);
    assert_eq!(not_undone(&bench), Vec::<String>::new());
}

#[test]
fn a_refusal_that_ended_an_attempt_is_no_unknown_outcome_for_the_next() {
    for wait in ["0s", "1s"] {
        let program = format!(
            r#"{{"steps": [{{"do": "parallel", "name": "p", "branches": [
                [{{"do": "call", "name": "a", "url": "http://h/a", "on_unknown": "fail"}}], [{{"do": "wait", "for": "{wait}"}}]]}}]}}"#
        );
        let bench = ran(&program, |sent| {
            Reaction::status(if sent.nth < 3 { 500 } else { 200 })
        });
        assert_eq!(urls(&bench), ["a", "a", "a"], "{wait}");
        assert_eq!(bench.task("k").expect("a task").state, State::Succeeded);
    }
}

/// A call that may be repeated, refused or asked after, whose first slice dies after it had its effect.
fn crashed(on_unknown: &str, probe: impl Fn(&Sent) -> Reaction + 'static) -> Bench {
    let program = format!(
        r#"{{"steps": [{{"do": "call", "name": "a", "url": "http://h/a", "on_unknown": {on_unknown}, "retry": {{"max_attempts": 4}}}}],
            "config": {{"slice_cut": "5s", "lease": "10s"}}}}"#
    );
    let mut bench = Bench::new(lab())
        .outside(move |sent| {
            if sent.request.url.ends_with("probe") {
                probe(sent)
            } else {
                Reaction::json(201, "1")
            }
        })
        .crash_after(Action::Fetch, 1);
    run(&mut bench, &program);
    bench
}

#[test]
fn an_unknown_call_is_repeated_under_its_key() {
    let bench = crashed("\"retry\"", ok);
    assert_eq!(urls(&bench), ["a", "a"]);
    let requests = bench.requests();
    assert_eq!(requests[0].key(), requests[1].key());
    assert_eq!(document(&bench)["steps"]["a"]["body"], json!(1));
}

#[test]
fn an_unknown_call_fails_for_good() {
    let bench = crashed("\"fail\"", ok);
    assert_eq!(urls(&bench), ["a"]);
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: false });
    let failure = task.failure.expect("a failure");
    assert_eq!(failure.code, "outcome_unknown");
    assert_eq!(failure.kind, FailureKind::Terminal);
    // A connection that breaks leaves as little behind.
    let broken = ran(
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/a", "on_unknown": "fail", "retry": {"max_attempts": 4}}]}"#,
        |_| Reaction::error(FetchError::Network("reset".to_owned())),
    );
    assert_eq!(urls(&broken), ["a"]);
    // An answer is known, whatever it says.
    let answered = ran(
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/a", "on_unknown": "fail", "retry": {"max_attempts": 4}}]}"#,
        |sent| Reaction::status(if sent.nth < 3 { 500 } else { 200 }),
    );
    assert_eq!(urls(&answered), ["a", "a", "a"]);
}

#[test]
fn a_probe_tells_what_happened() {
    let probe = r#"{"probe": {"url": "http://h/probe"}}"#;
    let happened = crashed(probe, |_| Reaction::json(200, r#"{"id": 7}"#));
    assert_eq!(urls(&happened), ["a", "probe"]);
    assert_eq!(
        document(&happened)["steps"]["a"],
        json!({"status": 200, "headers": {"content-type": "application/json"}, "body": {"id": 7}, "probed": true})
    );
    let requests = happened.requests();
    assert_eq!(
        requests[0].key(),
        requests[1].key(),
        "a probe asks by the key"
    );
    assert_eq!(requests[1].request.method, "GET");
    let did_not = crashed(probe, |_| Reaction::status(404));
    assert_eq!(urls(&did_not), ["a", "probe", "a"]);
    assert_eq!(document(&did_not)["steps"]["a"]["body"], json!(1));
    assert_eq!(document(&did_not)["steps"]["a"].get("probed"), None);
    // No answer to the question: it is asked again.
    let unsure = crashed(probe, |sent| {
        Reaction::status(if sent.nth < 4 { 500 } else { 204 })
    });
    assert_eq!(urls(&unsure), ["a", "probe", "probe", "probe"]);
    assert_eq!(document(&unsure)["steps"]["a"]["status"], json!(204));
}

#[test]
fn a_call_without_a_crash_is_never_probed() {
    let program = r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/a", "on_unknown": {"probe": {"url": "http://h/probe", "method": "HEAD"}},
        "retry": {"max_attempts": 3}}]}"#;
    let bench = ran(program, |sent| {
        Reaction::status(if sent.nth < 3 { 503 } else { 200 })
    });
    assert_eq!(urls(&bench), ["a", "a", "a"]);
    let bench = ran(program, |sent| {
        if sent.request.method == "HEAD" {
            Reaction::status(200)
        } else {
            Reaction::error(FetchError::Network("reset".to_owned()))
        }
    });
    assert_eq!(urls(&bench), ["a", "probe"]);
    assert_eq!(document(&bench)["steps"]["a"]["probed"], json!(true));
}

#[test]
fn a_broken_connection_that_ended_an_attempt_is_probed_by_the_next() {
    for wait in ["0s", "1s"] {
        let program = format!(
            r#"{{"steps": [{{"do": "parallel", "name": "p", "branches": [
                [{{"do": "call", "name": "a", "url": "http://h/a", "on_unknown": {{"probe": {{"url": "http://h/probe"}}}}}}],
                [{{"do": "wait", "for": "{wait}"}}]]}}]}}"#
        );
        let bench = ran(&program, |sent| {
            if sent.request.url.ends_with("probe") {
                Reaction::status(200)
            } else {
                Reaction::error(FetchError::Network("reset".to_owned()))
            }
        });
        assert_eq!(urls(&bench), ["a", "probe"], "{wait}");
        assert_eq!(bench.task("k").expect("a task").state, State::Succeeded);
    }
}

#[test]
fn a_cancelled_task_is_undone() {
    let steps = [
        undoable("a", ""),
        r#"{"do": "sleep", "name": "s", "for": "1d"}"#.to_owned(),
    ];
    let mut bench = Bench::new(lab());
    bench
        .deliver("k", input(&once(&steps)))
        .expect("a good program");
    bench.run_for(60_000);
    bench.cancel("k");
    bench.run_until_idle();
    assert_eq!(urls(&bench), ["a", "undo-a"]);
    assert_eq!(bench.task("k").expect("a task").state, State::Cancelled);
}
