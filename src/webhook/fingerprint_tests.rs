//! What is equal under one key.

use super::*;

#[test]
fn value_is_fixed() {
    // Computed with Python's hashlib. A change here would refuse every duplicate of a stored task.
    assert_eq!(
        raw("POST", "/hooks/inbox?a=1", b"{\"n\":1}"),
        "2d6bfd358b62373a31235c2ced7ac2be258aaaa4a00d42363a7dac5f1261ae59"
    );
}

#[test]
fn every_part_and_every_border_counts() {
    let base = raw("POST", "/a", b"bc");
    for (method, target, body) in [
        ("PUT", "/a", &b"bc"[..]),
        ("POST", "/ab", b"c"),
        ("POST", "/a", b"bd"),
        ("POST", "/a?", b"bc"),
        ("POST/", "a", b"bc"),
        ("POST", "/a", b"bc\n"),
        ("POST", "/abc", b""),
    ] {
        assert_ne!(
            base,
            raw(method, target, body),
            "{method} {target} {body:?}"
        );
    }
    assert_eq!(base, raw("POST", "/a", b"bc"));
}

const JSON: Option<&str> = Some("application/json");

fn pointers(texts: &[&str]) -> Vec<Pointer> {
    let read = |text: &&str| Pointer::new(text).expect("a pointer");
    texts.iter().map(read).collect()
}

fn of(mode: &FingerprintMode, kind: Option<&str>, body: &str) -> Fingerprint {
    let document = Document::new(kind, body.as_bytes());
    let print = mode.of("POST", "/hooks/a", &document).expect("readable");
    print.expect("a fingerprint")
}

fn names(print: &Fingerprint) -> Vec<&str> {
    print.parts.iter().map(|(name, _)| name.as_str()).collect()
}

fn differs<'p>(a: &'p Fingerprint, b: &Fingerprint) -> Vec<&'p str> {
    let other = a.parts.iter().filter(|part| !b.parts.contains(part));
    other.map(|(name, _)| name.as_str()).collect()
}

#[test]
fn canonical_compares_what_a_body_means() {
    let canonical = FingerprintMode::Canonical;
    let base = of(
        &canonical,
        JSON,
        r#"{"a": 1.0, "b": [1, null], "c": {"d": "é"}}"#,
    );
    for same in [
        r#"{"a":1,"b":[1,null],"c":{"d":"é"}}"#,
        "{\n\"c\": {\"d\": \"\\u00e9\"}, \"b\": [1, null], \"a\": 10e-1}",
        r#"{"a": 7, "b": [1, null], "c": {"d": "é"}, "a": 1}"#,
    ] {
        assert_eq!(of(&canonical, JSON, same), base, "{same}");
        assert_eq!(of(&canonical, None, same), base, "{same}");
    }
    for other in [
        r#"{"a": 2, "b": [1, null], "c": {"d": "é"}}"#,
        r#"{"a": "1", "b": [1, null], "c": {"d": "é"}}"#,
        r#"{"a": 1, "b": [null, 1], "c": {"d": "é"}}"#,
        r#"{"a": 1, "b": [1], "c": {"d": "é"}}"#,
        r#"{"a": 1, "b": [1, null], "c": {"d": "e"}}"#,
        r#"{"a": 1, "b": [1, null], "c": {"d": "é"}, "e": null}"#,
        r#"{"b": [1, null], "c": {"d": "é"}}"#,
    ] {
        assert_ne!(of(&canonical, JSON, other).hash, base.hash, "{other}");
    }
    let ids = |id: u64| of(&canonical, JSON, &format!("{{\"id\": {id}}}")).hash;
    assert_ne!(ids(9_007_199_254_740_993), ids(9_007_199_254_740_992));
}

