//! Which secret signed, and what a secret may have been meant to be.

use super::*;

#[test]
fn what_holds_is_accepted_by_the_secret_that_signed() {
    for sender in senders() {
        let headers = sender.signed();
        let secrets = [secret("b3RoZXItb3RoZXItb3RoZXI="), secret(SECRET)];
        let found = look(&sender.scheme, &headers, BODY, &secrets);
        assert_eq!(found.verdict, Verdict::Accepted, "{}", sender.name);
        assert_eq!(codes(&found), ["holds"]);
        let name = "NAME".to_owned();
        assert_eq!(found.secret, Some(Matched { index: 1, name }));
        assert_eq!((found.secrets, found.tried, found.skew_s), (2, 0, None));
    }
}

#[test]
fn an_unsigned_source_says_so() {
    let found = look(&Scheme::None, &Headers::default(), BODY, &[]);
    assert_eq!(found.verdict, Verdict::Unsigned);
    assert_eq!(codes(&found), ["unsigned"]);
}

#[test]
fn without_a_secret_it_is_closed() {
    for sender in senders() {
        for secrets in [&[][..], &[secret("")], &[secret(" \n")]] {
            let found = look(&sender.scheme, &sender.signed(), BODY, secrets);
            assert_eq!(found.verdict, Verdict::Closed, "{}", sender.name);
            assert!(codes(&found).contains(&"no_secret"));
            assert_eq!(
                codes(&found).contains(&"secret_faulty"),
                !secrets.is_empty()
            );
            assert!(!found.explained);
        }
    }
}

#[test]
fn a_faulty_secret_is_named_and_still_recognised() {
    for sender in senders() {
        let pasted = format!("{SECRET}\n");
        let secrets = [secret(&pasted)];
        let found = look(&sender.scheme, &sender.signed(), BODY, &secrets);
        assert_eq!(found.verdict, Verdict::Closed, "{}", sender.name);
        let says =
            "The signature holds if secret 0 (NAME) is taken without the white space around it.";
        assert_eq!(first(&found), ("secret_form", says), "{}", sender.name);
        assert!(codes(&found).contains(&"secret_faulty"));
    }
}

#[test]
fn an_expired_secret_that_signed_is_named() {
    for sender in senders() {
        let expired = SecretAt {
            expired: true,
            ..secret(SECRET)
        };
        let secrets = [secret("b3RoZXItb3RoZXItb3RoZXI="), expired];
        let found = look(&sender.scheme, &sender.signed(), BODY, &secrets);
        assert_eq!(found.verdict, Verdict::Refused);
        assert_eq!(codes(&found)[0], "secret_expired", "{}", sender.name);
        assert_eq!(found.secret.map(|s| s.index), Some(1));
        let only = look(&sender.scheme, &sender.signed(), BODY, &secrets[1..]);
        assert_eq!(only.verdict, Verdict::Closed, "no other is left");
        assert_eq!(codes(&only)[0], "secret_expired");
    }
}

#[test]
fn secrets_that_were_pasted_wrong() {
    for sender in senders() {
        for (text, how) in [
            (
                format!("\"{SECRET}\""),
                "without the quotes or the \\n around it",
            ),
            (
                format!("{SECRET}\\n"),
                "without the quotes or the \\n around it",
            ),
            (format!("{SECRET}\nsecond line"), "only its first line"),
            (
                format!("WEBHOOK_SECRET={SECRET}"),
                "without the NAME= before it",
            ),
            (format!("v1,{SECRET}"), "without its prefix"),
        ] {
            let found = look(&sender.scheme, &sender.signed(), BODY, &[secret(&text)]);
            let says = format!("The signature holds if secret 0 (NAME) is taken {how}.");
            assert_eq!(first(&found), ("secret_form", &*says), "{}", sender.name);
            assert!(found.explained);
        }
    }
}

#[test]
fn secrets_in_another_form() {
    let github = &senders()[0];
    let raw = STANDARD.decode(SECRET).expect("base64");
    let sign = |key: &[u8]| -> Headers {
        let digest = hex(&hmac(key, &[BODY]));
        [("x-hub-signature-256", format!("sha256={digest}"))]
            .into_iter()
            .collect()
    };
    let whsec = format!("whsec_{SECRET}");
    let hexed = hex(&raw);
    for (text, headers, how) in [
        (SECRET, sign(&raw), "decoded from base64"),
        (&*hexed, sign(&raw), "decoded from hex"),
        (&whsec, sign(&raw), "as whsec_ and base64"),
        (&whsec, sign(SECRET.as_bytes()), "without its prefix"),
        (SECRET, sign(whsec.as_bytes()), "with whsec_ before it"),
    ] {
        let found = look(&github.scheme, &headers, BODY, &[secret(text)]);
        let says = format!("The signature holds if secret 0 (NAME) is taken {how}.");
        // It was given as a text without a prefix that is no secret of its own.
        assert_eq!(first(&found).1, says);
    }
    // Used as text where the standard decodes it.
    let standard = &senders()[5];
    let digest = STANDARD.encode(hmac(
        SECRET.as_bytes(),
        &[b"msg_1.", NOW.as_bytes(), b".", BODY],
    ));
    let mut headers = standard.signed();
    headers.set("webhook-signature", format!("v1,{digest}"));
    let found = look(&standard.scheme, &headers, BODY, &[secret(SECRET)]);
    assert_eq!(
        first(&found).1,
        "The signature holds if secret 0 (NAME) is taken as text."
    );
}

