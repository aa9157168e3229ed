//! Every row of the contract, in both modes, first and repeated.

use super::*;
use crate::http::document::{CancelWord, ErrorDocument, NotUndoneDocument, TaskState, UndoneWord};
use crate::http::waiting::{MismatchDocument, WaitingDocument, WaitingFor};
use crate::types::StepId;
use crate::types::{Headers, TaskKey, TaskKind};
use serde_json::{Value, json};

pub(super) const NOW_MS: u64 = 1_795_989_751_097;

pub(super) fn task() -> TaskDocument {
    let key = TaskKey::new(TaskKind::Source, "inbox", "", "k1");
    TaskDocument {
        error: Some(ErrorDocument {
            code: "no_stock".into(),
            message: "nothing left".into(),
            step: None,
        }),
        ..TaskDocument::new(&key, "greet", TaskState::Running, NOW_MS)
    }
}

pub(super) fn stored(status: u16) -> Answer {
    let headers: Headers = [
        ("content-type", "text/csv; charset=utf-8"),
        ("location", "/orders/7"),
        ("retry-after", "99"),
    ]
    .into_iter()
    .collect();
    Answer {
        status,
        headers,
        body: vec![0, 255, 10],
    }
}

pub(super) fn asked(mode: Mode, duplicate: bool) -> Asked {
    Asked {
        mode,
        duplicate,
        honoured: Prefer::default(),
        statuses: Statuses::default(),
        now_ms: NOW_MS,
    }
}

/// The form of an answer: status, and what its body is.
pub(super) fn form(answer: &Answer) -> String {
    let what = match answer.headers.get("content-type") {
        Some("application/problem+json") => {
            let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
            body["code"].as_str().expect("code").to_owned()
        }
        Some("application/json") => "document".to_owned(),
        _ => "own".to_owned(),
    };
    let mark = match answer.headers.get("idempotent-replayed") {
        Some("true") => " replayed",
        Some(other) => panic!("{other}"),
        None => "",
    };
    let retry = answer.headers.get("retry-after").unwrap_or("-");
    format!("{} {what}{mark} {retry}", answer.status)
}

#[test]
fn every_row_of_the_contract() {
    let until = |ms: u64| Standing::Waiting {
        until_ms: Some(NOW_MS + ms),
    };
    let answer = stored;
    let good = |status| Standing::Succeeded {
        answer: answer(status),
    };
    let bad = |status| Standing::FailedForGood {
        answer: Some(answer(status)),
    };
    let none = Standing::FailedForGood { answer: None };
    // Standing; webhook first, duplicate; webhook that passes 5xx, duplicate; call first, duplicate.
    #[rustfmt::skip]
    let rows: Vec<(Standing, [&str; 6])> = vec![
        (Standing::Running, ["202 document 2", "202 document 2", "202 document 2", "202 document 2", "202 document 2", "409 task_in_progress 2"]),
        (until(90_001), ["202 document 91", "202 document 91", "202 document 91", "202 document 91", "202 document 91", "409 task_in_progress 91"]),
        (Standing::Waiting { until_ms: None }, ["202 document 60", "202 document 60", "202 document 60", "202 document 60", "202 document 60", "409 task_in_progress 60"]),
        (good(207), ["207 own 99", "207 own replayed 99", "207 own 99", "207 own replayed 99", "207 own 99", "207 own replayed 99"]),
        (good(422), ["422 own 99", "422 own replayed 99", "422 own 99", "422 own replayed 99", "422 own 99", "422 own replayed 99"]),
        (good(499), ["499 own 99", "499 own replayed 99", "499 own 99", "499 own replayed 99", "499 own 99", "499 own replayed 99"]),
        (good(500), ["200 document -", "200 document replayed -", "500 own 99", "500 own replayed 99", "500 own 99", "500 own replayed 99"]),
        (bad(402), ["402 own 99", "402 own replayed 99", "402 own 99", "402 own replayed 99", "402 own 99", "402 own replayed 99"]),
        (bad(503), ["200 document -", "200 document replayed -", "503 own 99", "503 own replayed 99", "503 own 99", "503 own replayed 99"]),
        (none, ["200 document -", "200 document replayed -", "200 document -", "200 document replayed -", "500 task_failed -", "500 task_failed replayed -"]),
        (Standing::FailedResumable, ["202 document 10", "202 document 10", "202 document 10", "202 document 10", "500 task_failed 10", "500 task_failed 10"]),
        (Standing::Cancelled, ["200 document -", "200 document -", "200 document -", "200 document -", "409 task_cancelled -", "409 task_cancelled -"]),
        (Standing::KeyReused, ["422 key_reused -", "422 key_reused -", "422 key_reused -", "422 key_reused -", "422 key_reused -", "422 key_reused -"]),
    ];
    let modes = [
        Mode::Webhook { own_5xx: false },
        Mode::Webhook { own_5xx: true },
        Mode::Call,
    ];
    for (standing, want) in rows {
        let mut got = Vec::new();
        for mode in modes {
            for duplicate in [false, true] {
                let out = by_contract(&standing, &asked(mode, duplicate), &task());
                let id = task().task_id.to_string();
                assert_eq!(out.headers.get("onceward-task-id"), Some(id.as_str()));
                got.push(form(&out));
            }
        }
        assert_eq!(got, want, "{standing:?}");
    }
}

