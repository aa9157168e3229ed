//! draft-ietf-httpapi-idempotency-key-header-07, 2.1: the field and its value.

use onceward::http::code::Code;
use onceward::http::prefer::Prefer;
use onceward::http::profile::{CallRules, KeySyntax, Profile};
use onceward::types::{Headers, TaskKey, TaskKind};
use onceward::webhook::{Document, FingerprintMode, Pointer};
use std::collections::BTreeSet;

fn rules(key: KeySyntax) -> CallRules {
    CallRules {
        key,
        ..Profile::Ietf.rules()
    }
}

/// The key of a request with these fields; its status if there is none.
fn read(syntax: KeySyntax, fields: &[&str]) -> Result<String, u16> {
    let headers: Headers = fields.iter().map(|f| ("Idempotency-Key", *f)).collect();
    let key = rules(syntax).key_of(&headers, Prefer::default(), "fresh");
    key.map_err(|problem| {
        assert_eq!(problem.code, Code::KeyMalformed, "{fields:?}");
        problem.to_answer().status
    })
}

fn strict(field: &str) -> Result<String, u16> {
    read(KeySyntax::Strict, &[field])
}

#[test]
fn ietf_i_01_the_value_is_a_structured_field_string() {
    let text = |text: &str| Ok(text.to_owned());
    assert_eq!(strict("\"8e03978e-40d5-43dd\""), text("8e03978e-40d5-43dd"));
    assert_eq!(strict(" \"k\" "), text("k"));
    // The two escapes there are, and no other.
    assert_eq!(strict("\"a\\\"b\\\\c\""), text("a\"b\\c"));
    for wrong in [
        "\"a\\nb\"",
        "\"a\\",
        "\"a\\\"",
        "\"a\" b",
        "\"a",
        "a\"",
        "'a'",
        "\"é\"",
        "\"a\tb\"",
        "\"a\u{7f}\"",
    ] {
        assert_eq!(strict(wrong), Err(400), "{wrong:?}");
    }
}

#[test]
fn ietf_i_02_parameters_are_read_and_ignored() {
    for syntax in [KeySyntax::Strict, KeySyntax::Lenient] {
        for field in [
            "\"k\";a=1",
            "\"k\"; a=1; b=\"x\"; c",
            "\"k\";a=?0",
            "\"k\";a=:YQ==:",
        ] {
            assert_eq!(read(syntax, &[field]), Ok("k".to_owned()), "{field}");
        }
        for broken in ["\"k\";", "\"k\";A=1", "\"k\"; a=\"x"] {
            assert_eq!(read(syntax, &[broken]), Err(400), "{broken}");
        }
    }
}

#[test]
fn ietf_i_03_two_fields_a_list_a_token_a_number_and_bytes_are_no_strings() {
    let many: [&[&str]; 3] = [&["\"a\"", "\"a\""], &["\"a\"", "\"b\""], &["\"a\", \"b\""]];
    for fields in many {
        for syntax in [KeySyntax::Strict, KeySyntax::Lenient] {
            assert_eq!(read(syntax, fields), Err(400), "{fields:?}");
        }
    }
    for other in [
        "abc",
        "123",
        "1.5",
        ":YWJj:",
        "?1",
        "(\"a\")",
        "@1659578233",
        "%\"a\"",
        "a=\"k\"",
        "",
    ] {
        assert_eq!(strict(other), Err(400), "{other}");
    }
}

#[test]
fn ietf_i_04_a_bare_value_is_the_key_that_it_quotes_to() {
    for bare in [
        "abc",
        "123",
        "a/b",
        "a;b=1",
        ":YWJj:",
        "8e03978e-40d5-43dd",
        "?1",
    ] {
        let quoted = format!("\"{bare}\"");
        let lenient = |field: &str| read(KeySyntax::Lenient, &[field]);
        assert_eq!(lenient(bare), Ok(bare.to_owned()));
        assert_eq!(lenient(bare), lenient(&quoted));
        assert_eq!(strict(bare), Err(400));
    }
    for open in ["\"abc", "abc\"", "a\"c", "\""] {
        for syntax in [KeySyntax::Strict, KeySyntax::Lenient] {
            assert_eq!(read(syntax, &[open]), Err(400), "{open}");
        }
    }
}

