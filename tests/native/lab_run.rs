//! What comes of a lab program that runs.
#![cfg(feature = "entry")]

use onceward::function::{FetchError, Function, Input};
use onceward::protocol::{Outcome, Reply, State};
use onceward::testing::{Action, Bench, Reaction, Sent, crash_everywhere};
use onceward::types::FailureKind;
use serde_json::{Value, json};

pub(super) fn lab() -> Function {
    let mut all = onceward::functions::all().into_iter();
    all.find(|f| f.name() == "lab")
        .expect("the lab is built in")
}

pub(super) fn input(program: &str) -> Input {
    Input {
        body: program.as_bytes().to_vec(),
        ..Input::default()
    }
}

/// Delivers a program under the key "k" and runs it to its end.
pub(super) fn run(bench: &mut Bench, program: &str) {
    bench.deliver("k", input(program)).expect("a good program");
    bench.run_until_idle();
}

pub(super) fn ran(program: &str, react: impl Fn(&Sent) -> Reaction + 'static) -> Bench {
    let mut bench = Bench::new(lab()).outside(react);
    run(&mut bench, program);
    bench
}

fn body(bench: &Bench) -> String {
    let answer = bench.answer("k").expect("a stored answer");
    String::from_utf8(answer.body).expect("text")
}

pub(super) fn document(bench: &Bench) -> Value {
    serde_json::from_str(&body(bench)).expect("JSON")
}

/// A program with one call to `http://h/`.
fn call(fields: &str) -> String {
    format!(r#"{{"steps": [{{"do": "call", "name": "a", "url": "http://h/"{fields}}}]}}"#)
}

pub(super) fn ok(_: &Sent) -> Reaction {
    Reaction::status(200)
}

#[test]
fn the_default_answer_has_every_outcome() {
    let program = r#"{"steps": [
        {"do": "call", "name": "json", "url": "http://h/json"},
        {"do": "value", "name": "v", "value": {"b": 1, "a": null}},
        {"do": "wait", "for": "1s"},
        {"do": "call", "name": "text", "url": "http://h/text", "method": "GET"},
        {"do": "call", "name": "binary", "url": "http://h/binary"}]}"#;
    let bench = ran(program, |sent| match sent.request.url.as_str() {
        "http://h/json" => Reaction::json(201, r#"{"n": 616581622363398142, "x": 1.10}"#),
        "http://h/text" => Reaction::bytes(200, "text/plain; charset=utf-8", b"hi"),
        _ => Reaction::bytes(200, "application/octet-stream", &[0, 255]),
    });
    let task = bench.task("k").expect("a task");
    let text = body(&bench);
    let wanted = concat!(
        r#""steps":{"json":{"status":201,"headers":{"content-type":"application/json"},"#,
        r#""body":{"n":616581622363398142,"x":1.10}},"v":{"b":1,"a":null},"#,
        r#""text":{"status":200,"headers":{"content-type":"text/plain; charset=utf-8"},"body":"hi"},"#,
        r#""binary":{"status":200,"headers":{"content-type":"application/octet-stream"},"body":{"base64":"AP8="}}}}"#,
    );
    assert_eq!(text, format!("{{\"task_id\":\"{}\",{wanted}", task.id()));
    let answer = bench.answer("k").expect("an answer");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers.get("content-type"), Some("application/json"));
    assert_eq!(bench.journal("k").len(), 4, "wait has no record");
}