#[test]
fn a_stored_answer_comes_back_byte_for_byte() {
    let standing = Standing::Succeeded {
        answer: stored(201),
    };
    let task = TaskDocument {
        expires_ms: Some(NOW_MS),
        ..task()
    };
    let mode = Mode::Webhook { own_5xx: false };
    let first = by_contract(&standing, &asked(mode, false), &task);
    let again = by_contract(&standing, &asked(mode, true), &task);
    assert_eq!((first.status, &first.body), (201, &stored(201).body));
    for (name, value) in stored(201).headers.iter() {
        assert_eq!(first.headers.get(name), Some(value), "{name}");
    }
    assert_eq!(
        first.headers.get("idempotency-expires"),
        Some("2026-11-29T22:02:31.097Z")
    );
    let mut without = again.clone();
    without.headers.remove("idempotent-replayed");
    assert_eq!(without, first);
    assert_ne!(again, first);
}

#[test]
fn a_202_points_to_its_task() {
    let out = by_contract(&Standing::Running, &asked(Mode::Call, false), &task());
    let location = format!("/v1/tasks/{}", task().task_id);
    assert_eq!(out.headers.get("location"), Some(location.as_str()));
    assert_eq!(out.headers.get("cache-control"), Some("no-store"));
    assert_eq!(out.headers.get("idempotency-expires"), None);
    assert_eq!(out.headers.get("preference-applied"), None);
    let out = by_contract(&Standing::Running, &asked(Mode::Call, true), &task());
    assert_eq!(out.headers.get("location"), Some(location.as_str()));
}

#[test]
fn preferences_show_where_they_were_honoured() {
    let honoured = |respond_async, wait_s| Prefer {
        respond_async,
        wait_s,
        ..Prefer::default()
    };
    let done = Standing::Succeeded {
        answer: stored(200),
    };
    for (standing, duplicate, prefer, want) in [
        (
            &Standing::Running,
            false,
            honoured(true, None),
            (202, Some("respond-async")),
        ),
        (
            &Standing::Running,
            true,
            honoured(true, None),
            (202, Some("respond-async")),
        ),
        (
            &Standing::Running,
            true,
            honoured(true, Some(3)),
            (202, Some("respond-async, wait=3")),
        ),
        (
            &Standing::Running,
            true,
            honoured(false, Some(3)),
            (409, Some("wait=3")),
        ),
        (
            &Standing::Running,
            false,
            honoured(false, Some(3)),
            (202, Some("wait=3")),
        ),
        (&done, false, honoured(true, None), (200, None)),
        (&done, true, honoured(true, Some(3)), (200, Some("wait=3"))),
    ] {
        let asked = Asked {
            honoured: prefer,
            ..asked(Mode::Call, duplicate)
        };
        let out = by_contract(standing, &asked, &task());
        let got = (out.status, out.headers.get("preference-applied"));
        assert_eq!(got, want, "{standing:?} {duplicate} {prefer:?}");
    }
}

