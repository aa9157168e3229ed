//! Operators: what they ask for, and what they are told.

use super::*;
use crate::http::sample::standing;
use crate::protocol::{Cancel, Ending, EndsAs, State, Undone, Waiting};
use crate::types::{StepId, TaskKey, TaskKind};

fn id() -> TaskId {
    TaskKey::new(TaskKind::Source, "shop", "", "k1").task_id()
}

fn ending(to: EndsAs) -> Box<Standing> {
    let mut standing = standing(State::Suspended(Waiting::Ready));
    standing.summary.ending = Some(Ending { to, since_ms: 1 });
    standing
}

fn form(operation: Operation, told: &Told) -> Option<(u16, String)> {
    Some(match answer(operation, told, id())? {
        Ok(answer) => {
            let task = id().to_string();
            assert_eq!(answer.headers.get("onceward-task-id"), Some(task.as_str()));
            let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
            (
                answer.status,
                body["state"].as_str().unwrap_or("-").to_owned(),
            )
        }
        Err(problem) => (problem.code.status(), problem.code.as_str().to_owned()),
    })
}

#[test]
fn an_operation_is_named_by_its_key_and_by_what_it_does() {
    let fresh = Token::new("f");
    let keyed = |value: &str| -> Result<String, Problem> {
        let headers = [("Idempotency-Key", value)].into_iter().collect();
        op(Operation::Cancel, &headers, &fresh)
    };
    assert_eq!(keyed("k").as_deref(), Ok("cancel:k"));
    assert_eq!(keyed("\"k\"").as_deref(), Ok("cancel:k"));
    assert_eq!(keyed("a b").expect_err("refused").code, Code::KeyMalformed);
    let twice: Headers = [("idempotency-key", "a"), ("idempotency-key", "b")]
        .into_iter()
        .collect();
    let got = op(Operation::Retry, &twice, &fresh).expect_err("refused");
    assert_eq!(got.code, Code::KeyMalformed);
    // No key can be made to look like a fresh name.
    assert_ne!(
        keyed("f").ok(),
        op(Operation::Cancel, &Headers::default(), &fresh).ok()
    );
}

