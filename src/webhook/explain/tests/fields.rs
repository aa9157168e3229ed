//! Header fields, clocks and public addresses.

use super::*;
use crate::webhook::KeyForm;

#[test]
fn clocks_that_differ_are_told_in_seconds() {
    for sender in senders().iter().filter(|s| s.has_time()) {
        let headers = sender.headers(BODY, "1699999000", SECRET, URL);
        let found = look(&sender.scheme, &headers, BODY, &[secret(SECRET)]);
        assert_eq!(found.verdict, Verdict::Refused);
        let says =
            "By its timestamp it was signed 1000 s before it came; at most 300 s are accepted.";
        assert_eq!(first(&found), ("too_old", says), "{}", sender.name);
        assert_eq!((found.skew_s, found.explained), (Some(1_000), true));
        assert_eq!(found.secret.map(|s| s.index), Some(0));

        let headers = sender.headers(BODY, "1700000301", SECRET, URL);
        let found = look(&sender.scheme, &headers, BODY, &[secret(SECRET)]);
        let says =
            "By its timestamp it was signed 301 s after it came; at most 300 s are accepted.";
        assert_eq!(first(&found), ("from_future", says), "{}", sender.name);
        assert_eq!(found.skew_s, Some(-301));

        // Long ago and altered: both are found.
        let headers = sender.headers(BODY, "1600000000", SECRET, URL);
        let altered = [BODY, b"\n"].concat();
        let found = look(&sender.scheme, &headers, &altered, &[secret(SECRET)]);
        assert_eq!(
            codes(&found)[..2],
            ["body_form", "too_old"],
            "{}",
            sender.name
        );
    }
}

#[test]
fn public_addresses() {
    let square = &senders()[4];
    for (signed, how) in [
        ("http://example.com/hooks/square", "http instead of https"),
        ("https://example.com:443/hooks/square", "the port in it"),
        (
            "https://example.com/hooks/square/",
            "a slash at the end of the path",
        ),
        (
            "https://example.com/hooks/square?x=1",
            "the path and query of this request",
        ),
    ] {
        let headers = square.headers(BODY, NOW, SECRET, signed);
        let found = look(&square.scheme, &headers, BODY, &[secret(SECRET)]);
        let says = format!("The signature holds for another public address: the one with {how}.");
        assert_eq!(first(&found), ("url_form", &*says));
    }
    for (configured, signed, how) in [
        (
            "http://example.com/a",
            "https://example.com/a",
            "https instead of http",
        ),
        (
            "https://example.com:8443/a",
            "https://example.com/a",
            "no port in it",
        ),
        (
            "https://example.com/a/",
            "https://example.com/a",
            "no slash at the end of the path",
        ),
        (
            "https://example.com/a?y=2",
            "https://example.com/a",
            "no query",
        ),
        (
            "https://example.com/a",
            "https://example.com/a?x=1",
            "the query of this request",
        ),
        (
            "https://example.com/a",
            "https://other.example.com/b",
            "everything as in the URL of this request",
        ),
        (
            "not a URL",
            "https://other.example.com/b",
            "everything as in the URL of this request",
        ),
    ] {
        let headers = square.headers(BODY, NOW, SECRET, signed);
        let hints = Hints {
            request_url: Some("https://other.example.com/b"),
            ..Hints::default()
        };
        let found = look_from(
            &square.scheme,
            &headers,
            BODY,
            &[secret(SECRET)],
            Some(configured),
            &hints,
        );
        let says = format!("The signature holds for another public address: the one with {how}.");
        assert_eq!(first(&found), ("url_form", &*says), "{configured}");
    }
    // None is configured: closed by the scheme, and found all the same.
    let headers = square.headers(BODY, NOW, SECRET, URL);
    let hints = Hints {
        request_url: Some(URL),
        ..Hints::default()
    };
    let found = look_from(
        &square.scheme,
        &headers,
        BODY,
        &[secret(SECRET)],
        None,
        &hints,
    );
    assert_eq!(codes(&found), ["url_form", "url_missing"]);
    let found = look_from(
        &square.scheme,
        &headers,
        BODY,
        &[secret(SECRET)],
        None,
        &Hints::default(),
    );
    assert_eq!(codes(&found), ["url_missing", "no_match"]);
}

