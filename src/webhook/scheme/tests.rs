//! Schemes beside what the vectors say.

use super::*;
use crate::types::Headers;
use crate::webhook::Pointer;

pub(super) fn arrival<'a>(headers: &'a Headers, body: &'a [u8]) -> Arrival<'a> {
    Arrival {
        method: "POST",
        target: "/hooks/a",
        public_url: None,
        headers,
        body,
        now_ms: 0,
    }
}

#[test]
fn the_scheme_none_asks_for_nothing() {
    let headers = Headers::default();
    let proof = Scheme::None.verify(&arrival(&headers, b"x"), &[]);
    assert_eq!(proof, Ok(Proof::default()));
    assert!(!Scheme::None.is_signed());
    assert!(Scheme::github().is_signed());
}

#[test]
fn what_each_scheme_reads_and_wants() {
    let tolerance_s = Some(300);
    let form = |template: &str| {
        let form = Form::new(Algorithm::HmacSha256, "X-Sig").alias("X-Old");
        Scheme::Form(form.signing(template.parse().expect("a template")))
    };
    let standard: Vec<&str> = vec![
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "svix-id",
        "svix-timestamp",
        "svix-signature",
    ];
    let with_token = [&standard[..], &["x-gitlab-token"]].concat();
    let url = true;
    let covered = true;
    for (scheme, form, names, needs_url, covers) in [
        (Scheme::None, KeyForm::Text, vec![], !url, !covered),
        (
            form("{body}"),
            KeyForm::Text,
            vec!["x-sig", "x-old"],
            !url,
            covered,
        ),
        (
            form("{url}{body}"),
            KeyForm::Text,
            vec!["x-sig", "x-old"],
            url,
            covered,
        ),
        (
            Scheme::Form(Form::new(Algorithm::Token, "x-token")),
            KeyForm::Text,
            vec!["x-token"],
            !url,
            !covered,
        ),
        (
            Scheme::StandardWebhooks { tolerance_s },
            KeyForm::WhsecOrWhpk,
            standard,
            !url,
            covered,
        ),
        (
            Scheme::GitLab { tolerance_s },
            KeyForm::WhsecOrToken,
            with_token,
            !url,
            !covered,
        ),
        (
            Scheme::Twilio,
            KeyForm::Text,
            vec!["x-twilio-signature"],
            url,
            covered,
        ),
        (
            Scheme::Mailgun { tolerance_s },
            KeyForm::Text,
            vec![],
            !url,
            !covered,
        ),
        (Scheme::ClientState, KeyForm::Text, vec![], !url, !covered),
    ] {
        assert_eq!(scheme.key_form(), form, "{scheme:?}");
        assert_eq!(scheme.header_names(), names, "{scheme:?}");
        assert_eq!(scheme.needs_public_url(), needs_url, "{scheme:?}");
        assert_eq!(scheme.covers_body(), covers, "{scheme:?}");
        assert!(scheme.problems().is_empty(), "{scheme:?}");
        let other = scheme.clone().with_tolerance(Some(7));
        assert_eq!(
            other.tolerance_s(),
            scheme.tolerance_s().map(|_| Some(7)),
            "{scheme:?}"
        );
    }
}

fn verify(form: Form, fields: &[(&str, &str)], body: &[u8]) -> Result<Proof, Refusal> {
    let headers: Headers = fields.iter().copied().collect();
    let secrets = [Secret::new("topsecret").expect("a secret")];
    let arrival = Arrival {
        public_url: Some("https://example.com/a"),
        now_ms: 1_700_000_000_999,
        ..arrival(&headers, body)
    };
    Scheme::Form(form).verify(&arrival, &secrets)
}

