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