#[test]
fn fields_that_are_missing_repeated_or_malformed() {
    for sender in senders() {
        let found = look(&sender.scheme, &Headers::default(), BODY, &[secret(SECRET)]);
        let (code, says) = first(&found);
        assert_eq!(code, "header_missing", "{}", sender.name);
        assert!(says.ends_with("is not there."), "{says}");
        assert_eq!(codes(&found), ["header_missing", "no_match"]);

        let mut twice = sender.signed();
        let (name, value) = twice.iter().next().expect("a field");
        let (name, value) = (name.to_owned(), value.to_owned());
        twice.push(&name, value);
        let found = look(&sender.scheme, &twice, BODY, &[secret(SECRET)]);
        let says = format!("{name} came more than once, and nothing says which one counts.");
        assert!(
            codes(&found).contains(&"header_repeated"),
            "{}",
            sender.name
        );
        assert!(found.findings.iter().any(|f| f.says == says), "{found:?}");
        assert!(
            !codes(&found).contains(&"header_malformed"),
            "once is enough"
        );
    }
    let github = &senders()[0];
    let headers: Headers = [("x-hub-signature-256", "sha256=SEC-1")]
        .into_iter()
        .collect();
    let found = look(&github.scheme, &headers, BODY, &[secret(SECRET)]);
    assert_eq!(codes(&found), ["header_malformed", "no_match"]);
}

#[test]
fn signatures_that_are_written_otherwise() {
    let all = senders();
    let (github, stripe, shopify, standard) = (&all[0], &all[1], &all[3], &all[5]);
    let digest = hmac(SECRET.as_bytes(), &[BODY]);
    let (hexed, base64) = (hex(&digest), STANDARD.encode(&digest));
    let stripe_digest = hmac(SECRET.as_bytes(), &[NOW.as_bytes(), b".", BODY]);
    let raw = STANDARD.decode(SECRET).expect("base64");
    let standard_digest = hmac(&raw, &[b"msg_1.", NOW.as_bytes(), b".", BODY]);
    for (sender, name, value, how) in [
        (
            github,
            "x-hub-signature-256",
            format!("sha256={base64}"),
            "it is in base64 where hex is wanted",
        ),
        (
            github,
            "x-hub-signature-256",
            format!("sha256={}", hexed.to_uppercase()),
            "it is in upper case",
        ),
        (
            github,
            "x-hub-signature-256",
            hexed.clone(),
            "its prefix is another one",
        ),
        (
            github,
            "x-hub-signature-256",
            format!("sha1={hexed}"),
            "its prefix is another one",
        ),
        (
            github,
            "x-hub-signature-256",
            base64.clone(),
            "its prefix is another one, and hex is wanted",
        ),
        (
            github,
            "x-hub-signature-256",
            format!("\"sha256={hexed}\""),
            "white space or quotes stand around it",
        ),
        (
            shopify,
            "x-shopify-hmac-sha256",
            hexed.clone(),
            "it is in hex where base64 is wanted",
        ),
        (
            shopify,
            "x-shopify-hmac-sha256",
            format!("sha256={base64}"),
            "its prefix is another one",
        ),
        (
            shopify,
            "x-shopify-hmac-sha256",
            format!("sha256={hexed}"),
            "its prefix is another one, and base64 is wanted",
        ),
        (
            stripe,
            "stripe-signature",
            format!("t={NOW},v1={}", STANDARD.encode(&stripe_digest)),
            "it is in base64 where hex is wanted",
        ),
        (
            standard,
            "webhook-signature",
            format!("v1,{}", hex(&standard_digest)),
            "it is in hex where base64 is wanted",
        ),
        (
            standard,
            "webhook-signature",
            STANDARD.encode(&standard_digest),
            "its prefix is another one",
        ),
    ] {
        let mut headers = sender.signed();
        headers.set(name, value);
        let found = look(&sender.scheme, &headers, BODY, &[secret(SECRET)]);
        let says = format!("The signature in {name} is right, but {how}.");
        assert_eq!(first(&found), ("header_form", &*says), "{}", sender.name);
    }
}

