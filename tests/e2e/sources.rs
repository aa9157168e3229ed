//! Sources that a deployment declares: tenants, batches, signed bytes, secrets with an end, limiters.

use crate::support::{Request, Server, TOKEN, at_once, check, eventually, fresh};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;

const SECRET: &str = "e2e-acme-secret";

#[allow(clippy::needless_pass_by_value)] // each caller makes one
fn vars(sources: Value) -> Value {
    json!({
        "ONCEWARD_TOKEN": TOKEN, "ACME_SECRET": SECRET, "ACME_OLD": "e2e-acme-old", "ACME_SPACE": "e2e-acme\n",
        "ONCEWARD_SOURCES": sources,
    })
}

/// A provider without a pack: an HMAC of the body in hex, and a delivery id that is not signed.
fn acme(more: Value) -> Value {
    let mut source = json!({
        "runs": "inbox", "secrets": ["ACME_SECRET"], "key": ["header:acme-id", "signed-bytes"],
        "scheme": { "kind": "form", "algorithm": "hmac-sha256", "header": "acme-signature", "encoding": "hex",
                    "template": "{body}" },
    });
    if let (Value::Object(source), Value::Object(more)) = (&mut source, more) {
        source.extend(more);
    }
    source
}

fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key");
    mac.update(body);
    mac.finalize()
        .into_bytes()
        .iter()
        .fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

fn sent(path: &str, id: &str, body: &[u8]) -> Request {
    Request::post(path)
        .field("Content-Type", "application/json")
        .field("Acme-Id", id)
        .field("Acme-Signature", signature(SECRET, body))
        .body(body)
}

/// The line of the log about a delivery to this source with this outcome; the last one that there is.
#[track_caller]
fn line(server: &Server, source: &str, outcome: &str, more: impl Fn(&Value) -> bool) -> Value {
    eventually(|| {
        let printed = server.output();
        let mut lines = printed.lines().rev().filter_map(|line| {
            let from = line.find('{')?;
            let value: Value = serde_json::from_str(&line[from..]).ok()?;
            let meant = value["event"] == "delivery" && value["source"] == source;
            (meant && value["outcome"] == outcome && more(&value)).then_some(value)
        });
        lines
            .next()
            .ok_or_else(|| format!("no such line:\n{printed}"))
    })
}

#[test]
fn a_declared_source_takes_what_is_signed_and_says_which_secret_it_was() {
    let source = acme(
        json!({ "secrets": ["ACME_SECRET", { "name": "ACME_OLD", "until": "2099-01-01T00:00:00Z" }] }),
    );
    let ended = acme(
        json!({ "secrets": ["ACME_SECRET", { "name": "ACME_OLD", "until": "2020-01-01T00:00:00Z" }] }),
    );
    let server = Server::with_vars(vars(json!({ "acme": source, "ended": ended })));
    let body = br#"{"n":1}"#;
    let good = server
        .send(&sent("/hooks/acme", &fresh("a"), body))
        .expect(200);
    assert!(!good.is_replay());
    let told = line(&server, "acme", "ran", |line| line["secret"] == 0);
    assert_eq!(told["task_id"], good.task_id());

    let by_old = |path: &str| {
        Request::post(path)
            .field("Acme-Id", fresh("old"))
            .field("Acme-Signature", signature("e2e-acme-old", body))
            .body(body)
    };
    server.send(&by_old("/hooks/acme")).expect(200);
    line(&server, "acme", "ran", |line| line["secret"] == 1);
    server
        .send(&by_old("/hooks/ended"))
        .expect_problem(401, "unauthorized");
    let told = line(&server, "ended", "refused", |line| {
        line["code"] == "unauthorized"
    });
    assert!(
        told["reason"]
            .as_str()
            .is_some_and(|why| why.contains("ended")),
        "{told}"
    );
}

