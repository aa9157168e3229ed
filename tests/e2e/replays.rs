//! Stored answers: what is kept of an answer, and what is made anew.

use crate::support::{Answer, Mode, Settings as _, fresh, program, shared};
use serde_json::{Value, json};

/// The first answer and two replays of a program that gives this answer.
fn three_times(mode: Mode, own: &Value) -> [Answer; 3] {
    let request = mode.request(&fresh("stored"), &program([]).answer(own.clone()));
    [(); 3].map(|()| shared().send(&request))
}

/// F69.
#[test]
fn fields_of_the_function_come_again_in_every_replay() {
    let own = json!({
        "status": 201,
        "headers": { "location": "/orders/7", "etag": "\"7\"", "x-custom": "a, b", "cache-control": "no-store" },
        "body": { "order": 7 }
    });
    for mode in Mode::BOTH {
        let [first, second, third] = three_times(mode, &own);
        for (answer, replay) in [(&first, false), (&second, true), (&third, true)] {
            let shown = answer.shown();
            assert_eq!(answer.status, 201, "{shown}");
            assert_eq!(answer.body, br#"{"order":7}"#, "{shown}");
            for (name, value) in own["headers"].as_object().expect("fields") {
                assert_eq!(answer.field(name), value.as_str(), "{name} in {shown}");
            }
            assert_eq!(answer.is_replay(), replay, "{shown}");
            assert_eq!(
                answer.field("Idempotent-Replayed").is_some(),
                replay,
                "{shown}"
            );
            assert_eq!(answer.task_id(), first.task_id());
        }
    }
}

/// F69: what belongs to one message or one user is not stored.
#[test]
fn fields_of_one_message_are_not_replayed() {
    let own = json!({ "headers": {
        "set-cookie": "s=SEC", "date": "Thu, 01 Jan 1970 00:00:00 GMT", "x-request-id": "r1",
        "x-ratelimit-remaining": "3", "idempotent-replayed": "true", "x-kept": "1"
    } });
    for mode in Mode::BOTH {
        let [first, second, _] = three_times(mode, &own);
        assert!(!first.is_replay() && second.is_replay());
        for answer in [&first, &second] {
            let shown = answer.shown();
            assert_eq!(answer.field("x-kept"), Some("1"), "{shown}");
            for name in ["set-cookie", "x-request-id", "x-ratelimit-remaining"] {
                assert_eq!(answer.field(name), None, "{shown}");
            }
            assert_ne!(
                answer.field("date"),
                own["headers"]["date"].as_str(),
                "{shown}"
            );
        }
    }
}

/// F71.
#[test]
fn status_and_content_type_come_again_as_they_were() {
    use base64::Engine as _;
    let csv = base64::engine::general_purpose::STANDARD.encode("a;b\r\n1;\u{e9}\r\n");
    for mode in Mode::BOTH {
        for (status, content_type, body) in [
            (
                207,
                "text/csv; charset=utf-8",
                json!({ "body_base64": csv }),
            ),
            (
                422,
                "application/problem+json",
                json!({ "body": { "title": "no" } }),
            ),
            (200, "application/json", json!({ "body": null })),
            (202, "text/plain", json!({ "body_base64": "AAEC/w==" })),
            (303, "text/html", json!({ "body_base64": "" })),
        ] {
            let mut own = body;
            own["status"] = status.into();
            own["headers"] = json!({ "content-type": content_type });
            let [first, second, third] = three_times(mode, &own);
            for answer in [&first, &second, &third] {
                assert_eq!(answer.status, status, "{}", answer.shown());
                assert_eq!(
                    answer.field("Content-Type"),
                    Some(content_type),
                    "{}",
                    answer.shown()
                );
                assert_eq!(answer.body, first.body);
            }
            assert!(!first.is_replay() && second.is_replay() && third.is_replay());
        }
    }
}

#[test]
fn an_empty_answer_is_an_answer() {
    for mode in Mode::BOTH {
        let [first, second, _] = three_times(mode, &json!({ "status": 204 }));
        assert_eq!((first.status, second.status), (204, 204));
        assert!(first.body.is_empty() && second.body.is_empty());
        assert!(!first.is_replay() && second.is_replay());
    }
}

/// An answer that the platform could not send is the function's failure, not a 500 of ours.
#[test]
fn an_answer_that_cannot_be_sent_fails_for_good() {
    for value in ["a\r\nX-Evil: 1", "a\nb", "\u{0}", "é"] {
        let own = json!({ "headers": { "x-a": value } });
        let answer = Mode::Call.deliver(shared(), &fresh("evil"), &program([]).answer(own));
        assert!(
            matches!(answer.status, 400 | 500),
            "{value:?}: {}",
            answer.shown()
        );
        assert!(answer.field("x-evil").is_none());
        let code = answer.code();
        assert!(
            matches!(code.as_str(), "input_invalid" | "task_failed"),
            "{value:?}: {}",
            answer.shown()
        );
    }
}