#[test]
fn fields_under_another_name_and_other_senders() {
    let all = senders();
    // The right signature in a field that has another name.
    for sender in &all {
        let mut headers = sender.signed();
        let name = sender
            .scheme
            .header_names()
            .into_iter()
            .find(|n| n.contains("sig") || n.contains("hmac"));
        let name = name.expect("a signature");
        let value = headers.get(&name).expect("signed").to_owned();
        headers.remove(&name);
        headers.push("x-acme-signature", value);
        let found = look(&sender.scheme, &headers, BODY, &[secret(SECRET)]);
        let says =
            format!("The signature holds, but another field holds what belongs into {name}.");
        assert_eq!(first(&found), ("header_renamed", &*says), "{}", sender.name);
    }
    // A delivery of GitHub at another source, signed with a secret of that source.
    let other = Scheme::hmac_sha256_hex("x-acme", "");
    let found = look(&other, &all[0].signed(), BODY, &[secret(SECRET)]);
    assert_eq!(codes(&found), ["other_provider", "header_missing"]);
    assert!(first(&found).1.contains("GitHub"));
    // Another secret: all that can be said is whose fields they are.
    let foreign = all[0].headers(BODY, NOW, "another", URL);
    let found = look(&other, &foreign, BODY, &[secret(SECRET)]);
    let whose = found.findings.iter().find(|f| f.code == "other_headers");
    assert!(whose.expect("seen").says.contains("GitHub"));
    // Standard Webhooks at a source of GitHub, whose secret is the same text.
    let found = look(&all[0].scheme, &all[5].signed(), BODY, &[secret(SECRET)]);
    assert_eq!(codes(&found), ["other_provider", "header_missing"]);
    assert!(first(&found).1.contains("Standard Webhooks"));
}

#[test]
fn what_cannot_be_explained_says_how_much_was_tried() {
    for sender in senders() {
        let headers = sender.headers(BODY, NOW, "b3RoZXItb3RoZXItb3RoZXI=", URL);
        let found = look(&sender.scheme, &headers, BODY, &[secret(SECRET)]);
        assert_eq!(codes(&found), ["no_match"], "{}", sender.name);
        assert!(!found.explained);
        assert!(first(&found).1.contains(&format!("{} tries", found.tried)));
        assert_eq!(found.secret, None);
    }
}

#[test]
fn an_address_without_a_host_has_no_forms() {
    let square = &senders()[4];
    let headers = square.headers(BODY, NOW, SECRET, "https://elsewhere.example/");
    for configured in ["mailto:a", "data:,x", "https://"] {
        let found = look_from(
            &square.scheme,
            &headers,
            BODY,
            &[secret(SECRET)],
            Some(configured),
            &Hints::default(),
        );
        assert_eq!(codes(&found), ["no_match"], "{configured}");
    }
}

/// Every number, name and address is the one of Twilio's own tests.
#[test]
fn twilio_signs_the_address_and_the_fields_of_the_form() {
    let twilio = packs::by_name("twilio").expect("a pack");
    let headers: Headers = [
        ("x-twilio-signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        ("content-type", "application/x-www-form-urlencoded"),
    ]
    .into_iter()
    .collect();
    let body = b"CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212";
    let ask = |url: Option<&str>, token: &str| {
        let arrival = Arrival {
            method: "POST",
            target: "/myapp.php?foo=1&bar=2",
            public_url: url,
            headers: &headers,
            body,
            now_ms: NOW_MS,
        };
        explain(
            &twilio.scheme,
            &arrival,
            &[secret(token)],
            &Hints::default(),
        )
    };
    let right = "https://mycompany.com/myapp.php?foo=1&bar=2";
    assert_eq!(ask(Some(right), "12345").verdict, Verdict::Accepted);
    let found = ask(Some("http://mycompany.com/myapp.php?foo=1&bar=2"), "12345");
    assert_eq!(first(&found).0, "url_form", "{found:?}");
    let found = ask(Some("https://mycompany.com/other"), "12345");
    assert_eq!(first(&found).0, "url_form", "{found:?}");
    assert_eq!(first(&ask(None, "12345")).0, "url_missing");
    assert_eq!(first(&ask(Some(right), "12345 ")).0, "secret_form");
    assert_eq!(codes(&ask(Some(right), "54321")), ["no_match"]);
}

/// A delivery that nobody signed, at a source of every provider: something is said, and nothing leaks.
#[test]
fn every_pack_can_be_explained() {
    for pack in packs::names().filter_map(packs::by_name) {
        let key = match pack.scheme.key_form() {
            KeyForm::Ed25519Hex => {
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
            }
            KeyForm::Ed25519Base64 => "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
            _ => SECRET,
        };
        for sender in senders() {
            let found = look(&pack.scheme, &sender.signed(), BODY, &[secret(key)]);
            assert!(!found.findings.is_empty(), "{}", pack.name);
            let unsigned = !pack.scheme.is_signed();
            assert_eq!(
                found.verdict == Verdict::Unsigned,
                unsigned,
                "{}",
                pack.name
            );
        }
    }
}