/// F51: a secret that was pasted with a line break is named in the log, and nothing is accepted.
#[test]
fn a_secret_with_a_fault_closes_its_source_and_is_named() {
    let server = Server::with_vars(vars(json!({
        "space": acme(json!({ "secrets": ["ACME_SPACE"] })),
        "unset": acme(json!({ "secrets": ["ACME_UNSET"] })),
        "good": acme(json!({})),
    })));
    for (name, why) in [
        ("space", "ACME_SPACE has white space"),
        ("unset", "ACME_UNSET is not set"),
    ] {
        let request = sent(&format!("/hooks/{name}"), &fresh("a"), b"{}");
        server.send(&request).expect_problem(500, "misconfigured");
        let told = line(&server, name, "refused", |line| {
            line["code"] == "misconfigured"
        });
        let reason = told["reason"].to_string();
        assert!(
            reason.contains(why) && !reason.contains("e2e-acme"),
            "{reason}"
        );
    }
    server
        .send(&sent("/hooks/good", &fresh("a"), b"{}"))
        .expect(200);
}

#[test]
fn a_configuration_with_faults_is_closed_and_lists_them_all() {
    let server = Server::with_vars(vars(json!({
        "one": acme(json!({ "key": "X-Id" })),
        "two": acme(json!({ "runs": "nothing" })),
        "three": { "runs": "inbox", "pack": "strype" },
    })));
    let answer = server.send(&sent("/hooks/inbox", &fresh("a"), b"{}"));
    answer.expect_problem(500, "misconfigured");
    for want in [
        "source one: key",
        "no function is named",
        "no pack is named",
    ] {
        eventually(|| {
            let printed = server.output();
            check(printed.contains(want), || {
                format!("{want} is not in the log:\n{printed}")
            })
        });
    }
}

/// A captured request that is sent again under another id belongs to the task of the first one.
#[test]
fn signed_bytes_are_recognised_under_another_id() {
    let server = Server::with_vars(vars(json!({
        "off": acme(json!({})),
        "on": acme(json!({ "dedup_signed_ms": 3_600_000 })),
    })));
    let body = json!({ "pay": fresh("x") }).to_string();
    let once = |path: &str| {
        server
            .send(&sent(path, &fresh("id"), body.as_bytes()))
            .expect(200)
    };
    assert_ne!(
        once("/hooks/off").task_id(),
        once("/hooks/off").task_id(),
        "off by default"
    );
    let first = once("/hooks/on");
    assert!(!first.is_replay());
    let again = once("/hooks/on");
    assert!(again.is_replay());
    assert_eq!(again.task_id(), first.task_id());
    assert_eq!(again.body, first.body);
    let key = &server.task(&first.task_id())["key"];
    assert!(
        key.as_str().is_some_and(|key| key.starts_with("id-")),
        "addressed by the first key: {key}"
    );
    // The same bytes at once, each under an id of its own: one task.
    let body = json!({ "pay": fresh("y") }).to_string();
    let storm: Vec<Request> = (0..20)
        .map(|_| sent("/hooks/on", &fresh("id"), body.as_bytes()))
        .collect();
    let ids: BTreeSet<String> = at_once(&server, &storm)
        .iter()
        .map(|a| a.clone().expect(200).task_id())
        .collect();
    assert_eq!(ids.len(), 1);
}

/// What it costs: a request and two rows (the key, its alarm) for each new delivery; a request for each repeat.
#[test]
fn recognising_signed_bytes_costs_what_the_docs_say() {
    let server = Server::with_vars(vars(json!({
        "off": acme(json!({})),
        "on": acme(json!({ "dedup_signed_ms": 3_600_000 })),
    })));
    let count = || {
        let counters = server.counters();
        ["object_requests", "object_rows"].map(|name| counters[name].as_u64().unwrap_or(0))
    };
    let first = |path: &str| {
        let before = count();
        let body = json!({ "pay": fresh("x") }).to_string();
        let id = server
            .send(&sent(path, &fresh("id"), body.as_bytes()))
            .expect(200)
            .task_id();
        // Until D1 has acknowledged its row, which comes after the answer.
        eventually(|| {
            check(server.files().row(&id)?.is_some(), || {
                "no row yet".to_owned()
            })
        });
        (body, before)
    };
    let since = |before: [u64; 2]| {
        let now = count();
        [now[0] - before[0], now[1] - before[1]]
    };
    let (_, before) = first("/hooks/off");
    let plain = eventually(|| {
        let cost = since(before);
        check(cost[1] >= 6, || format!("{cost:?}")).map(|()| cost)
    });
    let (body, before) = first("/hooks/on");
    eventually(|| {
        let cost = since(before);
        check(cost == [plain[0] + 1, plain[1] + 2], || {
            format!("{cost:?}, without {plain:?}")
        })
    });
    let before = count();
    server
        .send(&sent("/hooks/on", &fresh("id"), body.as_bytes()))
        .expect(200);
    assert_eq!(since(before), [2, 0], "a repeat");
}