fn malformed(form: Form, fields: &[(&str, &str)], body: &[u8]) -> &'static str {
    match verify(form, fields, body) {
        Err(Refusal::Malformed { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_part_of_a_template_is_signed() {
    // Computed with Python's hmac.
    let template = "{method} {url} {id} {timestamp} {body}!";
    let form = || Form {
        id_header: Some("x-id".to_owned()),
        ..Form::new(Algorithm::HmacSha512, "x-sig")
            .signing(template.parse().expect("a template"))
            .timestamp(Timestamp {
                at: TimestampAt::Header("x-time".to_owned()),
                unit: Unit::Rfc3339,
                tolerance_s: Some(0),
            })
    };
    let time = "2023-11-14T22:13:20.5Z";
    let signature = "48dde623e3c3379e0bd908933748ad8c9010a71a662d983070459b7d982a91d75d3a378d0d633cd36d49fef6d80acbcc81d03e664daefe49d5fd878f6d62bad6";
    let fields = [("x-sig", signature), ("x-id", "7"), ("x-time", time)];
    let proof = verify(form(), &fields, b"body").expect("signed");
    assert_eq!(proof.secret, Some(0));
    let later = [("x-sig", signature), ("x-id", "7"), ("x-time", "today")];
    assert!(malformed(form(), &later, b"body").contains("not a time"));
    assert_eq!(
        verify(form(), &fields[..1], b"body"),
        Err(Refusal::missing("x-time"))
    );
    let without_id = [fields[0], fields[2]];
    assert_eq!(
        verify(form(), &without_id, b"body"),
        Err(Refusal::missing("x-id"))
    );
    let headers: Headers = fields.iter().copied().collect();
    let secrets = [Secret::new("topsecret").expect("a secret")];
    let got = Scheme::Form(form()).verify(&arrival(&headers, b"body"), &secrets);
    assert_eq!(got, Err(Refusal::UrlNeeded));
    assert_eq!(form().template.to_string(), template);
}

#[test]
fn lists_are_bounded_and_read_strictly() {
    let list = || {
        Form::new(Algorithm::HmacSha256, "x-sig")
            .prefix("v1=")
            .list(',')
    };
    let timed = || {
        list()
            .signing("{timestamp}{body}".parse().expect("a template"))
            .timestamp(Timestamp {
                at: TimestampAt::Pair("t".to_owned()),
                unit: Unit::Seconds,
                tolerance_s: None,
            })
    };
    let digest = "0".repeat(64);
    let item = format!("v1={digest}");
    let most = vec![item.as_str(); crate::limits::MAX_SIGNATURES].join(",");
    let got = |value: &str| malformed(list(), &[("x-sig", value)], b"");
    assert_eq!(
        verify(list(), &[("x-sig", &most)], b""),
        Err(Refusal::Mismatch)
    );
    assert!(got(&format!("{most},{item}")).contains("too many"));
    assert!(got(&format!("{item}, {item}")).contains("white space"));
    assert!(got(&format!("{item}\t")).contains("white space"));
    assert!(got(&format!("v2={digest}")).contains("no value has the prefix"));
    assert!(got("v1=zz").contains("hex"));
    assert!(got("v1=00").contains("length"));
    let time = |value: &str| malformed(timed(), &[("x-sig", value)], b"");
    assert!(time(&item).contains("no timestamp"));
    assert!(time(&format!("t=1,t=1,{item}")).contains("two timestamps"));
    for t in [
        "",
        "-1",
        "+1",
        "1.0",
        "1e3",
        "0x1",
        "99999999999999999999",
        "１",
    ] {
        assert!(time(&format!("t={t},{item}")).contains("not a time"), "{t}");
    }
}

#[test]
fn a_field_has_one_name_at_a_time() {
    let form = || {
        Form::new(Algorithm::Token, "x-new")
            .alias("x-old")
            .alias("x-older")
    };
    let token = "topsecret";
    for name in ["x-new", "x-old", "x-older"] {
        assert!(verify(form(), &[(name, token)], b"").is_ok(), "{name}");
    }
    for names in [["x-new", "x-old"], ["x-old", "x-older"]] {
        let fields = names.map(|name| (name, token));
        assert!(malformed(form(), &fields, b"").contains("two names"));
    }
    let twice = [("x-old", token), ("x-old", token)];
    assert!(malformed(form(), &twice, b"").contains("more than once"));
    assert_eq!(verify(form(), &[], b""), Err(Refusal::missing("x-new")));
    assert!(malformed(form(), &[("x-new", "")], b"").contains("empty"));
    assert_eq!(
        verify(form(), &[("x-new", "topsecre")], b""),
        Err(Refusal::Mismatch)
    );
}

#[test]
fn a_time_within_the_body_is_looked_for_when_the_signature_holds() {
    let pointer = Pointer::new("/time").expect("a pointer");
    let form = || {
        Form::new(Algorithm::Token, "x-token").timestamp(Timestamp {
            at: TimestampAt::Body(pointer.clone()),
            unit: Unit::Milliseconds,
            tolerance_s: Some(60),
        })
    };
    let right = [("x-token", "topsecret")];
    for body in ["{\"time\": 1700000060999}", "{\"time\": \"1699999940000\"}"] {
        assert!(verify(form(), &right, body.as_bytes()).is_ok(), "{body}");
    }
    for body in [
        "{\"time\": true}",
        "{\"time\": 1.5}",
        "{\"time\": null}",
        "{\"time",
        "{\"time\": -1}",
    ] {
        let got = verify(form(), &right, body.as_bytes());
        assert!(
            matches!(got, Err(Refusal::Malformed { .. })),
            "{body} {got:?}"
        );
    }
    for body in ["", "{}", "[]", "tim=1"] {
        let got = verify(form(), &right, body.as_bytes());
        assert_eq!(got, Err(Refusal::missing("/time")), "{body}");
    }
    let got = verify(form(), &[("x-token", "no")], b"");
    assert_eq!(got, Err(Refusal::Mismatch));
}

#[test]
fn keys_of_another_kind_are_no_secrets() {
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let public = [Secret::read(public, KeyForm::Ed25519Hex).expect("a key")];
    let shared = [Secret::new("topsecret").expect("a secret")];
    let headers: Headers = [("x-sig", "00")].into_iter().collect();
    for (algorithm, secrets) in [
        (Algorithm::HmacSha1, &public),
        (Algorithm::HmacSha256, &public),
        (Algorithm::Token, &public),
        (Algorithm::Ed25519, &shared),
        (Algorithm::EcdsaP256, &shared),
        (Algorithm::EcdsaP256, &public),
    ] {
        let scheme = Scheme::Form(Form::new(algorithm, "x-sig"));
        let got = scheme.verify(&arrival(&headers, b""), secrets);
        assert_eq!(got, Err(Refusal::NoSecret), "{algorithm:?}");
    }
}

#[test]
fn reasons_are_sentences_for_the_log() {
    let header = "x-hub-signature-256";
    for (refusal, text) in [
        (
            Refusal::NoSecret,
            "no secret is configured that this scheme can use",
        ),
        (Refusal::missing(header), "x-hub-signature-256 is missing"),
        (
            Refusal::malformed(header, "it came more than once"),
            "x-hub-signature-256 is malformed: it came more than once",
        ),
        (
            Refusal::TooOld { skew_s: 301 },
            "the timestamp is too old: signed 301 s ago by our clock",
        ),
        (
            Refusal::FromFuture { skew_s: 301 },
            "the timestamp is in the future: signed 301 s from now by our clock",
        ),
        (
            Refusal::Mismatch,
            "no configured secret gives this signature",
        ),
        (
            Refusal::UrlNeeded,
            "the sender signs the public address of this source, and none is configured",
        ),
    ] {
        assert_eq!(refusal.to_string(), text);
    }
}