#[test]
fn public_keys() {
    let key = SigningKey::from_bytes(&[7; 32]);
    let scheme = Scheme::Form(
        Form::new(Algorithm::Ed25519, "x-signature-ed25519")
            .signing("{timestamp}{body}".parse().expect("a template"))
            .timestamp(seconds(TimestampAt::Header("x-signature-timestamp".into()))),
    );
    let public = key.verifying_key().to_bytes();
    let sign = |time: &str, body: &[u8]| -> Headers {
        let signature = key.sign(&[time.as_bytes(), body].concat()).to_bytes();
        [
            ("x-signature-ed25519", hex(&signature)),
            ("x-signature-timestamp", time.to_owned()),
        ]
        .into_iter()
        .collect()
    };
    let (hexed, base64) = (hex(&public), STANDARD.encode(public));
    let explained = |headers: &Headers, body: &[u8], text: &str| {
        let arrival = Arrival {
            method: "POST",
            target: "/hooks/discord",
            public_url: None,
            headers,
            body,
            now_ms: NOW_MS,
        };
        explain(&scheme, &arrival, &[secret(text)], &Hints::default())
    };
    let found = explained(&sign(NOW, BODY), BODY, &hexed);
    assert_eq!(found.verdict, Verdict::Accepted);
    let found = explained(&sign(NOW, BODY), BODY, &base64);
    assert_eq!(codes(&found)[0], "secret_form");
    assert_eq!(found.verdict, Verdict::Closed);
    let found = explained(&sign("1600000000", BODY), BODY, &hexed);
    assert_eq!(codes(&found), ["too_old"]);
    let found = explained(&sign(NOW, BODY), &[BODY, b"\n"].concat(), &hexed);
    assert_eq!(codes(&found), ["body_form"]);
    let mut headers = sign(NOW, BODY);
    let bytes = headers
        .get("x-signature-ed25519")
        .expect("signed")
        .to_owned();
    headers.set("x-signature-ed25519", bytes.to_uppercase());
    let found = explained(&headers, BODY, &hexed);
    assert_eq!(codes(&found)[0], "header_form");
}

#[test]
fn a_secret_is_not_shown_by_debug() {
    let shown = format!("{:?}", secret("SEC-1"));
    assert!(
        shown.contains("NAME") && !shown.contains("SEC-1"),
        "{shown}"
    );
    assert!(Secret::new("SEC-1").is_ok());
}

#[test]
fn one_faulty_secret_blocks_the_source_unless_it_has_expired() {
    for sender in senders() {
        let faulty = secret(" ");
        let found = look(
            &sender.scheme,
            &sender.signed(),
            BODY,
            &[secret(SECRET), faulty],
        );
        assert_eq!(found.verdict, Verdict::Closed, "{}", sender.name);
        assert_eq!(codes(&found), ["holds", "secret_faulty"]);
        assert!(found.findings[1].says.contains("misconfigured"));
        let other = sender.headers(BODY, NOW, "b3RoZXItb3RoZXItb3RoZXI=", URL);
        let found = look(&sender.scheme, &other, BODY, &[secret(SECRET), faulty]);
        assert_eq!(found.verdict, Verdict::Closed);
        let expired = SecretAt {
            expired: true,
            ..faulty
        };
        let found = look(
            &sender.scheme,
            &sender.signed(),
            BODY,
            &[secret(SECRET), expired],
        );
        assert_eq!(found.verdict, Verdict::Accepted);
        assert!(!found.findings[1].says.contains("misconfigured"));
    }
}

#[test]
fn public_keys_on_p256_that_were_pasted_wrong() {
    // Key, time, body and signature of SendGrid's own tests.
    let key = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
    let body = concat!(
        r#"[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","#,
        r#""sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","#,
        r#""sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","#,
        r#""smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]"#,
        "\r\n"
    );
    let headers: Headers = [
        ("x-signature", "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM="),
        ("x-time", "1600112502"),
    ]
    .into_iter()
    .collect();
    let scheme = Scheme::Form(
        Form::new(Algorithm::EcdsaP256, "x-signature")
            .base64()
            .signing("{timestamp}{body}".parse().expect("a template"))
            .timestamp(Timestamp {
                tolerance_s: None,
                ..seconds(TimestampAt::Header("x-time".into()))
            }),
    );
    let found = look(&scheme, &headers, body.as_bytes(), &[secret(key)]);
    assert_eq!(found.verdict, Verdict::Accepted);
    let quoted = format!("\"{key}\"");
    let found = look(&scheme, &headers, body.as_bytes(), &[secret(&quoted)]);
    assert_eq!(codes(&found)[0], "secret_form");
    // The line break at the end is signed, and easily lost.
    let found = look(
        &scheme,
        &headers,
        body.trim_end().as_bytes(),
        &[secret(key)],
    );
    assert_eq!(codes(&found), ["body_form"]);
}
