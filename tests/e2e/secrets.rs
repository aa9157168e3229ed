//! F116: credentials and payloads stay out of everything that is kept or printed.

use crate::support::{Mode, Request, Server, Settings as _, TOKEN, fresh, github, program, sample};
use serde_json::json;

fn with_credentials(request: Request) -> Request {
    request
        .field("X-Gitlab-Token", "SEC-2")
        .field("Cookie", "s=SEC-3")
        .field("X-Api-Key", "SEC-4")
        .field("Proxy-Authorization", "Basic SEC-5")
}

/// Every file of the state and every line of the server, searched for these texts.
#[track_caller]
fn assert_nowhere(server: &Server, files: &[&str], output: &[&str]) {
    let printed = server.output();
    for needle in files.iter().chain(output) {
        assert!(
            !printed.contains(needle),
            "{needle} was printed:\n{printed}"
        );
    }
    let all = server.files().all();
    assert!(
        all.iter()
            .any(|p| p.extension().is_some_and(|e| e == "sqlite")),
        "{all:?}"
    );
    for path in all {
        let Ok(bytes) = std::fs::read(&path) else {
            continue;
        };
        for needle in files {
            let found = bytes.windows(needle.len()).any(|w| w == needle.as_bytes());
            assert!(!found, "{needle} is in {}", path.display());
        }
    }
}

#[test]
fn credentials_are_neither_stored_nor_printed() {
    let server = Server::start();
    let push = sample("github/push.json");
    let signed = github(&fresh("secret"), &push);
    let signature = crate::support::github_signature(crate::support::SECRET, &push);
    let digits = signature.trim_start_matches("sha256=");
    let id = server.send(&with_credentials(signed)).expect(200).task_id();
    // Refused ones, in every way that there is.
    let forged = Request::post("/hooks/github")
        .field("X-GitHub-Delivery", "d")
        .field("X-Hub-Signature-256", "sha256=SEC-6");
    server
        .send(&with_credentials(forged).body("{}"))
        .expect(401);
    let call = Request::post("/v1/functions/lab").key("k").bearer("SEC-1");
    server
        .send(&with_credentials(call).json(&program([])))
        .expect(401);
    let bad_key = Request::post("/hooks/lab").key("SEC-7 SEC-8");
    server
        .send(&with_credentials(bad_key).json(&program([])))
        .expect(400);
    let webhook = Mode::Webhook
        .request(&fresh("secret"), &program([]))
        .bearer("SEC-1");
    server.send(&with_credentials(webhook)).expect(200);
    let called = Mode::Call.request(&fresh("secret"), &program([]));
    server.send(&with_credentials(called)).expect(200);

    let document = server.look(&id).expect(200).text();
    assert!(
        !document.contains("SEC-") && !document.contains(digits),
        "{document}"
    );
    let list = server
        .send(&Request::get("/v1/tasks").bearer(TOKEN))
        .expect(200)
        .text();
    assert!(!list.contains("SEC-"), "{list}");
    crate::support::eventually(|| {
        let row = server.files().row(&id)?;
        crate::support::check(row.is_some(), || "no row yet".to_owned())
    });
    let secrets = ["SEC-", digits, TOKEN, crate::support::SECRET];
    assert_nowhere(&server, &secrets, &[]);
}

#[test]
fn payloads_and_answers_are_not_printed() {
    let server = Server::start();
    let value = json!({ "do": "value", "name": "v", "value": "PAY-STEP" });
    for end in [
        None,
        Some(crate::support::fail("terminal")),
        Some(json!({ "do": "panic" })),
    ] {
        let body = program([value.clone()].into_iter().chain(end))
            .set("max_attempts", 1)
            .answer(json!({ "headers": { "x-answer": "PAY-FIELD" }, "body": "PAY-ANSWER" }));
        let request = Mode::Call.request(&fresh("payload"), &body);
        server.send(&request);
        server.send(&request);
    }
    let broken = Request::post("/hooks/lab")
        .key(&fresh("payload"))
        .body("{\"steps\": PAY-BROKEN");
    server.send(&broken).expect(400);
    let echo = Request::post("/v1/functions/echo")
        .bearer(TOKEN)
        .key(&fresh("payload"));
    server.send(&echo.body("PAY-ECHO")).expect(200);
    server.fault(&json!({ "d1": "fail", "times": 3 }));
    let own = program([value]).answer(json!({ "body": "PAY-D1" }));
    let id = Mode::Call
        .deliver(&server, &fresh("payload"), &own)
        .task_id();
    server.wait_state(&id, "succeeded");
    let printed = server.output();
    assert!(
        printed.contains(&id),
        "the log does tell of this task:\n{printed}"
    );
    assert_nowhere(&server, &[], &["PAY-"]);
}
