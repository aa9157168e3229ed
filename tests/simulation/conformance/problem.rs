//! RFC 9457, problem documents, as they go out.

use super::desk::{Desk, Reads as _, call, get, post, to};
use crate::support::program;
use onceward::types::Answer;

/// One of each kind that a client can bring about by itself.
fn refusals(desk: &Desk) -> Vec<Answer> {
    let large = vec![b'x'; (1 << 20) + 1];
    let requests = [
        post("/v1/functions/lab").token().json(&program([])),
        call("lab", "a b", &program([])),
        call("lab", "bad", &serde_json::json!({"steps": 7})),
        post("/v1/functions/lab"),
        get("/nothing"),
        get("/v1/tasks/6f6e6365-7761-5264-8000-000000000001").token(),
        to("PUT", "/hooks/lab"),
        post("/hooks/lab").field("Idempotency-Key", "l").body(large),
        call("lab-strict", "\"order-7:2026-11-30\"", &program([]))
            .field("Content-Type", "text/xml"),
    ];
    requests.iter().map(|request| desk.send(request)).collect()
}

#[test]
fn problem_d_06_each_occurrence_has_a_name_of_its_own() {
    let desk = Desk::new();
    let instance = || {
        let refused = desk.send(&get("/nothing")).problem(404, "not_found");
        refused.document()["instance"]
            .as_str()
            .expect("an instance")
            .to_owned()
    };
    let (one, other) = (instance(), instance());
    assert!(
        one.starts_with("urn:uuid:") && one != other,
        "{one} {other}"
    );
    // About a task, the task is the occurrence.
    desk.send(&call("lab", "k", &program([]))).expect(200);
    let refused = desk.send(&call("lab", "k", &program([crate::support::value("a", 1)])));
    let task = refused.task();
    assert_eq!(refused.document()["instance"], format!("/v1/tasks/{task}"));
    assert_eq!(refused.document()["task_id"], task);
}

#[test]
fn problem_d_09_whatever_is_accepted_an_error_is_a_problem_document_in_english() {
    let desk = Desk::new();
    for accept in [
        "text/html",
        "application/xml",
        "application/json;q=0",
        "image/*",
        "",
    ] {
        let refused = desk.send(&get("/nothing").field("Accept", accept));
        let refused = refused.problem(404, "not_found");
        assert_eq!(refused.field("content-language"), Some("en"));
        let german = get("/nothing").field("Accept-Language", "de");
        assert_eq!(desk.send(&german).field("content-language"), Some("en"));
    }
    for refused in refusals(&desk) {
        assert!(refused.status >= 400, "{}", super::desk::shown(&refused));
        assert_eq!(
            refused.field("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(refused.field("content-language"), Some("en"));
        assert_eq!(refused.document()["status"], refused.status);
        assert_eq!(refused.field("cache-control"), Some("no-store"));
    }
}
