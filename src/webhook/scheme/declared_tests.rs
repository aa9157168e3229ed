//! Schemes as they are written down, and how a wrong one is named.

use super::*;
use serde_json::json;

fn read(value: &Value) -> Result<Scheme, String> {
    serde_json::from_str(&value.to_string()).map_err(|why| why.to_string())
}

#[test]
fn every_kind_is_read() {
    let tolerance_s = Some(300);
    for (value, scheme) in [
        (json!({"kind": "none"}), Scheme::None),
        (
            json!({"kind": "standard-webhooks"}),
            Scheme::StandardWebhooks { tolerance_s },
        ),
        (
            json!({"kind": "standard-webhooks", "tolerance_s": null}),
            Scheme::StandardWebhooks { tolerance_s: None },
        ),
        (
            json!({"kind": "gitlab", "tolerance_s": 60}),
            Scheme::GitLab {
                tolerance_s: Some(60),
            },
        ),
        (json!({"kind": "twilio"}), Scheme::Twilio),
        (json!({"kind": "mailgun"}), Scheme::Mailgun { tolerance_s }),
        (json!({"kind": "client-state"}), Scheme::ClientState),
        (
            json!({"algorithm": "hmac-sha256", "header": "X-Hub-Signature-256", "prefix": "sha256="}),
            Scheme::github(),
        ),
    ] {
        assert_eq!(read(&value), Ok(scheme), "{value}");
    }
}

#[test]
fn every_form_of_a_pack_can_be_written_down() {
    use crate::webhook::packs;
    let pairs = [
        (
            "stripe",
            json!({"kind": "form", "algorithm": "hmac-sha256", "header": "stripe-signature", "prefix": "v1=",
                "list_separator": ",", "template": "{timestamp}.{body}", "timestamp": {"pair": "t"}}),
        ),
        (
            "slack",
            json!({"kind": "form", "algorithm": "hmac-sha256", "header": "X-Slack-Signature", "prefix": "v0=",
                "template": "v0:{timestamp}:{body}", "timestamp": {"header": "X-Slack-Request-Timestamp"}}),
        ),
        (
            "shopify",
            json!({"kind": "form", "algorithm": "hmac-sha256", "header": "x-shopify-hmac-sha256",
                "aliases": ["Shopify-Hmac-Sha256"], "encoding": "base64"}),
        ),
        (
            "linear",
            json!({"kind": "form", "algorithm": "hmac-sha256", "header": "linear-signature",
                "timestamp": {"field": "/webhookTimestamp", "unit": "ms", "tolerance_s": 60}}),
        ),
        (
            "telnyx",
            json!({"kind": "form", "algorithm": "ed25519", "header": "telnyx-signature-ed25519", "encoding": "base64",
                "template": "{timestamp}|{body}", "timestamp": {"header": "telnyx-timestamp", "unit": "s"}}),
        ),
        (
            "sendgrid",
            json!({"kind": "form", "algorithm": "ecdsa-p256", "header": "x-twilio-email-event-webhook-signature",
                "encoding": "base64", "template": "{timestamp}{body}",
                "timestamp": {"header": "x-twilio-email-event-webhook-timestamp", "tolerance_s": null}}),
        ),
        (
            "square",
            json!({"kind": "form", "algorithm": "hmac-sha256", "header": "x-square-hmacsha256-signature",
                "encoding": "base64", "key_encoding": "text", "template": "{url}{body}"}),
        ),
    ];
    for (name, value) in pairs {
        let pack = packs::by_name(name).expect("a pack");
        assert_eq!(read(&value), Ok(pack.scheme), "{name}");
    }
}

fn form(change: impl Fn(&mut Value)) -> Value {
    let mut value = json!({"kind": "form", "algorithm": "hmac-sha256", "header": "x-sig"});
    change(&mut value);
    value
}

fn with(name: &str, value: impl Into<Value>) -> Value {
    let value = value.into();
    form(|form| form[name] = value.clone())
}

fn timed(template: &str, timestamp: &Value) -> Value {
    form(|form| {
        form["template"] = template.into();
        form["timestamp"] = timestamp.clone();
    })
}

fn of(algorithm: &str, name: &str, value: impl Into<Value>) -> Value {
    let mut form = with(name, value);
    form["algorithm"] = algorithm.into();
    form
}

