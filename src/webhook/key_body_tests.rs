//! Keys in bodies, queries and of several parts.

use super::*;

/// What a delivery has, for keys to be looked for in.
struct Has<'a> {
    headers: &'a [(&'a str, &'a str)],
    target: &'a str,
    kind: Option<&'a str>,
    body: &'a str,
    material: Option<[u8; 32]>,
}

const JSON: Has<'static> = Has {
    headers: &[],
    target: "/hooks/shop",
    kind: Some("application/json"),
    body: "{}",
    material: None,
};

impl Has<'_> {
    fn key(&self, rules: &[KeyRule]) -> Result<String, KeyProblem> {
        let headers = self.headers.iter().copied().collect();
        let document = Document::new(self.kind, self.body.as_bytes());
        let from = KeySource {
            headers: &headers,
            target: self.target,
            document: &document,
            material: self.material,
        };
        extract(rules, &from)
    }
}

fn at(pointer: &str) -> KeyRule {
    KeyRule::Body(Pointer::new(pointer).expect("a pointer"))
}

fn in_json(body: &str, rules: &[KeyRule]) -> Result<String, KeyProblem> {
    Has { body, ..JSON }.key(rules)
}

fn sha(text: &str) -> String {
    format!("sha256-{}", hex(&Sha256::digest(text.as_bytes())))
}

fn is_missing(got: &Result<String, KeyProblem>) -> bool {
    matches!(got, Err(KeyProblem::Missing { .. }))
}

fn is_malformed(got: &Result<String, KeyProblem>) -> bool {
    matches!(got, Err(KeyProblem::Malformed { .. }))
}

#[test]
fn texts_and_numbers_are_keys() {
    let longest = "k".repeat(255);
    for (value, want) in [
        ("\"evt_1\"", "evt_1".to_owned()),
        ("\"a\\u0062c\"", "abc".to_owned()),
        ("\"!~\\\"\\\\\"", "!~\"\\".to_owned()),
        ("\"0\"", "0".to_owned()),
        (&format!("\"{longest}\""), longest.clone()),
        ("9007199254740993", "9007199254740993".to_owned()),
        ("18446744073709551615", "18446744073709551615".to_owned()),
        ("-7", "-7".to_owned()),
        ("1.50", "1.50".to_owned()),
        ("1E5", "1e+5".to_owned()),
        // Others by their hash.
        ("\"a b\"", sha("a b")),
        ("\" \"", sha(" ")),
        ("\"\\u00e9\"", sha("\u{e9}")),
        ("\"\\ud83d\\ude00\"", sha("\u{1f600}")),
        ("\"a\\u0000b\"", sha("a\0b")),
        ("\"a\\r\\nX-Evil: 1\"", sha("a\r\nX-Evil: 1")),
        (&format!("\"{longest}k\""), sha(&format!("{longest}k"))),
        (&"7".repeat(256), sha(&"7".repeat(256))),
        // And those that begin like a key which is made here.
        ("\"sha256-abc\"", sha("sha256-abc")),
        ("\"bytes-abc\"", sha("bytes-abc")),
        ("\"[1]\"", sha("[1]")),
        ("\"Sha256-abc\"", "Sha256-abc".to_owned()),
    ] {
        let body = format!("{{\"a\": {{\"id\": {value}}}}}");
        assert_eq!(in_json(&body, &[at("/a/id")]), Ok(want), "{value}");
    }
    let twice = sha("a b");
    let again = format!("{{\"id\": \"{twice}\"}}");
    assert_ne!(
        in_json(&again, &[at("/id")]),
        Ok(twice),
        "no text is taken for a hash"
    );
}

#[test]
fn the_pair_that_is_alike_in_255_characters_stays_apart() {
    let of = |last: &str| {
        in_json(
            &format!("{{\"id\":\"{}{last}\"}}", "k".repeat(299)),
            &[at("/id")],
        )
    };
    assert_ne!(of("a"), of("b"));
    assert!(of("a").is_ok_and(|key| key.len() == 71));
}

#[test]
fn what_is_there_and_no_key_is_malformed_and_nothing_else_is_tried() {
    let rules = [at("/id"), at("/other")];
    for value in [
        "null",
        "\"\"",
        "true",
        "false",
        "[]",
        "[\"a\"]",
        "{}",
        "{\"id\":1}",
    ] {
        let got = in_json(
            &format!("{{\"id\": {value}, \"other\": \"SEC-1\"}}"),
            &rules,
        );
        let Err(problem @ KeyProblem::Malformed { .. }) = &got else {
            panic!("{value}: {got:?}");
        };
        let text = problem.to_string();
        assert!(text.starts_with("/id of the body: "), "{text}");
        assert!(!text.contains("SEC"), "{text}");
    }
    let got = in_json("{\"other\": \"o\"}", &rules);
    assert_eq!(got.as_deref(), Ok("o"), "not there: the next");
    assert!(is_missing(&in_json("{}", &rules)));
    assert!(is_missing(&in_json("[]", &rules)));
    assert!(is_missing(&in_json("", &rules)));
}