#[test]
fn tenants_come_from_where_the_source_says() {
    let server = Server::with_vars(vars(json!({
        "header": acme(json!({ "tenant": "header:acme-shop" })),
        "body": acme(json!({ "tenant": "body:/shop/id" })),
        "path": acme(json!({ "tenant": "path" })),
    })));
    let body = br#"{"shop":{"id":9007199254740993}}"#;
    let key = fresh("k");
    let of = |path: &str, shop: Option<&str>| {
        let request = sent(path, &key, body);
        let request = match shop {
            Some(shop) => request.field("Acme-Shop", shop),
            None => request,
        };
        server.send(&request)
    };
    let a = of("/hooks/header", Some("a")).expect(200);
    let b = of("/hooks/header", Some("b")).expect(200);
    assert_ne!(a.task_id(), b.task_id(), "equal keys of two tenants");
    assert!(!b.is_replay());
    assert!(of("/hooks/header", Some("a")).is_replay());
    of("/hooks/header", None).expect_problem(400, "key_missing");
    of("/hooks/header", Some("a b")).expect_problem(400, "key_malformed");
    let by_body = of("/hooks/body", None).expect(200);
    assert_eq!(
        server.task(&by_body.task_id())["tenant"],
        "9007199254740993"
    );
    let none = server.send(&sent("/hooks/body", &key, b"{}"));
    none.expect_problem(400, "key_missing");
    let x = of("/hooks/path/x", None).expect(200);
    assert_eq!(server.task(&x.task_id())["tenant"], "x");
    assert_ne!(of("/hooks/path/y", None).expect(200).task_id(), x.task_id());
    for path in [
        "/hooks/path",
        "/hooks/header/x",
        "/hooks/path/X",
        "/hooks/path/",
    ] {
        of(path, Some("a")).expect_problem(404, "not_found");
    }
}

#[test]
fn each_item_of_a_batch_is_a_task() {
    let server = Server::with_vars(vars(json!({
        "batch": acme(json!({ "split": { "list": "/events", "key": "/id" } })),
    })));
    let name = fresh("item");
    let items: Vec<Value> = (0..30)
        .map(|n| json!({ "id": format!("{name}-{n}"), "big": 9_007_199_254_740_993_u64 }))
        .collect();
    let body = json!({ "events": items }).to_string();
    let first = server
        .send(&sent("/hooks/batch", &fresh("d"), body.as_bytes()))
        .expect(202)
        .json();
    assert_eq!(
        (&first["items"], &first["repeated"]),
        (&json!(30), &json!(0))
    );
    let ids: Vec<&str> = first["task_ids"]
        .as_array()
        .expect("ids")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 30);
    for id in &ids {
        let task = server.wait_state(id, "succeeded");
        assert_eq!(task["attempts"], 1);
    }
    assert_eq!(server.task(ids[7])["key"], format!("{name}-7"));
    // The same events in another delivery, with one more: only that one is new.
    let mut more = items.clone();
    more.push(json!({ "id": format!("{name}-new") }));
    let body = json!({ "events": more }).to_string();
    let second = server
        .send(&sent("/hooks/batch", &fresh("d"), body.as_bytes()))
        .json();
    assert_eq!(
        (&second["items"], &second["repeated"]),
        (&json!(31), &json!(30))
    );
    assert_eq!(
        second["task_ids"].as_array().map(|ids| ids[7].clone()),
        Some(json!(ids[7]))
    );
    // Items without a key are named by their content; what is no list is one event.
    let body = json!({ "events": [{ "x": name }, { "x": name }] }).to_string();
    let same = server
        .send(&sent("/hooks/batch", &fresh("d"), body.as_bytes()))
        .json();
    assert_eq!(same["task_ids"][0], same["task_ids"][1]);
    let body = json!({ "event": name }).to_string();
    server
        .send(&sent("/hooks/batch", &fresh("d"), body.as_bytes()))
        .expect(200);
    // One odd event does not keep the others out.
    let body =
        json!({ "events": [{ "id": {}, "x": name }, { "id": null }, { "id": fresh("good") }] })
            .to_string();
    let odd = server
        .send(&sent("/hooks/batch", &fresh("d"), body.as_bytes()))
        .expect(202)
        .json();
    assert_eq!(odd["items"], 3);
}