fn are_named(cases: &[(Value, &str)]) {
    for (value, text) in cases {
        let fault = read(value).expect_err("wrong");
        assert!(fault.contains(text), "{value}: {fault}");
    }
}

#[test]
fn unknown_words_are_named() {
    are_named(&[
        (json!({"kind": "magic"}), "unknown variant `magic`"),
        (
            json!({"algorithm": "hmac-sha256"}),
            "missing field `header`",
        ),
        (json!({}), "missing field `algorithm`"),
        (json!({"kind": 1}), "expected variant identifier"),
        (json!({"kind": "form"}), "missing field `algorithm`"),
        (
            json!({"kind": "twilio", "header": "x"}),
            "unknown field `header`",
        ),
        (
            json!({"kind": "gitlab", "tolerance": 1}),
            "unknown field `tolerance`",
        ),
        (with("secret", "x"), "unknown field `secret`"),
        (with("algorithm", "md5"), "unknown variant `md5`"),
        (with("encoding", "base32"), "unknown variant `base32`"),
        (with("key_encoding", "pem"), "unknown variant `pem`"),
        (with("list_separator", ", "), "expected a character"),
    ]);
}

#[test]
fn what_does_not_fit_is_named() {
    let mut listed = with("list_separator", ",");
    listed["prefix"] = "v1,".into();
    are_named(&[
        (with("header", "x sig"), "\"x sig\" is no header name"),
        (with("header", ""), "\"\" is no header name"),
        (with("aliases", json!(["é"])), "\"é\" is no header name"),
        (
            with("id_header", "x-id"),
            "id_header and {id} in the template go together",
        ),
        (with("template", "{id}.{body}"), "id_header and {id}"),
        (with("template", "{ts}.{body}"), "template: {ts} is unknown"),
        (
            with("template", "{body"),
            "template: the brace at character 1",
        ),
        (
            with("template", "a}{body}"),
            "template: the brace at character 2",
        ),
        (
            with("template", "{url}"),
            "template: {body} is not in the template",
        ),
        (
            with("key_encoding", "spki-base64"),
            "key_encoding does not fit",
        ),
        (
            of("ed25519", "key_encoding", "text"),
            "key_encoding does not fit",
        ),
        (
            of("ecdsa-p256", "key_encoding", "ed25519-hex"),
            "key_encoding does not fit",
        ),
        (listed, "the prefix holds the list separator"),
        (of("token", "template", "x{body}"), "a token signs nothing"),
        (
            of("token", "timestamp", json!({"field": "/time"})),
            "a token signs nothing",
        ),
    ]);
}

#[test]
fn times_that_prove_nothing_are_named() {
    are_named(&[
        (
            with("template", "{timestamp}.{body}"),
            "say in timestamp which header",
        ),
        (
            timed("{body}", &json!({"header": "x-time"})),
            "a time that is not signed",
        ),
        (
            timed("{timestamp}{body}", &json!({"field": "/time"})),
            "say in timestamp which",
        ),
        (
            timed("{timestamp}{body}", &json!({"header": "x y"})),
            "\"x y\" is no header name",
        ),
        (
            timed("{timestamp}{body}", &json!({"pair": "t"})),
            "needs a list_separator",
        ),
        (
            timed("{timestamp}{body}", &json!({"pair": ""})),
            "has no name",
        ),
        (
            timed("{timestamp}{body}", &json!({})),
            "one of header, pair",
        ),
        (
            timed("{timestamp}{body}", &json!({"header": "a", "pair": "t"})),
            "one of header, pair",
        ),
        (
            timed("{body}", &json!({"field": "time"})),
            "timestamp.field: a JSON pointer",
        ),
        (
            timed("{timestamp}{body}", &json!({"header": "a", "unit": "h"})),
            "unknown variant `h`",
        ),
    ]);
}

#[test]
fn names_are_in_lower_case() {
    let value = json!({"kind": "form", "algorithm": "hmac-sha512", "header": "X-Sig", "key_encoding": "hex",
        "id_header": "X-Id", "template": "{method}{id}{timestamp}{body}", "timestamp": {"header": "X-Time"}});
    let scheme = read(&value).expect("good");
    assert_eq!(scheme.header_names(), ["x-sig", "x-time", "x-id"]);
    assert_eq!(scheme.key_form(), KeyForm::Hex);
}
