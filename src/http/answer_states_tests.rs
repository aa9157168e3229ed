//! Every state of the machine: what the sender gets, and how the task is shown.

use super::tests::{NOW_MS, asked, form, stored, task};
use super::*;
use crate::http::sample;
use crate::protocol::{
    Cancel, Ending, EndsAs, Mismatch, NotUndone, Summary, Undone, Wait, WaitFor,
};
use crate::types::{StepId, TaskKey, TaskKind};
use serde_json::{Value, json};

const LONG_MS: u64 = NOW_MS + 60_000;
const LONG: &str = "2026-11-29T22:03:31.097Z";

/// What an object says of a task in this state.
fn object(state: State, answer: Option<Answer>) -> protocol::Standing {
    let key = TaskKey::new(TaskKind::Source, "inbox", "", "k1");
    let summary = Summary {
        task_id: task().task_id,
        ..sample::summary(key, "greet", state)
    };
    protocol::Standing {
        summary,
        answer,
        began: false,
    }
}

fn waits(waits: Vec<WaitFor>) -> State {
    let waits = waits.into_iter().enumerate();
    let wait = |(n, what)| Wait {
        id: StepId::new("", "w", u32::try_from(n).expect("small")),
        what,
    };
    State::Suspended(Waiting::For(waits.map(wait).collect()))
}

fn signal(due_ms: Option<u64>) -> WaitFor {
    WaitFor::Signal {
        name: "approval".into(),
        due_ms,
    }
}

fn child() -> WaitFor {
    WaitFor::Child {
        task_id: task().task_id,
        due_ms: LONG_MS,
    }
}

fn code_changed() -> State {
    State::Suspended(Waiting::CodeChanged(Box::new(Mismatch {
        index: 3,
        recorded: StepId::new("", "charge", 0),
        attempted: Some(StepId::new("left", "charge", 1)),
        difference: "another step".into(),
    })))
}

/// How this is shown, but for what is the same for all.
fn shown(standing: &protocol::Standing) -> Value {
    let task = TaskDocument::of(&standing.summary);
    let Value::Object(mut document) = serde_json::to_value(&task).expect("JSON") else {
        panic!("no object");
    };
    for name in [
        "task_id",
        "function",
        "kind",
        "name",
        "key",
        "generation",
        "attempts",
        "created_at",
        "updated_at",
        "duplicates",
        "cost",
    ] {
        document.remove(name).expect(name);
    }
    document.into()
}

/// A duplicate's answers: webhook, call.
fn answers(standing: &protocol::Standing) -> [String; 2] {
    [Mode::Webhook { own_5xx: false }, Mode::Call].map(|mode| {
        form(&answer(&Seen {
            standing,
            mode,
            prefer: Prefer::default(),
            statuses: Statuses::default(),
            replayed: true,
            now_ms: NOW_MS,
        }))
    })
}

#[test]
fn every_state_has_a_document_and_an_answer() {
    let backing_off = |due_ms| State::Suspended(Waiting::BackingOff { due_ms });
    let failed = |resumable| State::Failed { resumable };
    let sleep = |due_ms| waits(vec![WaitFor::Sleep { due_ms }]);
    let (some, none) = (Some(stored(207)), None);
    let joins = ["202 document 2", "409 task_in_progress 2"];
    let waits_60 = ["202 document 60", "409 task_in_progress 60"];
    let own = ["207 own replayed 99", "207 own replayed 99"];
    #[rustfmt::skip]
    let cases = [
        (State::Running, &none, json!({"state": "running"}), joins),
        (State::Suspended(Waiting::Ready), &none, json!({"state": "suspended", "waiting": {"for": "next_slice"}}), joins),
        (backing_off(NOW_MS + 10), &none, json!({"state": "suspended", "waiting": {"for": "backoff", "until": "2026-11-29T22:02:31.107Z"}}), joins),
        (backing_off(LONG_MS), &none, json!({"state": "suspended", "waiting": {"for": "backoff", "until": LONG}}), waits_60),
        (sleep(NOW_MS + 10), &none, json!({"state": "suspended", "waiting": {"for": "sleep", "name": "w", "until": "2026-11-29T22:02:31.107Z"}}), joins),
        (sleep(LONG_MS), &none, json!({"state": "suspended", "waiting": {"for": "sleep", "name": "w", "until": LONG}}), waits_60),
        (sleep(NOW_MS + 400 * 86_400_000), &none, json!({"state": "suspended", "waiting": {"for": "sleep", "name": "w", "until": "2028-01-03T22:02:31.097Z"}}), ["202 document 3600", "409 task_in_progress 3600"]),
        (waits(vec![signal(None)]), &none, json!({"state": "suspended", "waiting": {"for": "signal", "name": "approval"}}), waits_60),
        (waits(vec![signal(Some(NOW_MS + 90_000))]), &none, json!({"state": "suspended", "waiting": {"for": "signal", "name": "approval", "until": "2026-11-29T22:04:01.097Z"}}), ["202 document 90", "409 task_in_progress 90"]),
        (waits(vec![WaitFor::Retry { due_ms: LONG_MS }]), &none, json!({"state": "suspended", "waiting": {"for": "backoff", "name": "w", "until": LONG}}), waits_60),
        (waits(vec![child()]), &none, json!({"state": "suspended", "waiting": {"for": "child", "name": "w"}}), waits_60),
        (waits(vec![signal(None), WaitFor::Sleep { due_ms: LONG_MS }]), &none, json!({"state": "suspended",
            "waiting": {"for": "sleep", "name": "w#1", "until": LONG},
            "waiting_for": [{"for": "sleep", "name": "w#1", "until": LONG}, {"for": "signal", "name": "approval"}]}), waits_60),
        (code_changed(), &none, json!({"state": "suspended", "waiting": {"for": "code_changed"},
            "mismatch": {"index": 3, "recorded": "charge", "attempted": "left/charge#1", "difference": "another step"}}), waits_60),
        (State::Succeeded, &some, json!({"state": "succeeded"}), own),
        (State::Succeeded, &none, json!({"state": "succeeded"}), ["503 unavailable 5", "503 unavailable 5"]),
        (failed(true), &none, json!({"state": "failed", "resumable": true}), ["202 document 10", "500 task_failed 10"]),
        (failed(false), &some, json!({"state": "failed", "resumable": false}), own),
        (failed(false), &none, json!({"state": "failed", "resumable": false}), ["200 document replayed -", "500 task_failed replayed -"]),
        (State::Cancelled, &none, json!({"state": "cancelled"}), ["200 document -", "409 task_cancelled -"]),
        (State::Forgotten, &none, json!({"state": "failed", "resumable": false}), ["503 unavailable 5", "503 unavailable 5"]),
    ];
    for (state, stored, document, want) in cases {
        let object = object(state, stored.clone());
        assert_eq!(shown(&object), document);
        assert_eq!(answers(&object), want, "{document}");
    }
}