#[test]
fn a_retry_is_read_or_refused_as_a_whole() {
    let read = |body: &str| retry(body.as_bytes(), "op".into());
    for body in ["", " \n", "{}"] {
        let want = Retry {
            op: "op".into(),
            ..Retry::default()
        };
        assert_eq!(read(body), Ok(want), "{body:?}");
    }
    let full = read(r#"{"from": "a/b#1", "input": {"n": 1.10}, "keys": "same", "dry_run": true}"#);
    let full = full.expect("good");
    assert_eq!(full.from.as_deref(), Some("a/b#1"));
    assert_eq!(full.input.as_deref(), Some(&br#"{"n":1.10}"#[..]));
    assert!(full.same_keys && full.dry_run);
    assert_eq!(
        read(r#"{"input": null}"#).expect("good").input,
        Some(b"null".to_vec())
    );
    assert!(!read(r#"{"keys": "new"}"#).expect("good").same_keys);
    for (body, pointers) in [
        (
            r#"{"from": 1, "keys": "old", "dry_run": "yes", "a/b": 1}"#,
            &["/from", "/keys", "/dry_run", "/a~1b"][..],
        ),
        (r#"{"keys": true, "op": "x"}"#, &["/keys", "/op"]),
        ("[]", &[]),
        ("{", &[]),
        ("null", &[]),
    ] {
        let problem = read(body).expect_err(body);
        assert_eq!(problem.code, Code::InputInvalid);
        let got: Vec<&str> = problem.errors.iter().map(|c| c.pointer.as_str()).collect();
        assert_eq!(got, pointers, "{body}");
    }
}

#[test]
fn every_answer_to_every_operation() {
    use Operation::{Cancel as C, Retry as R, Undo as U};
    let failed = |resumable| State::Failed { resumable };
    let stands = |state| Told::Stands(standing(state));
    let ended = |state| Told::Ended(standing(state));
    let mut late = standing(State::Succeeded);
    late.summary.cancel = Some(Cancel {
        at_ms: 1,
        too_late: true,
    });
    let mut undone = standing(State::Succeeded);
    undone.summary.undone = Some(Undone::default());
    #[rustfmt::skip]
    let cases = [
        (C, stands(State::Cancelled), Some((200, "cancelled"))),
        (C, stands(State::Running), Some((202, "running"))),
        (C, Told::Stands(ending(EndsAs::Cancelled)), Some((202, "compensating"))),
        (C, Told::Stands(ending(EndsAs::Failed { restarts: true })), Some((202, "compensating"))),
        (C, Told::Stands(ending(EndsAs::Succeeded)), Some((409, "task_ended"))),
        (C, Told::Stands(late), Some((409, "task_ended"))),
        (C, ended(State::Cancelled), Some((200, "cancelled"))),
        (C, ended(State::Succeeded), Some((409, "task_ended"))),
        (C, ended(failed(false)), Some((409, "task_ended"))),
        (C, Told::NotFound, Some((404, "task_not_found"))),
        (C, Told::Done, None),
        (R, stands(State::Suspended(Waiting::Ready)), Some((202, "suspended"))),
        (R, Told::InProgress(standing(State::Running)), Some((409, "task_in_progress"))),
        (R, ended(State::Succeeded), Some((409, "task_ended"))),
        (R, ended(State::Cancelled), Some((409, "task_ended"))),
        (R, Told::NotFound, Some((404, "task_not_found"))),
        (R, Told::NoSuchStep, None),
        (U, Told::Stands(ending(EndsAs::Succeeded)), Some((202, "compensating"))),
        (U, Told::Stands(undone), Some((200, "succeeded"))),
        (U, Told::InProgress(standing(State::Running)), Some((409, "task_in_progress"))),
        (U, ended(failed(true)), Some((409, "task_ended"))),
        (U, Told::NotFound, Some((404, "task_not_found"))),
        (U, Told::Unavailable("x".into()), None),
    ];
    for (operation, told, want) in cases {
        let want = want.map(|(status, word)| (status, word.to_owned()));
        assert_eq!(form(operation, &told), want, "{operation:?} {told:?}");
    }
}

#[test]
fn a_plan_says_what_is_done_again_before_and_after() {
    let plan = |standing| {
        Told::Planned(Box::new(Plan {
            kept: vec![StepId::new("", "charge", 0)],
            again: vec![StepId::new("a", "ship", 1)],
            new_generation: true,
            new_keys: false,
            standing,
        }))
    };
    let body = |told: &Told| -> (u16, Value) {
        let answer = answer(Operation::Retry, told, id())
            .expect("known")
            .expect("good");
        (
            answer.status,
            serde_json::from_slice(&answer.body).expect("JSON"),
        )
    };
    let said = json!({"kept": ["charge"], "again": ["a/ship#1"], "new_generation": true, "new_keys": false});
    let (status, dry) = body(&plan(None));
    let mut want = json!({"task_id": id().to_string(), "dry_run": true});
    want.as_object_mut()
        .expect("object")
        .extend(said.as_object().cloned().expect("object"));
    assert_eq!((status, dry), (200, want));
    let after = standing(State::Suspended(Waiting::Ready));
    let (status, document) = body(&plan(Some(*after)));
    assert_eq!((status, &document["retry"]), (202, &said));
    assert_eq!(document["state"], "suspended");
    assert_eq!(document["task_id"], id().to_string());
}

#[test]
fn a_step_that_is_not_there_is_answered_with_those_that_are() {
    let problem = no_such_step(id(), &["charge".into(), "a/ship#1".into()]);
    assert_eq!(problem.code, Code::InputInvalid);
    assert_eq!(
        problem.errors[0].detail,
        "no such step; there are charge, a/ship#1"
    );
    assert_eq!(
        no_such_step(id(), &[]).errors[0].detail,
        "no such step; nothing is recorded"
    );
}
