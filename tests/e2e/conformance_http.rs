//! Items of the standards that only a real server can show: what goes over the wire. Named after the item; see
//! `docs/conformance.md`.

use crate::support::{Mode, Request, TOKEN, fresh, program, shared, signal};

fn task(id: &str) -> String {
    format!("/v1/tasks/{id}")
}

#[test]
fn http_h_04_a_304_has_no_body_on_the_wire() {
    let id = Mode::Call
        .deliver(shared(), &fresh("etag"), &program([]))
        .expect(200)
        .task_id();
    let first = shared()
        .send(&Request::get(&task(&id)).bearer(TOKEN))
        .expect(200);
    let tag = first.field("ETag").expect("ETag").to_owned();
    assert_eq!(first.field("Cache-Control"), Some("private, no-cache"));
    for method in ["GET", "HEAD"] {
        let again = Request::new(method, &task(&id))
            .bearer(TOKEN)
            .field("If-None-Match", &tag);
        let again = shared().send(&again).expect(304);
        assert!(again.body.is_empty(), "{}", again.shown());
        assert_eq!(again.field("ETag"), Some(&*tag));
    }
    let head = Request::new("HEAD", &task(&id)).bearer(TOKEN);
    let head = shared().send(&head).expect(200);
    assert_eq!((head.field("ETag"), head.body.len()), (Some(&*tag), 0));
}

#[test]
fn http_h_05_statuses_come_with_the_fields_that_help() {
    let method = shared().send(&Request::new("PATCH", "/v1/functions/lab"));
    let method = method.expect_problem(405, "method_not_allowed");
    assert!(
        method
            .field("Allow")
            .is_some_and(|allow| allow.contains("POST"))
    );
    let waits = Mode::Call.deliver(shared(), &fresh("typed"), &program([signal("go")]));
    let target = format!("{}/signals/go", task(&waits.expect(202).task_id()));
    let xml = Request::post(&target)
        .bearer(TOKEN)
        .key("s")
        .field("Content-Type", "text/xml");
    let xml = shared()
        .send(&xml.body("<go/>"))
        .expect_problem(415, "unsupported_media_type");
    assert_eq!(xml.field("Accept-Post"), Some("application/json"));
    let curl = Request::post(&target)
        .bearer(TOKEN)
        .key("s")
        .field("Content-Type", "application/x-www-form-urlencoded");
    shared().send(&curl.body("{\"ok\": true}")).expect(202);
}

#[test]
fn http_h_06_options_and_head_are_answered_without_a_body() {
    for target in ["/hooks/lab", "/v1/functions/lab", "/v1/tasks"] {
        let asked = Request::new("OPTIONS", target)
            .field("Origin", "https://shop.example")
            .field("Access-Control-Request-Method", "POST");
        let answer = shared().send(&asked).expect(204);
        assert!(answer.field("Access-Control-Allow-Headers").is_some());
    }
    let page = shared()
        .send(&Request::new("HEAD", "/errors/key_reused"))
        .expect(200);
    assert_eq!(page.field("Content-Type"), Some("text/html; charset=utf-8"));
    assert!(page.body.is_empty());
}

#[test]
fn http_h_07_fields_of_one_connection_are_not_replayed() {
    let mut body = program([]);
    body["answer"] = serde_json::json!({
        "status": 200,
        "headers": {"x-own": "1", "set-cookie": "s=1", "keep-alive": "timeout=5", "x-request-id": "r"},
        "body": 1
    });
    let key = fresh("hop");
    for _ in 0..2 {
        let answer = Mode::Call.deliver(shared(), &key, &body).expect(200);
        assert_eq!(answer.field("X-Own"), Some("1"));
        for name in ["Set-Cookie", "Keep-Alive", "X-Request-Id"] {
            assert_eq!(answer.field(name), None, "{name}: {}", answer.shown());
        }
    }
}

#[test]
fn problem_d_02_pages_are_html_that_a_browser_may_only_read() {
    for target in [
        "/errors",
        "/errors/key_missing",
        "/policy",
        "/policy/hooks/lab",
        "/policy/functions/lab",
    ] {
        let page = shared().send(&Request::get(target)).expect(200);
        assert_eq!(
            page.field("Content-Type"),
            Some("text/html; charset=utf-8"),
            "{target}"
        );
        assert_eq!(page.field("X-Content-Type-Options"), Some("nosniff"));
        let csp = page.field("Content-Security-Policy").expect("a policy");
        assert!(csp.starts_with("default-src 'none'"), "{csp}");
        assert!(page.text().contains("color-scheme"), "{target}");
        let plain = Request::get(target).field("Accept", "text/markdown");
        let plain = shared().send(&plain).expect(200);
        assert!(plain.text().starts_with("# "), "{}", plain.shown());
    }
}

#[test]
fn ietf_i_13_the_policy_is_published_where_programs_find_it() {
    let policy = shared()
        .send(&Request::get("/.well-known/idempotency"))
        .expect(200)
        .json();
    let routes = policy["routes"].as_array().expect("routes");
    for path in [
        "/hooks/github",
        "/hooks/lab",
        "/v1/functions/lab",
        "/v1/functions/lab-acp",
    ] {
        let route = routes.iter().find(|route| route["path"] == path);
        let route = route.unwrap_or_else(|| panic!("no policy of {path}"));
        assert!(
            route["retention"]["succeeded_ms"].as_u64() > Some(0),
            "{route}"
        );
        let page = route["links"]["policy"].as_str().expect("a page");
        shared().send(&Request::get(page)).expect(200);
    }
    let text = policy.to_string();
    assert!(!text.contains(TOKEN) && !text.contains("SECRET"), "{text}");
}

#[test]
fn profile_stripe_and_acp_hold_on_a_real_server() {
    let to = |function: &str| Request::post(&format!("/v1/functions/{function}")).bearer(TOKEN);
    let one = shared()
        .send(&to("lab-stripe").json(&program([])))
        .expect(200);
    let other = shared()
        .send(&to("lab-stripe").json(&program([])))
        .expect(200);
    assert_ne!(one.task_id(), other.task_id());
    let key = fresh("acp");
    let answer = shared()
        .send(&to("lab-acp").key(&key).json(&program([])))
        .expect(200);
    assert_eq!(answer.field("Idempotency-Key"), Some(&*key));
    shared()
        .send(&to("lab-acp").json(&program([])))
        .expect_problem(400, "key_missing");
}

#[test]
fn prefer_p_09_a_short_answer_is_short_on_the_wire() {
    let request = Mode::Call.request(&fresh("short"), &program([signal("go")]));
    let request = request.field("Prefer", "respond-async, return=minimal");
    let answer = shared().send(&request).expect(202);
    let document = answer.json();
    assert_eq!(
        document.as_object().map(serde_json::Map::len),
        Some(2),
        "{document}"
    );
    assert_eq!(
        answer.field("Preference-Applied"),
        Some("respond-async, return=minimal")
    );
}
