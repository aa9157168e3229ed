//! Scheduled jobs beside everything else: a database that fails, and what the log says of it.

use crate::support::{Server, eventually, fresh, hook, program};
use serde_json::{Value, json};

/// The line of the run of this number; what a server prints comes a moment after its answer.
#[track_caller]
fn line(server: &Server, run: usize) -> Value {
    eventually(|| {
        let output = server.output();
        let json = output.lines().filter_map(|line| {
            let at = line.find('{')?;
            serde_json::from_str::<Value>(&line[at..]).ok()
        });
        let mut lines = json.filter(|line| line["event"] == "cron");
        lines.nth(run - 1).ok_or_else(|| output.clone())
    })
}

#[test]
fn a_database_that_fails_is_named_and_harms_nothing() {
    let server = Server::start();
    server.cron();
    let first = line(&server, 1);
    assert!(first["errors"].is_null(), "{first}");
    assert_eq!(first["databases"], 1, "{first}");
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    server.cron();
    let failed = line(&server, 2);
    let error = failed["errors"]["DB"]
        .as_str()
        .expect("the error of this database");
    assert!(error.contains("lab fault"), "{failed}");
    server.fault(&json!({ "d1": "ok", "times": 1 }));
    hook(&server, &fresh("beside"), &program([])).expect(200);
    server.cron();
    let last = line(&server, 3);
    assert!(last["errors"].is_null(), "{last}");
}

/// The platform gives a run 15 minutes; this one gives up long before.
#[test]
fn a_database_that_does_not_answer_does_not_hold_a_run_up() {
    let server = Server::start();
    server.fault(&json!({ "d1": "stall:60s", "times": 1_000_000 }));
    server.cron();
    let line = line(&server, 1);
    let error = line["errors"]["DB"]
        .as_str()
        .expect("the error of this database");
    assert!(error.contains("no answer"), "{line}");
}