#[test]
fn an_empty_program_has_an_answer() {
    let bench = ran(r#"{"steps": []}"#, ok);
    assert_eq!(document(&bench)["steps"], json!({}));
    assert_eq!(bench.actions(), [Action::Finish]);
}

#[test]
fn digits_stay_as_they_were_written() {
    for digits in [
        "616581622363398142",
        "1.10",
        "-0.0",
        "0.1000000000000000055",
        "18446744073709551616",
    ] {
        let program =
            format!(r#"{{"steps": [{{"do": "value", "name": "v", "value": [{digits}]}}]}}"#);
        assert!(
            body(&ran(&program, ok)).contains(&format!("[{digits}]")),
            "{digits}"
        );
    }
    // An exponent gets its sign, and nothing else happens to the number.
    let big = r#"{"steps": [{"do": "value", "name": "v", "value": 1E400}]}"#;
    assert!(body(&ran(big, ok)).contains("\"v\":1e+400"));
    let bench = ran(
        &call(r#", "body": {"id": 616581622363398142, "p": 1.10}"#),
        ok,
    );
    let sent = String::from_utf8(bench.requests()[0].request.body.clone()).expect("text");
    assert_eq!(sent, r#"{"id":616581622363398142,"p":1.10}"#);
}

#[test]
fn a_call_sends_json_with_the_derived_key() {
    let bench = ran(
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/x", "method": "PUT", "body": "text", "headers": {"X-A": "1"}},
                      {"do": "call", "name": "b", "url": "http://h/", "body": 5, "headers": {"Content-Type": "text/x"}},
                      {"do": "call", "name": "c", "url": "http://h/"}]}"#,
        ok,
    );
    let requests = bench.requests();
    let [a, b, c] = requests.as_slice() else {
        panic!("three requests: {requests:?}");
    };
    assert_eq!(
        (a.request.method.as_str(), a.request.url.as_str()),
        ("PUT", "http://h/x")
    );
    assert_eq!(a.request.body, b"\"text\"");
    assert_eq!(
        a.request.headers.get("content-type"),
        Some("application/json")
    );
    assert_eq!(a.request.headers.get("x-a"), Some("1"));
    assert_eq!(b.request.headers.get("content-type"), Some("text/x"));
    assert_eq!(
        (c.request.method.as_str(), c.request.body.len()),
        ("POST", 0)
    );
    assert_eq!(c.request.headers.get("content-type"), None);
    let task = bench.task("k").expect("a task");
    for (sent, record) in requests.iter().zip(bench.journal("k")) {
        let key = record.id.derived_key(task.id(), task.key_generation);
        assert_eq!(sent.key(), format!("\"{key}\""));
    }
}

#[test]
fn an_answer_of_its_own_is_kept_byte_for_byte() {
    let json = ran(
        r#"{"steps": [], "answer": {"status": 201, "headers": {"Location": "/x"}, "body": {"n": 1.10}}}"#,
        ok,
    );
    let answer = json.answer("k").expect("an answer");
    assert_eq!(answer.status, 201);
    assert_eq!(answer.headers.get("location"), Some("/x"));
    assert_eq!(answer.headers.get("content-type"), Some("application/json"));
    assert_eq!(answer.body, br#"{"n":1.10}"#);
    let bytes = ran(
        r#"{"steps": [], "answer": {"body_base64": "AAEC/w=="}}"#,
        ok,
    );
    let answer = bytes.answer("k").expect("an answer");
    assert_eq!(
        (answer.body.as_slice(), answer.headers.len()),
        (&[0, 1, 2, 255][..], 0)
    );
    let empty = ran(r#"{"steps": [], "answer": {"status": 204}}"#, ok);
    assert!(empty.answer("k").expect("an answer").body.is_empty());
}

#[test]
fn accept_status_decides_what_is_a_success() {
    let state = |accept: &str, status: u16| {
        let program = call(&format!(r#", "accept_status": {accept}"#));
        let bench = ran(&program, move |_| Reaction::status(status));
        bench.task("k").expect("a task").state
    };
    for (accept, status) in [
        ("\"2xx,404\"", 404),
        ("[200, \"5xx\"]", 503),
        ("302", 302),
        ("\"2xx\"", 299),
    ] {
        assert_eq!(state(accept, status), State::Succeeded, "{accept} {status}");
    }
    for (accept, status) in [("\"200,201\"", 202), ("\"2xx\"", 300), ("404", 200)] {
        let failed = State::Failed { resumable: true };
        assert_eq!(state(accept, status), failed, "{accept} {status}");
    }
}

#[test]
fn retry_says_how_often_and_when() {
    let retry =
        r#", "retry": {"max_attempts": 4, "initial": "100ms", "factor": 2, "max": "150ms"}"#;
    let bench = ran(&call(retry), |sent| {
        Reaction::status(if sent.nth < 4 { 500 } else { 200 })
    });
    assert_eq!(document(&bench)["steps"]["a"]["status"], json!(200));
    assert_eq!(bench.journal("k")[0].tries, 4);
    let at: Vec<u64> = bench.requests().iter().map(|s| s.at_ms).collect();
    let gaps: Vec<u64> = at.windows(2).map(|w| w[1] - w[0]).collect();
    // Two milliseconds of each gap are the way there and back.
    assert_eq!(gaps, [102, 152, 152]);
    let keys: Vec<String> = bench
        .requests()
        .iter()
        .map(|s| s.key().to_owned())
        .collect();
    assert!(keys.iter().all(|k| *k == keys[0]), "one key for all tries");
}

#[test]
fn a_timeout_a_broken_connection_and_a_status_are_retryable() {
    let once = r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/", "timeout": "1s"}], "config": {"max_attempts": 1}}"#;
    let code = |react: fn(&Sent) -> Reaction| {
        let bench = ran(once, react);
        let failure = bench.task("k").and_then(|t| t.failure).expect("a failure");
        (failure.code, failure.kind)
    };
    let retryable = FailureKind::Retryable;
    let slow = |_: &Sent| Reaction::status(200).after_ms(2_000);
    assert_eq!(code(slow), ("step_timeout".to_owned(), retryable));
    let broken = |_: &Sent| Reaction::error(FetchError::Network("reset".to_owned()));
    assert_eq!(code(broken), ("network".to_owned(), retryable));
    assert_eq!(
        code(|_| Reaction::status(404)),
        ("status".to_owned(), retryable)
    );
    let refused = |_: &Sent| Reaction::error(FetchError::Refused("private".to_owned()));
    assert_eq!(
        code(refused),
        ("target_refused".to_owned(), FailureKind::Terminal)
    );
}

#[test]
fn used_up_attempts_leave_it_resumable_and_a_delivery_goes_on_from_the_checkpoint() {
    let program = r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/a"}, {"do": "call", "name": "b", "url": "http://h/b"}],
                      "config": {"max_attempts": 3}}"#;
    let react = |sent: &Sent| {
        let broken = sent.request.url.ends_with('b') && sent.nth <= 3;
        Reaction::status(if broken { 500 } else { 200 })
    };
    let mut bench = ran(program, react);
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: true });
    assert_eq!(task.attempts, 3);
    run(&mut bench, program);
    let task = bench.task("k").expect("a task");
    assert_eq!((&task.state, task.revivals), (&State::Succeeded, 1));
    let to = |end: char| {
        bench
            .requests()
            .iter()
            .filter(|s| s.request.url.ends_with(end))
            .count()
    };
    assert_eq!((to('a'), to('b')), (1, 4), "the checkpoint holds");
}

#[test]
fn a_failing_step_ends_the_attempt_or_the_task() {
    let fail = |kind: &str| {
        let program = format!(
            r#"{{"steps": [{{"do": "value", "name": "v", "value": 1}}, {{"do": "fail", "kind": "{kind}", "message": "no"}}]}}"#
        );
        ran(&program, ok)
    };
    let terminal = fail("terminal").task("k").expect("a task");
    assert_eq!(terminal.state, State::Failed { resumable: false });
    assert_eq!(terminal.claims, 1);
    let failure = terminal.failure.expect("a failure");
    assert_eq!(
        (failure.code.as_str(), failure.message.as_str()),
        ("lab_fail", "no")
    );
    let retryable = fail("retryable").task("k").expect("a task");
    assert_eq!(retryable.state, State::Failed { resumable: true });
    assert_eq!(retryable.claims, 5, "attempts of the default policy");
}

#[test]
fn a_panic_is_an_attempt() {
    let bench = ran(
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "panic"}], "config": {"max_attempts": 2}}"#,
        ok,
    );
    let task = bench.task("k").expect("a task");
    assert_eq!(
        (task.state, task.claims),
        (State::Failed { resumable: true }, 2)
    );
    let failure = task.failure.expect("a failure");
    assert_eq!(failure.code, "panic");
    assert!(failure.message.contains("lab panic"), "{failure}");
    assert_eq!(
        bench.requests().len(),
        1,
        "what was recorded before the panic stays"
    );
}