#[test]
fn a_body_that_says_json_and_is_none_is_malformed() {
    for body in ["{", "<a/>", "{\"id\":1", &"[".repeat(5_000)] {
        assert!(is_malformed(&in_json(body, &[at("/id")])), "{body}");
        let headers = &[("X-Id", "7")][..];
        let rules = [KeyRule::Header("x-id".into()), at("/id")];
        let has = Has {
            headers,
            body,
            ..JSON
        };
        assert_eq!(
            has.key(&rules).as_deref(),
            Ok("7"),
            "not read where it is not asked for"
        );
    }
    let xml = Has {
        kind: Some("application/xml"),
        body: "<a/>",
        ..JSON
    };
    assert!(
        is_missing(&xml.key(&[at("/id")])),
        "there is nothing to look into"
    );
}

#[test]
fn fields_of_forms_are_keys() {
    let form = |body| Has {
        kind: Some("application/x-www-form-urlencoded"),
        body,
        ..JSON
    };
    let rules = [at("/MessageSid")];
    let key = |body| form(body).key(&rules);
    assert_eq!(key("MessageSid=SM1&Body=x").as_deref(), Ok("SM1"));
    assert_eq!(key("MessageSid=a+b"), Ok(sha("a b")));
    assert_eq!(key("MessageSid=%ZZ").as_deref(), Ok("%ZZ"));
    assert!(is_malformed(&key("MessageSid=")));
    assert!(
        is_malformed(&key("MessageSid=a&MessageSid=a")),
        "which one?"
    );
    assert!(is_malformed(&key("MessageSid=%FF")), "not a text");
    assert!(is_missing(&key("messagesid=a")));
}

#[test]
fn parameters_of_the_address_are_keys() {
    let rules = [KeyRule::Query("id".to_owned())];
    let key = |target| Has { target, ..JSON }.key(&rules);
    for (target, want) in [
        ("/hooks/a?id=7", "7".to_owned()),
        ("/hooks/a?x=1&id=a%2Fb&y", "a/b".to_owned()),
        ("/hooks/a?id=a+b", sha("a b")),
        ("/hooks/a?id=sha256-1", sha("sha256-1")),
        ("/hooks/a?i%64=7#id=8", "7".to_owned()),
        ("/hooks/a?id=?", "?".to_owned()),
    ] {
        assert_eq!(key(target), Ok(want), "{target}");
    }
    for target in [
        "/hooks/a?id=",
        "/hooks/a?id",
        "/hooks/a?id=1&id=1",
        "/hooks/a?id=%FF",
    ] {
        assert!(is_malformed(&key(target)), "{target}");
    }
    for target in [
        "/hooks/id=7",
        "/hooks/a",
        "/hooks/a?ID=7",
        "/hooks/a?",
        "/hooks/a#?id=7",
    ] {
        assert!(is_missing(&key(target)), "{target}");
    }
}

#[test]
fn signed_bytes_are_a_key_where_there_are_some() {
    let rules = [KeyRule::SignedBytes];
    let some = Has {
        material: Some([0xab; 32]),
        ..JSON
    };
    assert_eq!(some.key(&rules), Ok(format!("bytes-{}", "ab".repeat(32))));
    assert!(is_missing(&JSON.key(&rules)));
}

#[test]
fn strict_keys_are_quoted() {
    let key = |value| {
        let headers = &[("Idempotency-Key", value)][..];
        Has { headers, ..JSON }.key(&[KeyRule::IdempotencyKeyStrict])
    };
    for (value, want) in [
        ("\"k\"", "k"),
        ("\"k\";a=1", "k"),
        ("\"a\\\"b\"", "a\"b"),
        ("  \"k\" ", "k"),
    ] {
        assert_eq!(key(value).as_deref(), Ok(want), "{value:?}");
    }
    for value in [
        "k",
        "7",
        "1.5",
        ":YQ==:",
        "?1",
        "",
        "\"\"",
        "\"a b\"",
        "\"a\", \"b\"",
        "(\"a\")",
        "\"a",
        "@1",
        "k;a=1",
    ] {
        assert!(is_malformed(&key(value)), "{value:?}");
    }
}

