//! F109: which routes are open, and to whom.

use crate::support::{Request, SECRET, TOKEN, program, shared};
use std::collections::HashSet;

/// Every route that asks for a token. The ids and names need not exist: the token comes first.
fn guarded() -> Vec<(&'static str, String)> {
    let task = format!("/v1/tasks/{}", uuid::Uuid::new_v4());
    vec![
        ("POST", "/v1/functions/lab".to_owned()),
        ("POST", "/v1/functions/echo".to_owned()),
        ("GET", "/v1/tasks".to_owned()),
        ("HEAD", "/v1/tasks".to_owned()),
        ("GET", "/v1/tasks?limit=10".to_owned()),
        ("GET", task.clone()),
        ("DELETE", task.clone()),
        ("GET", format!("{task}/journal")),
        ("POST", format!("{task}/cancel")),
        ("POST", format!("{task}/retry")),
        ("POST", format!("{task}/undo")),
        ("POST", format!("{task}/signals/go")),
        ("POST", "/lab/faults".to_owned()),
    ]
}

#[test]
fn without_the_right_token_every_route_but_webhooks_and_health_is_closed() {
    let prefix = &TOKEN[..TOKEN.len() - 1];
    let values: Vec<Option<Vec<u8>>> = vec![
        None,
        Some(b"".to_vec()),
        Some(b"Bearer".to_vec()),
        Some(b"Bearer ".to_vec()),
        Some(format!("Bearer {prefix}").into_bytes()),
        Some(format!("Bearer {TOKEN}x").into_bytes()),
        Some(format!("Bearer {}", TOKEN.to_uppercase()).into_bytes()),
        Some(format!("Basic {TOKEN}").into_bytes()),
        Some(TOKEN.as_bytes().to_vec()),
        Some(format!("Bearer {SECRET}").into_bytes()),
        Some(format!("Bearer {TOKEN}, Bearer {TOKEN}").into_bytes()),
        Some(b"Bearer \xe9\xff".to_vec()),
        Some([b"Bearer ".to_vec(), vec![b'x'; 5_000]].concat()),
    ];
    let mut bodies = HashSet::new();
    for (method, target) in guarded() {
        for value in &values {
            let mut request = Request::new(method, &target).key("k");
            if let Some(value) = value {
                request = request.field("Authorization", value);
            }
            if method == "POST" {
                request = request.json(&program([]));
            }
            let mut connection = shared().connect();
            connection.send(&request).expect("sent");
            let answer = connection.receive(method).expect("an answer");
            let sent = value.as_deref().map(String::from_utf8_lossy);
            assert_eq!(
                answer.status,
                401,
                "{method} {target} {sent:?}: {}",
                answer.shown()
            );
            assert!(
                answer.field("WWW-Authenticate").is_some(),
                "{}",
                answer.shown()
            );
            if method != "HEAD" {
                bodies.insert(answer.body);
            }
        }
        let twice = Request::new(method, &target).bearer(TOKEN).bearer(TOKEN);
        let mut connection = shared().connect();
        connection.send(&twice).expect("sent");
        assert_eq!(connection.receive(method).expect("an answer").status, 401);
    }
    assert_eq!(bodies.len(), 1, "one text for all of them");
}

#[test]
fn the_token_in_another_place_opens_nothing() {
    for request in [
        Request::get(&format!("/v1/tasks?token={TOKEN}")),
        Request::get(&format!("/v1/tasks?access_token={TOKEN}")),
        Request::get("/v1/tasks").field("X-Api-Key", TOKEN),
        Request::get("/v1/tasks").field("Cookie", format!("token={TOKEN}")),
    ] {
        shared().send(&request).expect_problem(401, "unauthorized");
    }
}

#[test]
fn health_and_the_pages_of_errors_are_open() {
    shared().send(&Request::get("/healthz")).expect(200);
    let page = shared()
        .send(&Request::get("/errors/key_reused"))
        .expect(200);
    assert!(page.text().contains("key_reused"), "{}", page.shown());
}

/// The address of continuations is open to the service binding alone.
#[test]
fn continuations_cannot_be_sent_from_outside() {
    for request in [
        Request::post("/internal/continue"),
        Request::post("/internal/continue").bearer(TOKEN),
        Request::post("/internal/continue")
            .bearer(TOKEN)
            .body("{\"task_id\":\"x\",\"ticket\":\"y\"}"),
    ] {
        let answer = shared().send(&request);
        assert!((400..500).contains(&answer.status), "{}", answer.shown());
    }
}

/// Pages of other origins may use the API with a token, and may read the fields that matter.
#[test]
fn a_preflight_names_what_other_origins_may_send_and_read() {
    for (target, method) in [("/v1/functions/lab", "POST"), ("/v1/tasks", "GET")] {
        let request = Request::new("OPTIONS", target)
            .field("Origin", "https://example.org")
            .field("Access-Control-Request-Method", method);
        let answer = shared().send(&request);
        assert!(matches!(answer.status, 200 | 204), "{}", answer.shown());
        let allowed = answer
            .field("Access-Control-Allow-Headers")
            .unwrap_or_default()
            .to_lowercase();
        assert!(
            allowed.contains("idempotency-key") && allowed.contains("prefer"),
            "{}",
            answer.shown()
        );
        let methods = answer
            .field("Access-Control-Allow-Methods")
            .unwrap_or_default();
        assert!(methods.contains(method), "{}", answer.shown());
    }
    let answer = shared().send(
        &Request::get("/v1/tasks")
            .bearer(TOKEN)
            .field("Origin", "https://example.org"),
    );
    let exposed = answer
        .field("Access-Control-Expose-Headers")
        .unwrap_or_default()
        .to_lowercase();
    for name in [
        "idempotent-replayed",
        "idempotency-expires",
        "onceward-task-id",
        "retry-after",
        "location",
    ] {
        assert!(exposed.contains(name), "{name}: {}", answer.shown());
    }
}
