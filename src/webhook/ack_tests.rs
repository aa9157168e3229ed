//! What each style makes of the two answers that it dresses, and what it leaves alone.

use super::*;

fn answer(status: u16) -> Answer {
    let mut answer = Answer::json(status, &json!({ "state": "running" }));
    for (name, value) in [
        ("location", "/v1/tasks/1"),
        ("retry-after", "1"),
        ("onceward-task-id", "1"),
        ("idempotency-expires", "2026-01-01T00:00:00.000Z"),
        ("etag", "\"1\""),
        ("content-language", "en"),
    ] {
        answer.headers.push(name, value);
    }
    answer
}

fn dressed(ack: Ack, status: u16, body: &[u8]) -> (u16, Option<String>, String) {
    let out = ack.dress(answer(status), body);
    for name in [
        "location",
        "retry-after",
        "onceward-task-id",
        "idempotency-expires",
    ] {
        assert_eq!(
            out.headers.get(name),
            answer(status).headers.get(name),
            "{ack:?}"
        );
    }
    let media = out.headers.get("content-type").map(str::to_owned);
    if media.as_deref() != Some("application/json") || ack == Ack::DiscordDeferred {
        assert_eq!(out.headers.get("etag"), None, "{ack:?}: of the old body");
        assert_eq!(out.headers.get("content-language"), None, "{ack:?}");
    }
    (
        out.status,
        media,
        String::from_utf8(out.body).expect("text"),
    )
}

const DOCUMENT: &str = r#"{"state":"running"}"#;

fn of(status: u16, media: Option<&str>, body: &str) -> (u16, Option<String>, String) {
    (status, media.map(str::to_owned), body.to_owned())
}

#[test]
fn every_style_for_a_task_that_goes_on_and_one_that_ended() {
    let json = Some("application/json");
    let xml = Some("text/xml; charset=utf-8");
    let twiml = r#"<?xml version="1.0" encoding="UTF-8"?><Response/>"#;
    for (ack, accepted, ended) in [
        (
            Ack::Contract,
            of(202, json, DOCUMENT),
            of(200, json, DOCUMENT),
        ),
        (Ack::Ok200, of(200, json, DOCUMENT), of(200, json, DOCUMENT)),
        (Ack::Empty200, of(200, None, ""), of(200, None, "")),
        (Ack::Slack, of(200, None, ""), of(200, None, "")),
        (Ack::TwiML, of(200, xml, twiml), of(200, xml, twiml)),
        (
            Ack::Mailgun,
            of(200, json, DOCUMENT),
            of(406, json, DOCUMENT),
        ),
    ] {
        assert_eq!(dressed(ack, 202, b"x"), accepted, "{ack:?}");
        assert_eq!(dressed(ack, 200, b"x"), ended, "{ack:?}");
    }
}

#[test]
fn slack_is_told_not_to_repeat_what_has_ended() {
    let field = |status| {
        let out = Ack::Slack.dress(answer(status), b"");
        out.headers.get("x-slack-no-retry").map(str::to_owned)
    };
    assert_eq!(field(202), None);
    assert_eq!(field(200).as_deref(), Some("1"));
}

#[test]
fn discord_by_the_type_of_the_interaction() {
    let json = Some("application/json");
    let choices = r#"{"type":8,"data":{"choices":[]}}"#;
    let message = r#"{"type":4,"data":{"content":"This did not work.","flags":64}}"#;
    for (body, accepted, ended) in [
        (r#"{"type":2}"#, r#"{"type":5}"#, message),
        (r#"{"type":3}"#, r#"{"type":6}"#, message),
        (r#"{"type":4}"#, choices, choices),
        (r#"{"type":5}"#, r#"{"type":5}"#, message),
    ] {
        let got = |status| dressed(Ack::DiscordDeferred, status, body.as_bytes());
        assert_eq!(got(202), of(200, json, accepted), "{body}");
        assert_eq!(got(200), of(200, json, ended), "{body}");
    }
    for body in [
        r#"{"type":1,"event":{"type":"ENTITLEMENT_CREATE"}}"#,
        r#"{"type":2,"event":{}}"#,
        r#"{"type":9}"#,
        "[]",
        "",
    ] {
        for status in [202, 200] {
            let got = dressed(Ack::DiscordDeferred, status, body.as_bytes());
            assert_eq!(got, of(204, None, ""), "{body}");
        }
    }
}

#[test]
fn any_other_status_is_left_alone() {
    for ack in Ack::ALL {
        for status in [201, 204, 301, 400, 401, 409, 422, 429, 500, 503] {
            assert_eq!(ack.dress(answer(status), b"{}"), answer(status), "{ack:?}");
        }
    }
    assert_eq!(Ack::default(), Ack::Contract);
}
