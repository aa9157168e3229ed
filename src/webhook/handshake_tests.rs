//! Each handshake as its provider sends it, and all that must not pass for one.

use super::*;

const ALL: [Handshake; 7] = [
    Handshake::SlackUrl,
    Handshake::DiscordPing,
    Handshake::ZoomUrl,
    Handshake::MetaVerify,
    Handshake::XCrc,
    Handshake::GraphToken,
    Handshake::HeadOk,
];

fn secret(text: &str) -> Secret {
    Secret::new(text).expect("a secret")
}

fn before(method: &str, query: &str, secrets: &[Secret]) -> Option<Result<Answer, Refusal>> {
    let headers = Headers::default();
    let target = format!("/hooks/a{query}");
    let arrival = Arrival {
        method,
        target: &target,
        public_url: None,
        headers: &headers,
        body: b"",
        now_ms: 0,
    };
    before_signature(&ALL, &arrival, secrets, Some(&secret("meaty ham&hock")))
}

fn after(handshakes: &[Handshake], body: &[u8], secrets: &[Secret]) -> Option<Answer> {
    let headers = Headers::default();
    let arrival = Arrival {
        method: "POST",
        target: "/hooks/a",
        public_url: None,
        headers: &headers,
        body,
        now_ms: 0,
    };
    after_signature(handshakes, &arrival, secrets)
}

/// Media type and body of a 200; every answer is neither cached nor guessed at.
fn shown(answer: &Answer) -> (Option<&str>, &str) {
    assert_eq!(answer.status, 200);
    guarded(answer);
    let body = std::str::from_utf8(&answer.body).expect("text");
    (answer.headers.get("content-type"), body)
}

fn guarded(answer: &Answer) {
    assert_eq!(answer.headers.get("cache-control"), Some("no-store"));
    assert_eq!(
        answer.headers.get("x-content-type-options"),
        Some("nosniff")
    );
}

const TEXT: Option<&str> = Some("text/plain; charset=utf-8");
const JSON: Option<&str> = Some("application/json");

#[test]
fn slack_gets_its_challenge() {
    let challenge = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P";
    let body = format!(
        r#"{{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"{challenge}","type":"url_verification"}}"#
    );
    let answer = after(&ALL, body.as_bytes(), &[]).expect("a handshake");
    assert_eq!(shown(&answer), (TEXT, challenge));
    // Slack writes slashes as \/.
    let escaped = br#"{"challenge":"a\/b","type":"url_verification"}"#;
    let answer = after(&ALL, escaped, &[]).expect("a handshake");
    assert_eq!(shown(&answer), (TEXT, "a/b"));
}

