//! Records as they are shown.

use super::*;
use crate::protocol::UndoPlan;
use crate::types::{StepId, TaskKey, TaskKind};

const NOW_MS: u64 = 10_000;

fn record(name: &str, kind: Kind, outcome: Outcome) -> StepRecord {
    StepRecord {
        kind,
        at_ms: 1_000,
        tries: 1,
        fence: 1,
        ..StepRecord::new(StepId::new("", name, 0), outcome)
    }
}

fn open(open: Open) -> Outcome {
    Outcome::Open(Box::new(open))
}

fn due(due_ms: u64) -> Open {
    Open {
        due_ms: Some(due_ms),
        ..Open::default()
    }
}

#[test]
fn every_outcome_has_a_state() {
    let flying = Open {
        in_flight: true,
        ..Open::default()
    };
    let again = Open {
        tries: 2,
        failure: Some(Failure::retryable("busy", "later")),
        ..due(NOW_MS + 1)
    };
    let failed = || Outcome::Failed(Failure::terminal("no", "never"));
    #[rustfmt::skip]
    let cases = [
        (Kind::Step, Outcome::Value("1.10".into()), "succeeded"),
        (Kind::Now, Outcome::Value("1".into()), "succeeded"),
        (Kind::Race, Outcome::Value("\"a\"".into()), "succeeded"),
        (Kind::Undo, failed(), "failed"),
        (Kind::Signal, failed(), "failed"),
        (Kind::Sleep, open(due(NOW_MS + 1)), "waiting"),
        (Kind::Sleep, open(due(NOW_MS)), "succeeded"),
        (Kind::Signal, open(due(NOW_MS)), "waiting"),
        (Kind::Child, open(Open::default()), "waiting"),
        (Kind::Step, open(flying.clone()), "open"),
        (Kind::Undo, open(flying), "open"),
        (Kind::Step, open(again), "waiting"),
    ];
    for (kind, outcome, want) in cases {
        let record = record("s", kind, outcome);
        assert_eq!(shown(&record, NOW_MS)["state"], want, "{record:?}");
    }
}

#[test]
fn a_page_in_full() {
    let task_id = TaskKey::new(TaskKind::Source, "a", "", "k").task_id();
    let mut charge = record(
        "charge",
        Kind::Step,
        Outcome::Value(r#"{"id": 12345678901234567890.10}"#.into()),
    );
    charge.place = 1;
    charge.undo = Some(UndoPlan {
        handler: "refund".into(),
        input: "\"SEC-1\"".into(),
        key: "SEC-2".into(),
    });
    let nap = record("nap", Kind::Sleep, open(due(NOW_MS + 1)));
    let mut last = record(
        "ship",
        Kind::Step,
        Outcome::Failed(Failure::terminal("no", "never")),
    );
    last.fence = 2;
    let child = record(
        "pay",
        Kind::Child,
        open(Open {
            child: Some(task_id),
            ..Open::default()
        }),
    );
    let records = [last, charge, nap, child];
    let page = Page {
        task_id,
        generation: 7,
        records: &records,
        more: Some("step/x"),
        now_ms: NOW_MS,
    };
    let at = "1970-01-01T00:00:01.000Z";
    let number: Value = serde_json::from_str("12345678901234567890.10").expect("a number");
    assert_eq!(
        page.document(),
        json!({"task_id": task_id.to_string(), "generation": 7, "records": [
            {"step": "nap", "kind": "sleep", "state": "waiting", "tries": 1, "at": at, "until": "1970-01-01T00:00:10.001Z"},
            {"step": "pay", "kind": "child", "state": "waiting", "tries": 1, "at": at, "child": task_id.to_string()},
            {"step": "charge", "kind": "step", "state": "succeeded", "tries": 1, "at": at, "value": {"id": number}, "undo": "refund"},
            {"step": "ship", "kind": "step", "state": "failed", "tries": 1, "at": at, "error": {"code": "no", "message": "never"}},
        ], "next": word("step/x")})
    );
    let text = page.document().to_string();
    assert!(
        !text.contains("SEC-") && text.contains("12345678901234567890.10"),
        "{text}"
    );
}
