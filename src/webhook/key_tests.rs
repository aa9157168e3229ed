//! Keys in header fields: what is accepted.

use super::*;

fn rules() -> [KeyRule; 2] {
    [
        KeyRule::IdempotencyKey,
        KeyRule::Header("X-Request-ID".into()),
    ]
}

fn read(fields: &[(&str, &str)]) -> Result<String, KeyProblem> {
    let document = Document::new(None, b"");
    let from = KeySource {
        headers: &fields.iter().copied().collect(),
        target: "/",
        document: &document,
        material: None,
    };
    extract(&rules(), &from)
}

#[test]
fn accepted_values() {
    let longest = "k".repeat(255);
    let quoted_longest = format!("\"{longest}\"");
    let escaped_longest = format!("\"{}\"", "\\\\".repeat(255));
    let backslashes = "\\".repeat(255);
    for (value, want) in [
        ("k", "k"),
        ("\"k\"", "k"),
        ("\"k\";a=1;b=?0", "k"),
        (
            "8e03978e-40d5-43dd-bc93-6894a57f9324",
            "8e03978e-40d5-43dd-bc93-6894a57f9324",
        ),
        ("123", "123"),
        ("-1.50", "-1.50"),
        ("a/b", "a/b"),
        (":abc:", ":abc:"),
        ("?1", "?1"),
        ("a;b=1", "a;b=1"),
        ("a,b", "a,b"),
        ("(a)", "(a)"),
        ("../../x", "../../x"),
        ("%00", "%00"),
        ("'k'", "'k'"),
        ("a\\b", "a\\b"),
        ("\"a\\\"b\"", "a\"b"),
        ("\"a\\\\b\"", "a\\b"),
        ("!", "!"),
        ("~", "~"),
        ("K", "K"),
        (&longest, &longest),
        (&quoted_longest, &longest),
        (&escaped_longest, &backslashes),
    ] {
        let got = read(&[("Idempotency-Key", value)]);
        assert_eq!(got.as_deref(), Ok(want), "{value:?}");
    }
}

#[test]
fn malformed_values() {
    let long = "k".repeat(256);
    let quoted_long = format!("\"{long}\"");
    let very_long = "k".repeat(10_000);
    for value in [
        "",
        " ",
        "   ",
        "\"\"",
        "\" \"",
        "a b",
        "a\tb",
        "\t",
        " a",
        "a ",
        "\"a b\"",
        "\" a\"",
        "\"a",
        "a\"",
        "a\"b",
        "\"",
        "\"\"\"",
        "\"a\\\"",
        "\"a\\b\"",
        "\"a\" b",
        "\"a\", \"b\"",
        "\"a\",\"b\"",
        "a, b",
        "\"a\", b",
        "\"a\";",
        "\"a\";A=1",
        "é",
        "\"é\"",
        "ключ",
        "🔑",
        "a\u{0}b",
        "a\u{7f}",
        "a\r\nX-Evil: 1",
        &long,
        &quoted_long,
        &very_long,
    ] {
        for fields in [
            &[("Idempotency-Key", value)][..],
            // No fallback to a good second field.
            &[("Idempotency-Key", value), ("X-Request-ID", "good")][..],
        ] {
            let got = read(fields);
            let Err(KeyProblem::Malformed { field, .. }) = &got else {
                panic!("{value:?} gave {got:?}");
            };
            assert_eq!(field, "idempotency-key");
        }
    }
}

#[test]
fn the_first_field_that_is_there_decides() {
    assert_eq!(read(&[("x-request-id", "r")]).as_deref(), Ok("r"));
    let both = [("X-Request-ID", "r"), ("Idempotency-Key", "i")];
    assert_eq!(read(&both).as_deref(), Ok("i"));
    let wanted = vec!["idempotency-key".to_owned(), "x-request-id".to_owned()];
    assert_eq!(
        read(&[("x-other", "r")]),
        Err(KeyProblem::Missing { wanted })
    );
}

#[test]
fn a_repeated_field_is_malformed_even_if_both_are_equal() {
    let twice = [("Idempotency-Key", "a"), ("idempotency-key", "a")];
    assert!(matches!(read(&twice), Err(KeyProblem::Malformed { .. })));
    let twice = [("X-Request-ID", "a"), ("x-request-id", "a")];
    assert!(matches!(read(&twice), Err(KeyProblem::Malformed { .. })));
}

#[test]
fn other_fields_are_taken_as_they_are() {
    let of = |value| read(&[("X-Request-ID", value)]);
    assert_eq!(of("\"a\"").as_deref(), Ok("\"a\""));
    assert_eq!(of("a\"").as_deref(), Ok("a\""));
    for value in ["", "a b", "a, b", "é", &"k".repeat(256)] {
        assert!(
            matches!(of(value), Err(KeyProblem::Malformed { .. })),
            "{value:?}"
        );
    }
}

#[test]
fn problems_say_what_is_wanted_and_never_the_value() {
    let text = |fields: &[_]| read(fields).expect_err("refused").to_string();
    assert_eq!(
        text(&[]),
        "This request needs a key in idempotency-key or x-request-id."
    );
    let malformed = text(&[("Idempotency-Key", "SEC-1 SEC-2")]);
    assert!(malformed.contains("1 to 255 visible ASCII"), "{malformed}");
    assert!(!malformed.contains("SEC-"), "{malformed}");
}