#[test]
fn burn_ends_though_the_clock_stands_still() {
    let bench = ran(
        r#"{"steps": [{"do": "burn", "for": "2ms"}, {"do": "burn", "for": "0s"}]}"#,
        ok,
    );
    assert_eq!(bench.task("k").expect("a task").state, State::Succeeded);
}

#[test]
fn a_wait_that_no_slice_can_hold_is_a_slice_timeout() {
    let bench = ran(
        r#"{"steps": [{"do": "wait", "for": "30d"}], "config": {"slice_cut": "2s", "lease": "6s", "max_attempts": 1}}"#,
        ok,
    );
    let failure = bench.task("k").and_then(|t| t.failure).expect("a failure");
    assert_eq!(failure.code, "slice_timeout");
}

#[test]
fn a_bad_program_leaves_no_trace() {
    let mut bench = Bench::new(lab());
    let problems = bench.deliver("k", input("{}")).expect_err("no steps");
    assert_eq!(problems[0].path, "steps");
    assert!(bench.task("k").is_none());
}

#[test]
fn a_duplicate_gets_the_stored_answer() {
    let program = call("");
    let mut bench = ran(&program, ok);
    let again = bench.deliver("k", input(&program)).expect("a good program");
    bench.run_until_idle();
    let Reply::Stands(standing) = again else {
        panic!("{again:?}");
    };
    assert_eq!(standing.answer, bench.answer("k"));
    assert_eq!(bench.requests().len(), 1);
}