/// F56: signed as it came or before it was packed, by the rule of the source; growth is capped.
#[test]
fn packed_bodies_follow_the_rule_of_their_source() {
    let server = Server::with_vars(vars(json!({
        "either": acme(json!({})),
        "wire": acme(json!({ "gzip": "wire" })),
        "plain": acme(json!({ "gzip": "plain" })),
        "refuse": acme(json!({ "gzip": "refuse" })),
    })));
    let plain = json!({ "n": fresh("gz") }).to_string().into_bytes();
    let packed = |plain: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain).expect("memory");
        encoder.finish().expect("memory")
    };
    let wire = packed(&plain);
    let send = |source: &str, signed: &[u8], body: &[u8], coding: &str| {
        let request = Request::post(&format!("/hooks/{source}"))
            .field("Content-Type", "application/json")
            .field("Content-Encoding", coding)
            .field("Acme-Id", fresh("gz"))
            .field("Acme-Signature", signature(SECRET, signed));
        server.send(&request.body(body))
    };
    for (source, over_wire, over_plain) in [
        ("either", 200, 200),
        ("wire", 200, 401),
        ("plain", 401, 200),
        ("refuse", 415, 415),
    ] {
        assert_eq!(
            send(source, &wire, &wire, "gzip").status,
            over_wire,
            "{source}: wire"
        );
        let answer = send(source, &plain, &wire, "gzip");
        assert_eq!(answer.status, over_plain, "{source}: plain");
        if over_plain == 200 {
            assert_eq!(
                answer.json()["receipt"]["bytes"],
                plain.len(),
                "the function gets the content"
            );
        }
    }
    let answer = send("either", &wire, &wire, "br").expect_problem(415, "unsupported_encoding");
    assert_eq!(answer.field("Accept-Encoding"), Some("gzip, identity"));
    send("either", &wire[..9], &wire[..9], "gzip").expect_problem(400, "input_invalid");
    let bomb = packed(&vec![0; 64 << 20]);
    assert!(bomb.len() < 100_000);
    send("either", &bomb, &bomb, "gzip").expect_problem(413, "body_too_large");
    let sample = crate::support::sample("edge/gzip.json.gz");
    send("either", &sample, &sample, "gzip").expect(200);
}

#[test]
fn types_that_a_source_does_not_take_are_415() {
    let server = Server::with_vars(vars(
        json!({ "json": acme(json!({ "accepts": ["application/json"] })) }),
    ));
    let request = |media: &str| {
        Request::post("/hooks/json")
            .field("Content-Type", media)
            .field("Acme-Id", fresh("t"))
            .field("Acme-Signature", signature(SECRET, b"{}"))
            .body("{}")
    };
    server
        .send(&request("application/json; charset=utf-8"))
        .expect(200);
    let answer = server
        .send(&request("text/xml"))
        .expect_problem(415, "unsupported_media_type");
    assert_eq!(answer.field("Accept-Post"), Some("application/json"));
}