/// F28: half a key is none.
#[test]
fn incomplete_composites_are_refused() {
    let rules = [
        KeyRule::All(vec![at("/user/uid"), at("/order_id")]),
        at("/fallback"),
    ];
    for (body, want_missing) in [
        ("{}", true),
        ("{\"user\":{}}", true),
        ("{\"user\":{\"uid\":1}}", true),
        ("{\"order_id\":1}", true),
        ("{\"order_id\":1,\"fallback\":\"f\"}", true),
        ("{\"user\":{\"uid\":null},\"order_id\":1}", false),
        ("{\"user\":{\"uid\":\"\"},\"order_id\":1}", false),
        ("{\"user\":{\"uid\":null}}", false),
        ("{\"user\":{\"uid\":[1]},\"order_id\":1}", false),
    ] {
        let got = in_json(body, &rules);
        assert_eq!(is_missing(&got), want_missing, "{body}: {got:?}");
        assert_eq!(is_malformed(&got), !want_missing, "{body}: {got:?}");
    }
    let whole = in_json("{\"user\":{\"uid\":\"u\"},\"order_id\":1}", &rules);
    assert_eq!(whole.as_deref(), Ok("[\"u\",1]"));
    let none = in_json("{\"fallback\":\"f\"}", &rules);
    assert_eq!(
        none.as_deref(),
        Ok("f"),
        "no part of it is there: the next rule"
    );
    let text = in_json("{\"order_id\":1}", &rules)
        .expect_err("refused")
        .to_string();
    assert_eq!(text, "This request needs a key in /user/uid of the body.");
}

#[test]
fn parts_are_joined_so_that_nothing_is_confused() {
    let rules = [KeyRule::All(vec![at("/a"), at("/b")])];
    let key =
        |a: &str, b: &str| in_json(&format!("{{\"a\":{a},\"b\":{b}}}"), &rules).expect("a key");
    let keys = [
        key("1", "2"),
        key("\"1\"", "2"),
        key("1", "\"2\""),
        key("\"1\"", "\"2\""),
        key("12", "\"\\u0020\""),
        key("\"1,2\"", "\"x\""),
        key("\"1\"", "\"2,x\""),
        key("\"1\\\",\\\"2\"", "\"x\""),
        key("\"\\\\\"", "\"\\\"\""),
        key("\"\\\\\\\"\"", "\"x\""),
        key("\"\\u00e9\"", "1"),
        key("\"\\\\u00e9\"", "1"),
        key("1.0", "2"),
    ];
    let apart: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!(apart.len(), keys.len(), "{keys:?}");
    assert_eq!(
        key("\"\\u00e9 \\ud83d\\ude00\"", "1"),
        "[\"\\u00e9\\u0020\\ud83d\\ude00\",1]"
    );
    for key in &keys {
        assert!(check(key).is_ok(), "{key}");
        assert!(serde_json::from_str::<Value>(key).is_ok(), "{key}");
    }
    let long = key(&format!("\"{}\"", "k".repeat(300)), "1");
    assert_eq!(long, sha(&format!("[\"{}\",1]", "k".repeat(300))));
}

#[test]
fn parts_come_from_anywhere() {
    let rules = [KeyRule::All(vec![
        KeyRule::Header("X-Shop".into()),
        KeyRule::Query("v".into()),
        KeyRule::All(vec![at("/a"), KeyRule::SignedBytes]),
        KeyRule::IdempotencyKey,
    ])];
    let has = Has {
        headers: &[("x-shop", "s"), ("Idempotency-Key", "\"k\"")],
        target: "/hooks/a?v=2",
        body: "{\"a\": 7}",
        material: Some([1; 32]),
        ..JSON
    };
    let want = format!("[\"s\",\"2\",[7,\"bytes-{}\"],\"k\"]", "01".repeat(32));
    assert_eq!(has.key(&rules), Ok(want));
    assert_eq!(rules[0].header_names(), ["x-shop", "idempotency-key"]);
    assert!(rules[0].reads_body() && !KeyRule::SignedBytes.reads_body());
    let place =
        "x-shop and v of the query and /a of the body and the signed bytes and idempotency-key";
    assert_eq!(rules[0].place(), place);
    assert_eq!(at("").place(), "the body");
    // A field can be a part of a key with spaces in it, but not empty or twice.
    let spaced = Has {
        headers: &[("x-shop", "Push Hook"), ("Idempotency-Key", "k")],
        ..has
    };
    let key = spaced.key(&rules).expect("a key");
    assert!(key.starts_with("[\"Push\\u0020Hook\","), "{key}");
    for bad in [&[("x-shop", "")][..], &[("x-shop", "a"), ("x-shop", "b")]] {
        let fields = [bad, &[("Idempotency-Key", "k")]].concat();
        let bad = Has {
            headers: &fields,
            ..has
        };
        assert!(is_malformed(&bad.key(&rules)), "{fields:?}");
    }
}