#[test]
fn other_slack_bodies_are_deliveries() {
    let long = "a".repeat(513);
    for body in [
        r#"{"type":"event_callback","challenge":"abc"}"#.to_owned(),
        r#"{"type":"url_verification"}"#.into(),
        r#"{"type":"url_verification","challenge":""}"#.into(),
        r#"{"type":"url_verification","challenge":7}"#.into(),
        r#"{"type":"url_verification","challenge":"<script>"}"#.into(),
        r#"{"type":"url_verification","challenge":"a b"}"#.into(),
        r#"{"type":"url_verification","challenge":"a\nb"}"#.into(),
        r#"{"type":"event_callback","event":{"type":"url_verification","challenge":"abc"}}"#.into(),
        format!(r#"{{"type":"url_verification","challenge":"{long}"}}"#),
        "command=%2Fweather&text=url_verification".into(),
        String::new(),
    ] {
        assert_eq!(after(&ALL, body.as_bytes(), &[]), None, "{body}");
    }
    let padded = format!(
        r#"{{"type":"url_verification","challenge":"abc","x":"{}"}}"#,
        "x".repeat(16 << 10)
    );
    assert_eq!(after(&ALL, padded.as_bytes(), &[]), None, "too large");
    let longest = "a".repeat(512);
    let body = format!(r#"{{"type":"url_verification","challenge":"{longest}"}}"#);
    assert!(after(&ALL, body.as_bytes(), &[]).is_some());
}

#[test]
fn discord_gets_a_pong_for_interactions_and_nothing_for_events() {
    let ping =
        br#"{"application_id":"1","id":"2","token":"t","type":1,"user":{"id":"3"},"version":1}"#;
    let answer = after(&ALL, ping, &[]).expect("a handshake");
    assert_eq!(shown(&answer), (JSON, r#"{"type":1}"#));

    let answer = after(&ALL, br#"{"version":1,"application_id":"1","type":0}"#, &[]);
    let answer = answer.expect("a handshake");
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    assert_eq!(answer.headers.get("content-type"), None);
    guarded(&answer);

    // A webhook event has the type of an interaction's PING.
    let event =
        br#"{"version":1,"application_id":"1","type":1,"event":{"type":"ENTITLEMENT_CREATE"}}"#;
    assert_eq!(after(&ALL, event, &[]), None);
    for body in [
        &br#"{"type":2,"id":"2"}"#[..],
        br#"{"type":0,"event":{}}"#,
        br#"{"type":"1"}"#,
        br#"{"type":1,"type":2}"#, // the last one counts
        br#"{"type":1.0}"#,
        br#"{"type":-1}"#,
        br"[1]",
        b"1",
    ] {
        assert_eq!(after(&ALL, body, &[]), None, "{body:?}");
    }
}

#[test]
fn zoom_gets_the_hmac_of_its_token() {
    let body = br#"{"event":"endpoint.url_validation","event_ts":1654503849680,"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}"#;
    for (text, digest) in [
        (
            "topsecret",
            "624b28a8f186f3510e1aeed9d1f09a18d9e429ece50aa480f78078701c932a5c",
        ),
        (
            "zoom_secret",
            "46a324cfb7c2ec760e4cd561586a53aadb6fc7561eb8d626d6ee1b71d808b3c0",
        ),
    ] {
        let answer = after(&ALL, body, &[secret(text), secret("old")]).expect("a handshake");
        let want =
            format!(r#"{{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"{digest}"}}"#);
        assert_eq!(shown(&answer), (JSON, &*want));
    }
    assert_eq!(after(&ALL, body, &[]), None, "no secret to answer with");
    for body in [
        r#"{"event":"meeting.started","payload":{"plainToken":"abc"}}"#,
        r#"{"event":"endpoint.url_validation","payload":{}}"#,
        r#"{"event":"endpoint.url_validation","payload":{"plainToken":""}}"#,
        r#"{"event":"endpoint.url_validation","payload":{"plainToken":"v0:1:{}"}}"#,
        r#"{"event":"endpoint.url_validation","plainToken":"abc"}"#,
    ] {
        assert_eq!(after(&ALL, body.as_bytes(), &[secret("s")]), None, "{body}");
    }
}

#[test]
fn signed_handshakes_are_posts_and_only_those_of_the_source() {
    let slack = br#"{"type":"url_verification","challenge":"abc"}"#;
    assert_eq!(after(&[Handshake::DiscordPing], slack, &[]), None);
    assert_eq!(after(&[], slack, &[]), None);
    let headers = Headers::default();
    let arrival = Arrival {
        method: "PUT",
        target: "/",
        public_url: None,
        headers: &headers,
        body: slack,
        now_ms: 0,
    };
    assert_eq!(after_signature(&ALL, &arrival, &[]), None);
    // And none of them is answered before the signature.
    assert!(before("POST", "", &[]).is_none());
}

#[test]
fn meta_gets_its_challenge_for_the_right_token_only() {
    let query = |token: &str| {
        format!("?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={token}")
    };
    let answer = before("GET", &query("meaty+ham%26hock"), &[]).expect("a handshake");
    assert_eq!(shown(&answer.expect("right")), (TEXT, "1158201444"));
    for wrong in ["", "meaty", "meaty+ham%26hock+", "meaty+ham%26hocK", "%FF"] {
        let got = before("GET", &query(wrong), &[]);
        assert_eq!(got, Some(Err(Refusal::Mismatch)), "{wrong}");
    }
    let refused = |query: &str| match before("GET", query, &[]) {
        Some(Err(Refusal::Missing { header } | Refusal::Malformed { header, .. })) => header,
        other => panic!("{query}: {other:?}"),
    };
    let token = "hub.verify_token=meaty+ham%26hock";
    assert_eq!(
        refused("?hub.mode=subscribe&hub.challenge=1"),
        "hub.verify_token"
    );
    assert_eq!(
        refused(&format!("?hub.mode=subscribe&{token}")),
        "hub.challenge"
    );
    assert_eq!(
        refused(&format!(
            "?hub.mode=subscribe&hub.mode=subscribe&hub.challenge=1&{token}"
        )),
        "hub.mode"
    );
    assert_eq!(
        refused(&format!("?hub.mode=unsubscribe&hub.challenge=1&{token}")),
        "hub.mode"
    );
    assert_eq!(
        refused(&format!(
            "?hub.mode=subscribe&hub.challenge=1&{token}&{token}"
        )),
        "hub.verify_token"
    );
    assert_eq!(
        refused(&format!(
            "?hub.mode=subscribe&hub.challenge=1&hub.challenge=2&{token}"
        )),
        "hub.challenge"
    );
    assert_eq!(
        refused(&format!(
            "?hub.mode=subscribe&hub.challenge=%3Cscript%3E&{token}"
        )),
        "hub.challenge"
    );
    assert!(before("GET", "", &[]).is_none());
    assert!(before("GET", "?mode=subscribe", &[]).is_none());
    assert!(before("POST", &query("meaty+ham%26hock"), &[]).is_none());
}

#[test]
fn without_a_verify_token_meta_is_refused() {
    let headers = Headers::default();
    let arrival = Arrival {
        method: "GET",
        target: "/?hub.mode=subscribe&hub.challenge=1&hub.verify_token=",
        public_url: None,
        headers: &headers,
        body: b"",
        now_ms: 0,
    };
    let got = before_signature(&[Handshake::MetaVerify], &arrival, &[secret("s")], None);
    assert_eq!(got, Some(Err(Refusal::NoSecret)));
}

#[test]
fn x_gets_the_hmac_of_its_token() {
    let secrets = [secret("x_secret"), secret("old")];
    let answer = before("GET", "?crc_token=crc123&nonce=xyz", &secrets).expect("a handshake");
    let want = r#"{"response_token":"sha256=+fDr41SV/2aNssX/KUkOZqp0vTtQThSkA1MFNiflXm0="}"#;
    assert_eq!(shown(&answer.expect("answered")), (JSON, want));
    assert_eq!(
        before("GET", "?crc_token=a", &[]),
        Some(Err(Refusal::NoSecret))
    );
    for query in ["?crc_token=", "?crc_token=a&crc_token=b", "?crc_token=a%00"] {
        let got = before("GET", query, &secrets);
        assert!(
            matches!(got, Some(Err(Refusal::Malformed { .. }))),
            "{query}"
        );
    }
    assert!(before("POST", "?crc_token=a", &secrets).is_none());
}

/// Else anybody could have any delivery signed.
#[test]
fn x_signs_nothing_that_could_be_a_delivery() {
    for body in [
        r#"{"a":1}"#,
        "[]",
        "a b",
        "\"a\"",
        "<a/>",
        "a&b",
        "a,b",
        "{}",
        "a:b",
    ] {
        let encoded: String = form_urlencoded::byte_serialize(body.as_bytes()).collect();
        let got = before("GET", &format!("?crc_token={encoded}"), &[secret("s")]);
        assert!(
            matches!(got, Some(Err(Refusal::Malformed { .. }))),
            "{body}"
        );
    }
}

#[test]
fn graph_gets_its_token_decoded() {
    let query = "?validationToken=Validation%3a+Testing+client+application+reachability%20Request-Id%3A+522a8e7e";
    let answer = before("POST", query, &[])
        .expect("a handshake")
        .expect("answered");
    let want = "Validation: Testing client application reachability Request-Id: 522a8e7e";
    assert_eq!(shown(&answer), (TEXT, want));
    // Markup comes back as text that no browser takes for a page.
    let answer = before("POST", "?validationToken=%3Cscript%3E", &[]);
    let answer = answer.expect("a handshake").expect("answered");
    assert_eq!(shown(&answer), (TEXT, "<script>"));
    let longest = format!("?validationToken={}", "a".repeat(2_048));
    assert!(before("POST", &longest, &[]).expect("a handshake").is_ok());
    for query in [
        "?validationToken=",
        "?validationToken",
        "?validationToken=a&validationToken=b",
        "?validationToken=a%0d%0ab",
        "?validationToken=%c3%a9",
        &format!("{longest}a"),
    ] {
        let got = before("POST", query, &[]);
        assert!(
            matches!(got, Some(Err(Refusal::Malformed { .. }))),
            "{query}"
        );
    }
    assert!(before("POST", "?ValidationToken=a", &[]).is_none());
    assert!(before("GET", "?validationToken=a", &[]).is_none());
}

#[test]
fn head_is_answered_where_it_is_asked_for() {
    let answer = before("HEAD", "", &[])
        .expect("a handshake")
        .expect("answered");
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    guarded(&answer);
    let headers = Headers::default();
    let arrival = Arrival {
        method: "HEAD",
        target: "/",
        public_url: None,
        headers: &headers,
        body: b"",
        now_ms: 0,
    };
    assert!(before_signature(&ALL[..6], &arrival, &[], None).is_none());
}

#[test]
fn reasons_hold_no_values() {
    for query in [
        "?hub.mode=SEC-1&hub.challenge=SEC-1&hub.verify_token=SEC-1",
        "?hub.mode=subscribe&hub.challenge=SEC-1&hub.verify_token=SEC-1",
        "?crc_token={SEC-1}",
    ] {
        let refusal = before("GET", query, &[secret("SEC-1")]);
        let refusal = refusal.expect("a handshake").expect_err("refused");
        assert!(
            !format!("{refusal} {refusal:?}").contains("SEC-1"),
            "{query}"
        );
    }
}