#[test]
fn more_than_the_limiter_admits_gets_429() {
    let limit = |per: &str| {
        acme(json!({ "rate_limit": { "binding": "HOOKS", "per": per, "retry_after_s": 60 } }))
    };
    let sources = json!({
        "limited": limit("source"),
        "missing": acme(json!({ "rate_limit": { "binding": "NOBODY" } })),
        "free": acme(json!({})),
    });
    let server = Server::with_limiters(
        vars(sources),
        &json!({ "HOOKS": { "limit": 5, "period": 60 } }),
    );
    let before = server.counters();
    let statuses: Vec<u16> = (0..12)
        .map(|_| {
            server
                .send(&sent("/hooks/limited", &fresh("r"), b"{}"))
                .status
        })
        .collect();
    let admitted = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(admitted, 5, "{statuses:?}");
    let answer = server
        .send(&sent("/hooks/limited", &fresh("r"), b"{}"))
        .expect_problem(429, "rate_limited");
    assert_eq!(answer.field("Retry-After"), Some("60"));
    server
        .send(&sent("/hooks/free", &fresh("r"), b"{}"))
        .expect(200);
    server
        .send(&sent("/hooks/missing", &fresh("r"), b"{}"))
        .expect_problem(500, "misconfigured");
    assert!(server.counters()["object_requests"].as_u64() > before["object_requests"].as_u64());
}

/// A flood of bad signatures costs no request to an object and no row.
#[test]
fn bad_signatures_cost_nothing() {
    let server = Server::with_vars(vars(
        json!({ "acme": acme(json!({ "dedup_signed_ms": 3_600_000 })) }),
    ));
    let warm = server
        .send(&sent("/hooks/acme", &fresh("warm"), b"{}"))
        .expect(200);
    // Until its row is in D1, which comes after the answer.
    eventually(|| {
        check(server.files().row(&warm.task_id())?.is_some(), || {
            "no row yet".to_owned()
        })
    });
    let count = |counters: &Value| {
        ["object_requests", "object_rows", "d1_statements", "alarms"]
            .map(|name| counters[name].as_u64().unwrap_or(0))
    };
    let before = count(&server.counters());
    for n in 0..200 {
        let forged = Request::post("/hooks/acme")
            .field("Acme-Id", fresh("flood"))
            .field("Acme-Signature", signature(SECRET, b"other"))
            .body(format!("{{\"n\":{n}}}"));
        server.send(&forged).expect_problem(401, "unauthorized");
    }
    assert_eq!(count(&server.counters()), before);
}

#[test]
fn an_operator_is_told_why_a_delivery_is_refused() {
    let server = Server::with_vars(vars(json!({ "acme": acme(json!({})) })));
    let explain = |body: &Value, token: &str| {
        server.send(
            &Request::post("/v1/sources/acme/explain")
                .bearer(token)
                .json(body),
        )
    };
    let body = r#"{"a": 1}"#;
    let delivery = |signed: &str, sent: &str| json!({ "headers": { "Acme-Signature": signature(SECRET, signed.as_bytes()) }, "body": sent });
    let good = explain(&delivery(body, body), TOKEN).expect(200).json();
    assert_eq!(good["verdict"], "accepted", "{good}");
    let rewritten = explain(&delivery(body, r#"{"a":1}"#), TOKEN).expect(200);
    assert_eq!(rewritten.json()["verdict"], "refused");
    assert!(rewritten.text().contains("body_"), "{}", rewritten.text());
    let twice = STANDARD.encode(body);
    let as_base64 = json!({ "headers": { "Acme-Signature": "00" }, "body_base64": twice });
    assert_eq!(
        explain(&as_base64, TOKEN).expect(200).json()["verdict"],
        "refused"
    );
    for answer in [&rewritten, &explain(&as_base64, TOKEN)] {
        assert!(!answer.text().contains(SECRET), "{}", answer.text());
        assert!(!answer.text().contains(&signature(SECRET, body.as_bytes())));
    }
    explain(&json!({ "header": {} }), TOKEN).expect_problem(400, "input_invalid");
    explain(&good, "wrong").expect_problem(401, "unauthorized");
    let nobody = Request::post("/v1/sources/nobody/explain")
        .bearer(TOKEN)
        .json(&good);
    server.send(&nobody).expect_problem(404, "not_found");
}