#[test]
fn retry_after_is_rounded_up_and_bounded() {
    for (until_ms, want) in [
        (Some(0), 1),
        (Some(NOW_MS), 1),
        (Some(NOW_MS + 1), 1),
        (Some(NOW_MS + 1_001), 2),
        (Some(NOW_MS + 3_600_000), 3_600),
        (Some(NOW_MS + 3_600_001), 3_600),
        (Some(u64::MAX), 3_600),
        (None, 60),
    ] {
        assert_eq!(wait_s(until_ms, NOW_MS), want, "{until_ms:?}");
    }
}

#[test]
fn problems_name_the_task_and_the_reason() {
    let none = Standing::FailedForGood { answer: None };
    let out = by_contract(&none, &asked(Mode::Call, false), &task());
    let body: Value = serde_json::from_slice(&out.body).expect("JSON");
    assert_eq!(body["task_id"], task().task_id.to_string());
    assert_eq!(body["detail"], "no_stock: nothing left");
    let refusal = not_final(&task()).to_answer();
    assert_eq!(form(&refusal), "409 task_in_progress 2");
}

#[test]
fn the_document_in_full() {
    let key = TaskKey::new(TaskKind::Function, "greet", "acme", "k1");
    let document = TaskDocument {
        resumable: Some(true),
        generation: 7,
        attempts: 3,
        updated_ms: 1_000,
        finished_ms: Some(2_000),
        expires_ms: Some(3_000),
        waiting: Some(WaitingDocument {
            what: WaitingFor::Signal,
            name: Some("approval".into()),
            until_ms: Some(4_000),
        }),
        error: Some(ErrorDocument {
            code: "c".into(),
            message: "m".into(),
            step: Some(StepId::new("left", "charge", 1).to_string()),
        }),
        answer_status: Some(500),
        duplicates: Some(9),
        waiting_for: vec![WaitingDocument::plain(WaitingFor::NextSlice, None)],
        mismatch: Some(MismatchDocument {
            index: 3,
            recorded: "charge".into(),
            attempted: Some("pay".into()),
            difference: "another step".into(),
        }),
        undone: Some(UndoneWord::Partial),
        not_undone: vec![NotUndoneDocument {
            step: Some("charge".into()),
            code: "outcome_unknown".into(),
            message: "it may have happened".into(),
        }],
        cancel: Some(CancelWord::TooLate),
        unread_signals: Some(2),
        ..TaskDocument::new(&key, "greet", TaskState::Failed, 0)
    };
    let got = serde_json::to_value(&document).expect("JSON");
    assert_eq!(
        got,
        json!({
            "task_id": key.task_id().to_string(),
            "state": "failed",
            "resumable": true,
            "function": "greet",
            "kind": "function",
            "name": "greet",
            "tenant": "acme",
            "key": "k1",
            "generation": 7,
            "attempts": 3,
            "created_at": "1970-01-01T00:00:00.000Z",
            "updated_at": "1970-01-01T00:00:01.000Z",
            "finished_at": "1970-01-01T00:00:02.000Z",
            "expires_at": "1970-01-01T00:00:03.000Z",
            "waiting": {"for": "signal", "name": "approval", "until": "1970-01-01T00:00:04.000Z"},
            "waiting_for": [{"for": "next_slice"}],
            "mismatch": {"index": 3, "recorded": "charge", "attempted": "pay", "difference": "another step"},
            "undone": "partial",
            "not_undone": [{"step": "charge", "code": "outcome_unknown", "message": "it may have happened"}],
            "cancel": "too_late",
            "unread_signals": 2,
            "error": {"code": "c", "message": "m", "step": "left/charge#1"},
            "answer_status": 500,
            "duplicates": 9,
        })
    );
}
