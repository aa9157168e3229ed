//! Every other pack, with payloads of its provider's shape: three deliveries, one run; a changed copy is refused;
//! what the provider asks before it sends is answered without a task.

use crate::packs::{hex, hmac, now_s, refused_if_changed, secret, thrice};
use crate::support::{Request, fresh, shared};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha1::Sha1;

/// The private key of RFC 8032, 7.1, test 1, whose public key the servers under test have.
fn ed25519(message: &[u8]) -> Vec<u8> {
    const SEED: [u8; 32] = [
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c,
        0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae,
        0x7f, 0x60,
    ];
    SigningKey::from_bytes(&SEED)
        .sign(message)
        .to_bytes()
        .to_vec()
}

fn sha1(secret: &str, message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha1>::new_from_slice(secret.as_bytes()).expect("any key");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn post(source: &str, body: &[u8], fields: &[(&str, String)]) -> Request {
    let request = Request::post(&format!("/hooks/{source}"))
        .field("Content-Type", "application/json")
        .body(body);
    let add = |request: Request, (name, value): &(&str, String)| request.field(name, value);
    fields.iter().fold(request, add)
}

/// By an HMAC-SHA256 of the body and nothing else.
#[test]
fn packs_that_sign_the_body_alone_run_once() {
    let id = || fresh("e");
    let plain = [
        (
            "pagerduty",
            "X-PagerDuty-Signature",
            "v1=",
            true,
            json!({ "event": { "id": id(), "event_type": "incident.triggered" } }),
        ),
        (
            "typeform",
            "Typeform-Signature",
            "sha256=",
            false,
            json!({ "event_id": id(), "event_type": "form_response" }),
        ),
        (
            "woocommerce",
            "X-WC-Webhook-Signature",
            "",
            false,
            json!({ "id": 7, "note": id() }),
        ),
        (
            "meta",
            "X-Hub-Signature-256",
            "sha256=",
            true,
            json!({ "object": "page", "entry": [{ "id": id() }] }),
        ),
        (
            "whatsapp",
            "X-Hub-Signature-256",
            "sha256=",
            true,
            json!({ "object": "whatsapp_business_account", "entry": [{ "id": id() }] }),
        ),
        (
            "x",
            "X-Twitter-Webhooks-Signature",
            "sha256=",
            false,
            json!({ "for_user_id": "1", "tweet_create_events": [{ "id_str": id() }] }),
        ),
    ];
    for (pack, field, prefix, in_hex, body) in plain {
        let body = body.to_string().into_bytes();
        let name = format!("{}_WEBHOOK_SECRET", pack.to_uppercase());
        let digest = hmac(&secret(&name), &[&body]);
        let text = if in_hex {
            hex(&digest)
        } else {
            STANDARD.encode(&digest)
        };
        let request = post(pack, &body, &[(field, format!("{prefix}{text}"))]);
        thrice(pack, &body, &request);
        refused_if_changed(pack, &request, &body);
    }
}

#[test]
fn packs_with_sha1_run_once() {
    for (pack, field, prefix, body) in [
        (
            "intercom",
            "X-Hub-Signature",
            "sha1=",
            json!({ "type": "notification_event", "id": fresh("notif"), "topic": "ping" }),
        ),
        (
            "vercel",
            "X-Vercel-Signature",
            "",
            json!({ "id": fresh("v"), "type": "deployment.created" }),
        ),
    ] {
        let body = body.to_string().into_bytes();
        let name = format!("{}_WEBHOOK_SECRET", pack.to_uppercase());
        let request = post(
            pack,
            &body,
            &[(
                field,
                format!("{prefix}{}", hex(&sha1(&secret(&name), &body))),
            )],
        );
        thrice(pack, &body, &request);
        refused_if_changed(pack, &request, &body);
    }
}

#[test]
fn packs_that_sign_a_time_run_once_whatever_the_attempts_time() {
    let now = now_s();
    let paddle = json!({ "event_id": fresh("evt"), "event_type": "customer.created" })
        .to_string()
        .into_bytes();
    let signed = hex(&hmac(
        &secret("PADDLE_WEBHOOK_SECRET"),
        &[now.as_bytes(), b":", &paddle],
    ));
    let request = post(
        "paddle",
        &paddle,
        &[("Paddle-Signature", format!("ts={now};h1=00;h1={signed}"))],
    );
    thrice("paddle", &paddle, &request);
    refused_if_changed("paddle", &request, &paddle);

    let ms: u64 = now.parse::<u64>().expect("digits") * 1_000;
    let linear = json!({ "action": "create", "type": "Issue", "createdAt": "x", "data": { "id": fresh("i") }, "webhookTimestamp": ms, "webhookId": fresh("w") });
    let linear = linear.to_string().into_bytes();
    let signed = hex(&hmac(&secret("LINEAR_WEBHOOK_SECRET"), &[&linear]));
    let request = post(
        "linear",
        &linear,
        &[
            ("Linear-Signature", signed),
            ("Linear-Delivery", fresh("d")),
        ],
    );
    thrice("linear", &linear, &request);
    let late = json!({ "webhookTimestamp": ms - 61_000, "webhookId": "w" })
        .to_string()
        .into_bytes();
    let signed = hex(&hmac(&secret("LINEAR_WEBHOOK_SECRET"), &[&late]));
    shared()
        .send(&post("linear", &late, &[("Linear-Signature", signed)]))
        .expect_problem(401, "unauthorized");

    let zoom = json!({ "event": "meeting.started", "event_ts": ms, "payload": { "object": { "uuid": fresh("u") } } });
    let zoom = zoom.to_string().into_bytes();
    let signed = hex(&hmac(
        &secret("ZOOM_WEBHOOK_SECRET"),
        &[b"v0:", now.as_bytes(), b":", &zoom],
    ));
    let fields = [
        ("X-Zm-Request-Timestamp", now.clone()),
        ("X-Zm-Signature", format!("v0={signed}")),
    ];
    thrice("zoom", &zoom, &post("zoom", &zoom, &fields));
}

/// F33: two attempts of one message have their own times and signatures, and one id.
#[test]
fn attempts_of_one_message_are_one_task() {
    for (pack, prefix, name) in [
        ("svix", "svix", "SVIX_WEBHOOK_SECRET"),
        ("standard-webhooks", "webhook", "STANDARD_WEBHOOKS_SECRET"),
        ("standard-webhooks", "svix", "STANDARD_WEBHOOKS_SECRET"),
    ] {
        let text = secret(name);
        let key = STANDARD
            .decode(text.trim_start_matches("whsec_"))
            .expect("base64");
        let (id, body) = (fresh("msg"), br#"{"type":"user.created"}"#);
        let now: i64 = now_s().parse().expect("digits");
        let attempt = |at: i64| {
            let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key).expect("any key");
            mac.update(format!("{id}.{at}.").as_bytes());
            mac.update(body);
            let signed = STANDARD.encode(mac.finalize().into_bytes());
            let field = |end: &str| format!("{prefix}-{end}");
            Request::post(&format!("/hooks/{pack}"))
                .field("Content-Type", "application/json")
                .field(&field("id"), &id)
                .field(&field("timestamp"), at.to_string())
                .field(&field("signature"), format!("v0,AAAA v1,{signed}"))
                .body(body)
        };
        let first = shared().send(&attempt(now - 60)).expect(200);
        let second = shared().send(&attempt(now)).expect(200);
        assert!(!first.is_replay() && second.is_replay(), "{pack}");
        assert_eq!(first.task_id(), second.task_id(), "{pack}");
        // F43: both ways.
        for at in [now - 400, now + 400] {
            shared()
                .send(&attempt(at))
                .expect_problem(401, "unauthorized");
        }
    }
}

/// F53: Discord probes with wrong signatures, and pings.
#[test]
fn discord_is_answered_its_ping_and_its_probe() {
    let send = |signed: &[u8], body: &[u8]| {
        let now = now_s();
        let signature = hex(&ed25519(&[now.as_bytes(), signed].concat()));
        shared().send(&post(
            "discord",
            body,
            &[
                ("X-Signature-Ed25519", signature),
                ("X-Signature-Timestamp", now),
            ],
        ))
    };
    let pong = send(br#"{"type":1}"#, br#"{"type":1}"#).expect(200);
    assert_eq!(pong.json(), json!({ "type": 1 }));
    assert!(pong.field("Onceward-Task-Id").is_none(), "no task");
    send(br#"{"type":1}"#, br#"{"type":2}"#).expect_problem(401, "unauthorized");
    for odd in ["", "00", "zz", &"0".repeat(128), &"0".repeat(100_000)] {
        let request = post(
            "discord",
            br#"{"type":1}"#,
            &[
                ("X-Signature-Ed25519", odd.to_owned()),
                ("X-Signature-Timestamp", now_s()),
            ],
        );
        let status = shared().send(&request).status;
        assert!(matches!(status, 401 | 431), "{status}");
    }
    let body = json!({ "type": 2, "id": fresh("i"), "data": { "name": "x" } }).to_string();
    let first = send(body.as_bytes(), body.as_bytes()).expect(200);
    let second = send(body.as_bytes(), body.as_bytes()).expect(200);
    assert!(second.is_replay());
    assert_eq!(first.task_id(), second.task_id());
}

#[test]
fn telnyx_and_square_and_twilio_run_once() {
    let now = now_s();
    let body = json!({ "data": { "id": fresh("t"), "event_type": "message.received" } })
        .to_string()
        .into_bytes();
    let signed = STANDARD.encode(ed25519(&[now.as_bytes(), b"|", &body].concat()));
    let request = post(
        "telnyx",
        &body,
        &[
            ("Telnyx-Signature-Ed25519", signed),
            ("Telnyx-Timestamp", now),
        ],
    );
    thrice("telnyx", &body, &request);
    refused_if_changed("telnyx", &request, &body);

    let body = json!({ "type": "payment.updated", "event_id": fresh("s") })
        .to_string()
        .into_bytes();
    let url = "https://onceward.example/hooks/square";
    let signed = STANDARD.encode(hmac(
        &secret("SQUARE_WEBHOOK_SECRET"),
        &[url.as_bytes(), &body],
    ));
    let request = post(
        "square",
        &body,
        &[("X-Square-HmacSha256-Signature", signed)],
    );
    thrice("square", &body, &request);
    refused_if_changed("square", &request, &body);

    let sid = fresh("SM");
    let body = format!("MessageSid={sid}&MessageStatus=sent&To=%2B1&From=%2B2").into_bytes();
    let signed =
        format!("https://onceward.example/hooks/twilioFrom+2MessageSid{sid}MessageStatussentTo+1");
    let signature = STANDARD.encode(sha1(&secret("TWILIO_WEBHOOK_SECRET"), signed.as_bytes()));
    let request = Request::post("/hooks/twilio")
        .field("Content-Type", "application/x-www-form-urlencoded")
        .field("X-Twilio-Signature", &signature)
        .field("X-Forwarded-Host", "evil.example")
        .body(body.clone());
    thrice("twilio", &body, &request);
    refused_if_changed("twilio", &request, &body);
}

#[test]
fn mailgun_and_gitlab_and_graph_run_once() {
    let (now, token) = (now_s(), fresh("token"));
    let signed = hex(&hmac(
        &secret("MAILGUN_WEBHOOK_SECRET"),
        &[now.as_bytes(), token.as_bytes()],
    ));
    let body = json!({ "signature": { "timestamp": now, "token": token, "signature": signed }, "event-data": { "event": "delivered" } });
    let body = body.to_string().into_bytes();
    thrice("mailgun", &body, &post("mailgun", &body, &[]));

    let body = json!({ "object_kind": "push", "n": fresh("g") })
        .to_string()
        .into_bytes();
    let wrong = post(
        "gitlab",
        &body,
        &[("X-Gitlab-Token", "dev-gitlab-secre".to_owned())],
    );
    shared().send(&wrong).expect_problem(401, "unauthorized");
    // Before 17.4 there was no Idempotency-Key; before that not even a UUID: then the body is what there is.
    let uuid = uuid::Uuid::new_v4().to_string();
    for fields in [&[("X-Gitlab-Event-UUID", uuid)][..], &[]] {
        let body = json!({ "object_kind": "push", "n": fresh("g") })
            .to_string()
            .into_bytes();
        let mut all = vec![
            ("X-Gitlab-Token", secret("GITLAB_WEBHOOK_SECRET")),
            ("X-Gitlab-Event", "Push Hook".to_owned()),
        ];
        all.extend(fields.iter().cloned());
        thrice("gitlab", &body, &post("gitlab", &body, &all));
    }

    let item = |state: &str| {
        json!({ "value": [{ "id": fresh("n"), "clientState": state, "changeType": "updated", "subscriptionId": "s" }] }).to_string()
    };
    let body = item(&secret("GRAPH_WEBHOOK_SECRET"));
    let first = shared()
        .send(&post("graph", body.as_bytes(), &[]))
        .expect(202)
        .json();
    assert_eq!(
        (&first["items"], &first["repeated"]),
        (&json!(1), &json!(0))
    );
    let id = first["task_ids"][0].as_str().expect("an id").to_owned();
    shared().wait_state(&id, "succeeded");
    let second = shared().send(&post("graph", body.as_bytes(), &[])).json();
    assert_eq!(second["task_ids"], first["task_ids"]);
    shared()
        .send(&post("graph", item("other").as_bytes(), &[]))
        .expect_problem(401, "unauthorized");
}

#[test]
fn what_providers_ask_before_they_send_is_answered() {
    let server = shared();
    let meta = |token: &str| {
        server.send(&Request::get(&format!(
            "/hooks/meta?hub.mode=subscribe&hub.verify_token={token}&hub.challenge=1158201444"
        )))
    };
    let good = meta(&secret("META_VERIFY_TOKEN")).expect(200);
    assert_eq!(good.text(), "1158201444");
    assert!(matches!(meta("other").status, 401 | 403));
    let crc = server
        .send(&Request::get("/hooks/x?crc_token=crc123"))
        .expect(200);
    let want = STANDARD.encode(hmac(&secret("X_WEBHOOK_SECRET"), &[b"crc123"]));
    assert_eq!(
        crc.json(),
        json!({ "response_token": format!("sha256={want}") })
    );
    let graph = server
        .send(&Request::post(
            "/hooks/graph?validationToken=Validation%3A%20%3Cb%3E",
        ))
        .expect(200);
    assert_eq!(graph.text(), "Validation: <b>");
    assert!(
        graph
            .field("Content-Type")
            .is_some_and(|media| media.starts_with("text/plain"))
    );
    assert_eq!(graph.field("X-Content-Type-Options"), Some("nosniff"));
    let now = now_s();
    let body =
        br#"{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}"#;
    let signed = hex(&hmac(
        &secret("ZOOM_WEBHOOK_SECRET"),
        &[b"v0:", now.as_bytes(), b":", body],
    ));
    let zoom = server.send(&post(
        "zoom",
        body,
        &[
            ("X-Zm-Request-Timestamp", now),
            ("X-Zm-Signature", format!("v0={signed}")),
        ],
    ));
    let encrypted = hex(&hmac(
        &secret("ZOOM_WEBHOOK_SECRET"),
        &[b"qgg8vlvZRS6UYooatFL8Aw"],
    ));
    assert_eq!(
        zoom.expect(200).json(),
        json!({ "plainToken": "qgg8vlvZRS6UYooatFL8Aw", "encryptedToken": encrypted })
    );
    server
        .send(&Request::new("HEAD", "/hooks/intercom"))
        .expect(200);
    // Where nobody asks with GET, GET is no method.
    for source in ["stripe", "inbox", "slack"] {
        let answer = server
            .send(&Request::get(&format!("/hooks/{source}")))
            .expect_problem(405, "method_not_allowed");
        assert_eq!(answer.field("Allow"), Some("POST, OPTIONS"), "{source}");
    }
    let put = server
        .send(&Request::new("PUT", "/hooks/meta"))
        .expect_problem(405, "method_not_allowed");
    assert_eq!(put.field("Allow"), Some("POST, GET, HEAD, OPTIONS"));
}

/// F65: the last of two equal names counts, for the key as for everything else.
#[test]
fn of_two_equal_names_the_last_counts() {
    let body = crate::support::sample("edge/duplicate_keys.json");
    let read: Value = serde_json::from_slice(&body).expect("JSON");
    let now = now_s();
    let signed = hex(&hmac(
        &secret("STRIPE_WEBHOOK_SECRET"),
        &[now.as_bytes(), b".", &body],
    ));
    let answer = shared()
        .send(&post(
            "stripe",
            &body,
            &[("Stripe-Signature", format!("t={now},v1={signed}"))],
        ))
        .expect(200);
    let key = shared().task(&answer.task_id())["key"].clone();
    let last = read["id"]
        .as_str()
        .map_or_else(|| read["id"].to_string(), str::to_owned);
    assert_eq!(key, last);
}

/// SendGrid signs with P-256 and sends events in batches: each is a task of its own, however they are packed.
#[test]
fn sendgrid_events_run_once_each() {
    use p256::ecdsa::signature::Signer as _;
    let mut scalar = [0_u8; 32];
    scalar[16..].copy_from_slice(&0x1234_5678_90ab_cdef_1234_5678_90ab_cdef_u128.to_be_bytes());
    let key = p256::ecdsa::SigningKey::from_slice(&scalar).expect("a key");
    let send = |events: &Value| {
        let (now, body) = (now_s(), format!("{events}\r\n"));
        let signed: p256::ecdsa::DerSignature =
            key.sign(&[now.as_bytes(), body.as_bytes()].concat());
        let fields = [
            (
                "X-Twilio-Email-Event-Webhook-Signature",
                STANDARD.encode(signed.as_bytes()),
            ),
            ("X-Twilio-Email-Event-Webhook-Timestamp", now),
        ];
        shared().send(&post("sendgrid", body.as_bytes(), &fields))
    };
    let event =
        |id: &str| json!({ "email": "a@example.com", "event": "delivered", "sg_event_id": id });
    let (a, b, c) = (fresh("a"), fresh("b"), fresh("c"));
    let first = send(&json!([event(&a), event(&b)])).expect(202).json();
    assert_eq!(
        (&first["items"], &first["repeated"]),
        (&json!(2), &json!(0))
    );
    let second = send(&json!([event(&b), event(&c)])).json();
    assert_eq!(
        (&second["items"], &second["repeated"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(second["task_ids"][0], first["task_ids"][1]);
    for id in [
        &first["task_ids"][0],
        &first["task_ids"][1],
        &second["task_ids"][1],
    ] {
        let task = shared().wait_state(id.as_str().expect("an id"), "succeeded");
        assert_eq!(task["attempts"], 1);
    }

    // The signature is over time and body without anything between: digits can be moved, but then it is no list.
    let (now, body) = (now_s(), json!([event(&a)]).to_string());
    let signed: p256::ecdsa::DerSignature = key.sign(format!("{now}{body}").as_bytes());
    let (time, moved) = now.split_at(now.len() - 2);
    let fields = [
        (
            "X-Twilio-Email-Event-Webhook-Signature",
            STANDARD.encode(signed.as_bytes()),
        ),
        ("X-Twilio-Email-Event-Webhook-Timestamp", time.to_owned()),
    ];
    let bent = format!("{moved}{body}");
    shared()
        .send(&post("sendgrid", bent.as_bytes(), &fields))
        .expect_problem(400, "input_invalid");
}