#[test]
fn every_mode_compares_method_and_target() {
    let document = Document::new(JSON, br#"{"a": 1}"#);
    for mode in [
        FingerprintMode::Raw,
        FingerprintMode::Canonical,
        FingerprintMode::Only(pointers(&["/a"])),
        FingerprintMode::Except(pointers(&["/a"])),
    ] {
        let of = |method, target| {
            let print = mode.of(method, target, &document).expect("readable");
            print.expect("a fingerprint")
        };
        let base = of("POST", "/hooks/a");
        assert_eq!(differs(&of("PUT", "/hooks/a"), &base), ["method"]);
        assert_eq!(differs(&of("POST", "/hooks/a?x=1"), &base), ["target"]);
        assert_ne!(of("PUT", "/hooks/a").hash, base.hash);
        assert_ne!(of("POST", "/hooks/a?x=1").hash, base.hash);
        assert_eq!(base.hash.len(), 64);
    }
}

/// F26: amount and note.
#[test]
fn only_compares_what_is_named() {
    let amount = FingerprintMode::Only(pointers(&["/amount", "/a/b"]));
    let base = of(&amount, JSON, r#"{"amount": 1, "note": "a"}"#);
    assert_eq!(of(&amount, JSON, r#"{"note": "b", "amount": 1.0}"#), base);
    assert_eq!(of(&amount, JSON, r#"{"amount": 1, "a": {"c": 1}}"#), base);
    let other = of(&amount, JSON, r#"{"amount": 2, "note": "a"}"#);
    assert_eq!(differs(&other, &base), ["/amount"]);
    for (body, name) in [
        (r#"{"amount": 1, "a": {"b": null}}"#, "/a/b"),
        (r#"{"amount": 1, "a": {"b": ""}}"#, "/a/b"),
        (r#"{"amount": null}"#, "/amount"),
        ("{}", "/amount"),
    ] {
        let other = of(&amount, JSON, body);
        assert_eq!(differs(&other, &base), [name], "{body}");
        assert_ne!(other.hash, base.hash, "{body}");
    }
    // In whatever order, and however often, they are written in the configuration.
    let again = FingerprintMode::Only(pointers(&["/a/b", "/amount", "/a/b"]));
    assert_eq!(of(&again, JSON, r#"{"amount": 1}"#), base);
}

#[test]
fn except_compares_everything_else() {
    let mode = FingerprintMode::Except(pointers(&["/sent_at", "/meta/try"]));
    let base = of(
        &mode,
        JSON,
        r#"{"a": 1, "sent_at": 5, "meta": {"try": 1, "id": 2}}"#,
    );
    assert_eq!(names(&base), ["method", "target", "/a", "/meta"]);
    for same in [
        r#"{"a": 1, "sent_at": 6, "meta": {"try": 2, "id": 2}}"#,
        r#"{"meta": {"id": 2}, "a": 1}"#,
    ] {
        assert_eq!(of(&mode, JSON, same), base, "{same}");
    }
    let other = of(&mode, JSON, r#"{"a": 1, "meta": {"try": 1, "id": 3}}"#);
    assert_eq!(differs(&other, &base), ["/meta"]);
    assert_ne!(other.hash, base.hash);
}

#[test]
fn forms_are_compared_field_by_field() {
    let form = Some("application/x-www-form-urlencoded");
    let canonical = FingerprintMode::Canonical;
    let base = of(&canonical, form, "a=1&b=x+y&a=2");
    assert_eq!(of(&canonical, form, "b=x%20y&a=1&a=2"), base);
    assert_ne!(
        of(&canonical, form, "a=2&b=x+y&a=1").hash,
        base.hash,
        "in their order"
    );
    assert_eq!(names(&base), ["method", "target", "/a", "/b"]);
    let json = of(&canonical, JSON, r#"{"a": ["1", "2"], "b": "x y"}"#);
    assert_ne!(json.hash, base.hash, "another kind of body");
    let only = FingerprintMode::Only(pointers(&["/a"]));
    assert_eq!(of(&only, form, "a=1&b=1"), of(&only, form, "b=2&a=1"));
}

/// What is no document is compared byte by byte, or refused where its parts are asked for.
#[test]
fn other_bodies_are_compared_whole_or_refused() {
    let except = FingerprintMode::Except(pointers(&["/a"]));
    for mode in [FingerprintMode::Canonical, except] {
        for (kind, body) in [(Some("application/xml"), "<a/>"), (None, "x"), (JSON, "")] {
            let print = of(&mode, kind, body);
            assert_eq!(print.hash, raw("POST", "/hooks/a", body.as_bytes()));
            assert_eq!(names(&print), ["method", "target", ""]);
        }
        let broken = Document::new(JSON, b"{");
        assert!(mode.of("POST", "/", &broken).is_err());
        let deep = b"[".repeat(5_000);
        let fault = mode.of("POST", "/", &Document::new(None, &deep));
        assert_eq!(fault, Err(DocumentFault::TooDeep));
    }
    let only = FingerprintMode::Only(pointers(&["/a"]));
    for (kind, body, want) in [
        (Some("application/xml"), &b"<a/>"[..], DocumentFault::Opaque),
        (JSON, b"", DocumentFault::Empty),
        (
            Some("application/x-www-form-urlencoded"),
            b"a=%FF",
            DocumentFault::NotUtf8,
        ),
    ] {
        assert_eq!(only.of("POST", "/", &Document::new(kind, body)), Err(want));
    }
}

#[test]
fn raw_names_members_and_is_never_refused() {
    let raw_of = |kind, body: &str| of(&FingerprintMode::Raw, kind, body);
    let base = raw_of(JSON, r#"{"a": 1, "b/c": 2}"#);
    assert_eq!(names(&base), ["method", "target", "/a", "/b~1c"]);
    let spaced = raw_of(JSON, r#"{"b/c":2,"a":1}"#);
    assert_eq!(
        (&spaced.parts, spaced.hash == base.hash),
        (&base.parts, false)
    );
    assert_eq!(
        differs(&raw_of(JSON, r#"{"a": 1, "b/c": 3}"#), &base),
        ["/b~1c"]
    );
    for (kind, body) in [
        (JSON, "{"),
        (JSON, "[1]"),
        (None, "x"),
        (JSON, ""),
        (JSON, "7"),
    ] {
        assert_eq!(
            names(&raw_of(kind, body)),
            ["method", "target", ""],
            "{body:?}"
        );
    }
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(MAX_LOOKED_INTO_BYTES));
    assert_eq!(names(&raw_of(JSON, &large)), ["method", "target", ""]);
    let fits = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_LOOKED_INTO_BYTES - 8));
    assert_eq!(names(&raw_of(JSON, &fits)), ["method", "target", "/a"]);
}

#[test]
fn many_and_long_members_are_one_part() {
    let long = "n".repeat(MAX_PART_NAME_BYTES + 1);
    let body = |n: usize, last: u8| {
        let mut members: Vec<String> = (0..n).map(|i| format!("\"m{i:03}\":0")).collect();
        members.push(format!("\"{long}\":{last}"));
        format!("{{{}}}", members.join(","))
    };
    let canonical = FingerprintMode::Canonical;
    let few = of(&canonical, JSON, &body(2, 0));
    assert_eq!(names(&few), ["method", "target", "/m000", "/m001", REST]);
    let other = of(&canonical, JSON, &body(2, 1));
    assert_eq!(differs(&other, &few), [REST]);
    let many = of(&canonical, JSON, &body(5_000, 0));
    assert_eq!(many.parts.len(), 2 + MAX_PARTS + 1);
    assert!(many.parts.iter().all(|(_, hash)| hash.len() == 8));
    let text = serde_json::to_string(&many.parts).expect("JSON");
    assert!(text.len() < 3_000, "{} bytes of a row", text.len());
    // What is left out of the rest is not part of it.
    let except = FingerprintMode::Except(vec![Pointer::new(&format!("/{long}/x")).expect("one")]);
    let with = |x: u8| of(&except, JSON, &format!("{{\"{long}\":{{\"x\":{x}}}}}"));
    assert_eq!(with(1), with(2));
}
