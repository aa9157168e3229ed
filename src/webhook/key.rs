//! What names a delivery: the idempotency key.
//!
//! The accepted set is 1 to 255 visible ASCII characters (0x21 to 0x7E). `Idempotency-Key` is read
//! by these rules, in this order:
//!
//! 1. One field with one value. Two fields, also when a proxy has joined them, are refused.
//! 2. A value that begins with `"` is a Structured Field string; its parameters are ignored, and the
//!    key is what stands between the quotes, unescaped.
//! 3. Any other value is the key as it stands, character by character, and means the same key as
//!    its quoted form. It isn't read as a number, token or byte sequence: `123`, `a/b`, `:abc:`
//!    and `a;b=1` are keys. A quote within it is refused, since one was left open or not begun.
//!
//! Nothing is trimmed, cut or folded to one case, so that two different keys never become one.

use super::single;
use crate::limits::MAX_KEY_CHARS;
use crate::types::Headers;
use sfv::{BareItem, Item, Parser};
use std::fmt;

/// The field of the IETF draft.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Where a source looks for its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// The field `Idempotency-Key`: a Structured Field string, or a bare value.
    IdempotencyKey,
    /// A field whose whole value is the key, quotes and all.
    Header(String),
}

impl KeyRule {
    /// The name of the field, in lower case.
    pub fn header(&self) -> String {
        match self {
            Self::IdempotencyKey => IDEMPOTENCY_KEY.to_owned(),
            Self::Header(name) => name.to_ascii_lowercase(),
        }
    }

    fn read(&self, value: &str) -> Result<String, &'static str> {
        let key = match self {
            Self::IdempotencyKey => unquoted(value)?,
            Self::Header(_) => value.to_owned(),
        };
        check(&key)?;
        Ok(key)
    }
}

/// Why there is no key. Never holds the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyProblem {
    /// None of the fields is there.
    Missing {
        /// The fields that were looked for, in order.
        wanted: Vec<String>,
    },
    /// The first field that is there holds no key. Later fields are not tried: which one
    /// counts must not depend on a typing error.
    Malformed {
        /// Its name.
        header: String,
        /// What is wrong and what is wanted.
        why: &'static str,
    },
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { wanted } => {
                write!(f, "This request needs a key in {}.", wanted.join(" or "))
            }
            Self::Malformed { header, why } => write!(f, "{header}: {why}."),
        }
    }
}

/// The key of a delivery, by the first rule whose field is there.
///
/// # Errors
/// No field is there, or the first one that is there holds no key.
///
/// ```
/// use onceward::{types::Headers, webhook::{KeyRule, key::extract}};
/// let rules = [KeyRule::IdempotencyKey, KeyRule::Header("x-request-id".into())];
/// let quoted: Headers = [("Idempotency-Key", "\"order 7\"")].into_iter().collect();
/// let bare: Headers = [("X-Request-ID", "order-7")].into_iter().collect();
/// assert_eq!(extract(&rules, &bare).unwrap(), "order-7");
/// assert!(extract(&rules, &quoted).is_err(), "a space is not part of a key");
/// ```
pub fn extract(rules: &[KeyRule], headers: &Headers) -> Result<String, KeyProblem> {
    for rule in rules {
        let header = rule.header();
        let found = match single(headers, &header) {
            Ok(None) => continue,
            Ok(Some(value)) => rule.read(value),
            Err(_) => Err("the field came more than once; send it once"),
        };
        return found.map_err(|why| KeyProblem::Malformed { header, why });
    }
    Err(KeyProblem::Missing {
        wanted: rules.iter().map(KeyRule::header).collect(),
    })
}

/// Takes off the quotes of a Structured Field string; leaves a bare value as it is.
fn unquoted(value: &str) -> Result<String, &'static str> {
    if !value.starts_with('"') {
        if value.contains('"') {
            return Err("a quote stands within a bare value; quote the whole key or nothing");
        }
        return Ok(value.to_owned());
    }
    let item: Item = Parser::new(value)
        .parse()
        .map_err(|_| "wanted one quoted string, like \"8e03978e-40d5-43dd\"")?;
    match item.bare_item {
        BareItem::String(text) => Ok(text.into()),
        _ => Err("wanted one quoted string, like \"8e03978e-40d5-43dd\""),
    }
}

/// The alphabet and the length.
fn check(key: &str) -> Result<(), &'static str> {
    if key.is_empty() {
        return Err("the key is empty; wanted 1 to 255 visible ASCII characters");
    }
    if !key.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(
            "a character is a space, a control or not ASCII (or the field came more than once); wanted 1 to 255 visible ASCII characters",
        );
    }
    if key.len() > MAX_KEY_CHARS {
        return Err("the key is too long; wanted 1 to 255 visible ASCII characters");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> [KeyRule; 2] {
        [
            KeyRule::IdempotencyKey,
            KeyRule::Header("X-Request-ID".into()),
        ]
    }

    fn read(fields: &[(&str, &str)]) -> Result<String, KeyProblem> {
        extract(&rules(), &fields.iter().copied().collect())
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
                let Err(KeyProblem::Malformed { header, .. }) = &got else {
                    panic!("{value:?} gave {got:?}");
                };
                assert_eq!(header, "idempotency-key");
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
}