#[test]
fn a_deep_response_can_be_read_back() {
    for (levels, parsed) in [(120, true), (126, true), (127, false), (200, false)] {
        let bench = ran(&call(""), move |_| {
            Reaction::json(
                200,
                &format!("{}{}", "[".repeat(levels), "]".repeat(levels)),
            )
        });
        assert_eq!(
            bench.task("k").expect("a task").state,
            State::Succeeded,
            "{levels}"
        );
        let journal = bench.journal("k");
        let Outcome::Value(text) = &journal[0].outcome else {
            panic!("{journal:?}");
        };
        assert_eq!(text.contains("\"body\":["), parsed, "{levels}");
    }
}

#[test]
fn no_crash_can_be_told_from_the_outside() {
    let programs = [
        r#"{"steps": []}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}]}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "wait", "for": "1s"}, {"do": "value", "name": "v", "value": 1.10},
            {"do": "burn", "for": "1ms"}, {"do": "call", "name": "b", "url": "http://h/"}, {"do": "call", "name": "c", "url": "http://h/"}]}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "call", "name": "b", "url": "http://h/"},
            {"do": "call", "name": "c", "url": "http://h/"}], "config": {"steps_per_slice": 1}, "answer": {"status": 201}}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "fail", "kind": "terminal"}]}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "fail", "kind": "retryable"}], "config": {"max_attempts": 2}}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "panic"}], "config": {"max_attempts": 2}}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "call", "name": "b", "url": "http://h/"}], "config": {"max_attempts": 1}}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/flaky", "retry": {"max_attempts": 3}},
            {"do": "call", "name": "b", "url": "http://h/flaky"}]}"#,
    ];
    for program in programs {
        let tried = crash_everywhere(&lab(), &input(program), |sent| {
            let flaky = sent.request.url.ends_with("flaky") && sent.nth == 1;
            Reaction::status(if flaky { 503 } else { 200 }).after_ms(20)
        });
        assert!(tried.runs >= 4, "{tried:?}");
    }
}