#[test]
fn ietf_i_05_length_and_alphabet_hold_after_the_quotes_are_off() {
    let quoted = |n: usize| format!("\"{}\"", "k".repeat(n));
    assert!(strict(&quoted(1)).is_ok() && strict(&quoted(255)).is_ok());
    for wrong in [quoted(0), quoted(256), "\"a b\"".to_owned()] {
        assert_eq!(strict(&wrong), Err(400));
    }
    // What is refused is not told again.
    let headers: Headers = [("Idempotency-Key", "SEC RET")].into_iter().collect();
    let refused = rules(KeySyntax::Lenient).key_of(&headers, Prefer::default(), "r");
    let shown = format!("{:?}", refused.expect_err("refused"));
    assert!(!shown.contains("SEC"), "{shown}");
}

#[test]
fn ietf_i_10_scope_and_key_are_joined_without_ambiguity() {
    let kinds = [TaskKind::Source, TaskKind::Function];
    let words = ["a", "ab", "b", "", "a/b", "1"];
    let mut ids = BTreeSet::new();
    let mut count = 0;
    for kind in kinds {
        for name in words {
            for tenant in words {
                for key in words {
                    count += 1;
                    ids.insert(TaskKey::new(kind, name, tenant, key).task_id());
                }
            }
        }
    }
    assert_eq!(ids.len(), count);
}

#[test]
fn ietf_i_11_the_name_of_an_object_shows_nothing_of_the_key() {
    let key = "'; DROP TABLE tasks; --";
    let id = TaskKey::new(TaskKind::Function, "f", "", key).task_id();
    let name = id.to_string();
    assert_eq!(name.len(), 36);
    assert!(
        name.bytes()
            .all(|b| b == b'-' || b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    );
    let again = TaskKey::new(TaskKind::Function, "f", "", key).task_id();
    assert_eq!(id, again);
}

fn print(mode: &FingerprintMode, target: &str, body: &str) -> Option<String> {
    let document = Document::new(Some("application/json"), body.as_bytes());
    let print = mode.of("POST", target, &document).expect("a fingerprint");
    print.map(|print| print.hash)
}

#[test]
fn ietf_i_16_a_fingerprint_covers_all_or_what_is_chosen() {
    let pointer = |text| Pointer::new(text).expect("a pointer");
    let same = |mode: &FingerprintMode, one: &str, other: &str| {
        print(mode, "/t", one) == print(mode, "/t", other)
    };
    let (plain, spaced) = ("{\"a\":1,\"b\":2}", "{ \"b\": 2, \"a\": 1.0 }");
    let other = "{\"a\":1,\"b\":3}";
    assert!(same(&FingerprintMode::Raw, plain, plain));
    assert!(!same(&FingerprintMode::Raw, plain, spaced));
    assert!(same(&FingerprintMode::Canonical, plain, spaced));
    assert!(!same(&FingerprintMode::Canonical, plain, other));
    let only = FingerprintMode::Only(vec![pointer("/a")]);
    assert!(same(&only, plain, other) && !same(&only, plain, "{\"a\":2,\"b\":2}"));
    let except = FingerprintMode::Except(vec![pointer("/b")]);
    assert!(same(&except, plain, other) && !same(&except, plain, "{\"a\":2,\"b\":2}"));
    assert_eq!(print(&FingerprintMode::Off, "/t", plain), None);
}

#[test]
fn ietf_i_17_method_address_and_query_are_part_of_it() {
    let of = |method: &str, target: &str| {
        let document = Document::new(None, b"x");
        let print = FingerprintMode::Raw.of(method, target, &document);
        print.expect("a fingerprint").expect("one").hash
    };
    let all: BTreeSet<String> = [
        of("POST", "/a"),
        of("PATCH", "/a"),
        of("POST", "/b"),
        of("POST", "/a?b=1"),
        of("POST", "/a?b=2"),
    ]
    .into_iter()
    .collect();
    assert_eq!(all.len(), 5);
}