#[test]
fn a_task_that_nobody_has_claimed_is_pending() {
    let mut object = object(State::Suspended(Waiting::Ready), None);
    object.summary.claims = 0;
    assert_eq!(shown(&object)["state"], "pending");
    assert_eq!(
        answers(&object),
        ["202 document 2", "409 task_in_progress 2"]
    );
}

#[test]
fn a_compensating_task_is_as_one_that_runs_but_for_an_undone_success() {
    let endings = [
        (EndsAs::Failed { restarts: true }, None),
        (EndsAs::Failed { restarts: false }, None),
        (EndsAs::Cancelled, None),
        (EndsAs::Succeeded, Some(stored(207))),
    ];
    for (to, answer) in endings {
        for state in [State::Running, State::Suspended(Waiting::Ready)] {
            let mut object = object(state, answer.clone());
            object.summary.ending = Some(Ending {
                to,
                since_ms: NOW_MS,
            });
            assert_eq!(shown(&object)["state"], "compensating");
            let want = if to == EndsAs::Succeeded {
                ["207 own replayed 99", "207 own replayed 99"]
            } else {
                ["202 document 2", "409 task_in_progress 2"]
            };
            assert_eq!(answers(&object), want, "{to:?}");
        }
    }
}

#[test]
fn what_came_of_undoing_and_cancelling_is_shown() {
    let mut object = object(State::Failed { resumable: true }, None);
    let summary = &mut object.summary;
    summary.unread = 2;
    summary.cancel = Some(Cancel {
        at_ms: 1,
        too_late: false,
    });
    summary.undone = Some(Undone::default());
    assert_eq!(
        shown(&object),
        json!({"state": "failed", "resumable": true, "undone": "complete", "cancel": "requested", "unread_signals": 2})
    );
    // A new delivery begins it anew, as one that fails for now is resumed.
    assert_eq!(answers(&object), ["202 document 10", "500 task_failed 10"]);
    let summary = &mut object.summary;
    summary.cancel = Some(Cancel {
        at_ms: 1,
        too_late: true,
    });
    summary.undone = Some(Undone {
        at_ms: 1,
        not_undone: vec![
            NotUndone {
                step: Some(StepId::new("", "charge", 1)),
                code: "declined".into(),
                message: "no".into(),
            },
            NotUndone {
                step: None,
                code: "panic".into(),
                message: "given up".into(),
            },
        ],
    });
    let document = shown(&object);
    assert_eq!(
        (&document["undone"], &document["cancel"]),
        (&json!("partial"), &json!("too_late"))
    );
    assert_eq!(
        document["not_undone"],
        json!([{"step": "charge#1", "code": "declined", "message": "no"}, {"code": "panic", "message": "given up"}])
    );
}

#[test]
fn a_preference_for_a_wait_is_named_in_the_answer() {
    let object = object(State::Running, None);
    let out = answer(&Seen {
        standing: &object,
        mode: Mode::Call,
        prefer: Prefer {
            wait_s: Some(99),
            ..Prefer::default()
        },
        statuses: Statuses::default(),
        replayed: true,
        now_ms: NOW_MS,
    });
    assert_eq!(out.headers.get("preference-applied"), Some("wait=25"));
    let asked = Asked {
        honoured: Prefer {
            wait_s: Some(25),
            ..Prefer::default()
        },
        ..asked(Mode::Call, true)
    };
    let same = by_contract(
        &Standing::Running,
        &asked,
        &TaskDocument::of(&object.summary),
    );
    assert_eq!(out, same);
}

/// An answer that is not kept leaves the key new: nothing is said of when it will be.
#[test]
fn a_key_that_is_free_has_no_expiry() {
    use crate::http::sample;
    let mut standing = sample::standing(protocol::State::Succeeded);
    standing.answer = Some(Answer::json(500, &serde_json::json!({})));
    standing.summary.expires_ms = Some(5_000);
    for (free, want) in [(false, true), (true, false)] {
        standing.summary.free = free;
        let got = answer(&Seen {
            standing: &standing,
            mode: Mode::Call,
            prefer: Prefer::default(),
            statuses: Statuses::default(),
            replayed: false,
            now_ms: 0,
        });
        assert_eq!(got.headers.get("idempotency-expires").is_some(), want);
    }
}
