//! What names a delivery: the idempotency key. See `docs/keys.md`.
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
//!    [`KeyRule::IdempotencyKeyStrict`] refuses every bare value.
//!
//! Nothing is trimmed, cut or folded to one case, so that two different keys never become one.
//!
//! What stands in a body or a query is chosen by no rule of ours. A text of 1 to 255 visible ASCII
//! characters is the key as it stands, a number is its digits as they were written; any other text,
//! and one that begins like a key which is made here, is named by its hash.

use super::composite;
use super::document::{Document, DocumentFault};
use super::pointer::Pointer;
use super::{hex, single};
use crate::limits::MAX_KEY_CHARS;
use crate::types::Headers;
use serde_json::Value;
use sfv::{BareItem, Item, Parser};
use sha2::{Digest, Sha256};
use std::fmt;
use url::form_urlencoded;

/// The field of the IETF draft.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// How keys begin that are made of a hash, of signed bytes and of several parts.
const HASHED: &str = "sha256-";
const SIGNED: &str = "bytes-";
const JOINED: &str = "[";

/// Where a source looks for its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// The field `Idempotency-Key`: a Structured Field string, or a bare value.
    IdempotencyKey,
    /// The field `Idempotency-Key`: a Structured Field string and nothing else, as the IETF draft has it.
    IdempotencyKeyStrict,
    /// A field whose whole value is the key, quotes and all.
    Header(String),
    /// A parameter of the address.
    Query(String),
    /// A text or number in the body: JSON, or a field of a form as `/name`.
    Body(Pointer),
    /// The hash of the bytes that were signed, where the signature proves some.
    SignedBytes,
    /// All of these together.
    All(Vec<KeyRule>),
    /// All of these together, or nothing: where one is missing, the next rule is asked. For senders
    /// whose signature holds and whose events differ in what they say.
    Whole(Vec<KeyRule>),
}

impl KeyRule {
    /// Names of the header fields that it reads, in lower case.
    pub fn header_names(&self) -> Vec<String> {
        match self {
            Self::IdempotencyKey | Self::IdempotencyKeyStrict => vec![IDEMPOTENCY_KEY.to_owned()],
            Self::Header(name) => vec![name.to_ascii_lowercase()],
            Self::Query(_) | Self::Body(_) | Self::SignedBytes => Vec::new(),
            Self::All(parts) | Self::Whole(parts) => {
                parts.iter().flat_map(Self::header_names).collect()
            }
        }
    }

    /// True if it looks into the body.
    pub fn reads_body(&self) -> bool {
        match self {
            Self::Body(_) => true,
            Self::All(parts) | Self::Whole(parts) => parts.iter().any(Self::reads_body),
            Self::IdempotencyKey
            | Self::IdempotencyKeyStrict
            | Self::Header(_)
            | Self::Query(_)
            | Self::SignedBytes => false,
        }
    }

    /// Where it looks, for people.
    ///
    /// ```
    /// use onceward::webhook::{KeyRule, Pointer};
    /// let order = KeyRule::Body(Pointer::new("/order/id").unwrap());
    /// let both = KeyRule::All(vec![KeyRule::Header("X-Shop".into()), order]);
    /// assert_eq!(both.place(), "x-shop and /order/id of the body");
    /// ```
    pub fn place(&self) -> String {
        match self {
            Self::IdempotencyKey | Self::IdempotencyKeyStrict => IDEMPOTENCY_KEY.to_owned(),
            Self::Header(name) => name.to_ascii_lowercase(),
            Self::Query(name) => format!("{name} of the query"),
            Self::Body(pointer) if pointer.tokens().is_empty() => "the body".to_owned(),
            Self::Body(pointer) => format!("{pointer} of the body"),
            Self::SignedBytes => "the signed bytes".to_owned(),
            Self::All(parts) | Self::Whole(parts) => {
                let places: Vec<String> = parts.iter().map(Self::place).collect();
                places.join(" and ")
            }
        }
    }

    /// What stands there; `None` if nothing does.
    pub(super) fn find(&self, from: &KeySource<'_>) -> Result<Option<Part>, KeyProblem> {
        let found = match self {
            Self::IdempotencyKey => field(from, IDEMPOTENCY_KEY, unquoted),
            Self::IdempotencyKeyStrict => field(from, IDEMPOTENCY_KEY, quoted),
            Self::Header(name) => field(from, name, |value| Ok(value.to_owned())),
            Self::Query(name) => parameter(from.target, name),
            Self::Body(pointer) => in_body(from.document, pointer),
            Self::SignedBytes => Ok(from
                .material
                .map(|hash| Part::Key(format!("{SIGNED}{}", hex(&hash))))),
            Self::All(parts) => return composite::find(parts, from),
            Self::Whole(parts) => return composite::find_whole(parts, from),
        };
        found.map_err(|why| KeyProblem::Malformed {
            field: self.place(),
            why,
        })
    }
}

/// What keys are looked for in.
#[derive(Clone, Copy, Debug)]
pub struct KeySource<'a> {
    /// All fields.
    pub headers: &'a Headers,
    /// Path and query as sent.
    pub target: &'a str,
    /// The body.
    pub document: &'a Document<'a>,
    /// SHA-256 over the bytes that the signature proves, if it proves any.
    pub material: Option<[u8; 32]>,
}

/// What a rule has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A key as it stands.
    Key(String),
    /// A text that somebody wrote for another purpose.
    Text(String),
    /// Digits as they were written.
    Number(String),
    /// Several, joined.
    Joined(String),
}

impl Part {
    fn into_key(self) -> String {
        match self {
            Self::Key(key) => key,
            Self::Text(text) => literal(text),
            Self::Number(text) | Self::Joined(text) => short(text),
        }
    }
}

/// A text as a key. One that begins like a key which is made here is hashed, so that none is mistaken
/// for another.
fn literal(text: String) -> String {
    let made = [HASHED, SIGNED, JOINED].iter().any(|m| text.starts_with(m));
    if made || check(&text).is_err() {
        return hashed(&text);
    }
    text
}

fn short(text: String) -> String {
    if text.len() > MAX_KEY_CHARS {
        return hashed(&text);
    }
    text
}

fn hashed(text: &str) -> String {
    format!("{HASHED}{}", hex(&Sha256::digest(text.as_bytes())))
}

/// Why there is no key. Never holds the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyProblem {
    /// None of the places holds anything, or a key of several parts lacks some.
    Missing {
        /// Where it was looked for, in order.
        wanted: Vec<String>,
    },
    /// The first place that holds something holds no key. Later ones are not tried: which one
    /// counts must not depend on a typing error.
    Malformed {
        /// Where.
        field: String,
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
            Self::Malformed { field, why } => write!(f, "{field}: {why}."),
        }
    }
}

/// The key of a delivery, by the first rule whose place holds something.
///
/// # Errors
/// No place holds anything, or the first one that does holds no key.
///
/// ```
/// use onceward::types::Headers;
/// use onceward::webhook::{Document, KeyRule, KeySource, Pointer, key::extract};
/// let rules = [KeyRule::IdempotencyKey, KeyRule::Body(Pointer::new("/id").unwrap())];
/// let key = |name, value, body: &str| {
///     let headers: Headers = [(name, value)].into_iter().collect();
///     let document = Document::new(Some("application/json"), body.as_bytes());
///     extract(&rules, &KeySource { headers: &headers, target: "/", document: &document, material: None })
/// };
/// assert_eq!(key("Idempotency-Key", "\"order-7\"", "{}").unwrap(), "order-7");
/// assert_eq!(key("X-Other", "1", r#"{"id": 9007199254740993}"#).unwrap(), "9007199254740993");
/// assert!(key("Idempotency-Key", "order 7", "{}").is_err(), "a space is not part of a key");
/// assert!(key("X-Other", "1", r#"{"id": null}"#).is_err());
/// ```
pub fn extract(rules: &[KeyRule], from: &KeySource<'_>) -> Result<String, KeyProblem> {
    for rule in rules {
        if let Some(part) = rule.find(from)? {
            return Ok(part.into_key());
        }
    }
    Err(KeyProblem::Missing {
        wanted: rules.iter().map(KeyRule::place).collect(),
    })
}

fn field(
    from: &KeySource<'_>,
    name: &str,
    read: impl Fn(&str) -> Result<String, &'static str>,
) -> Result<Option<Part>, &'static str> {
    let value =
        single(from.headers, name).map_err(|_| "the field came more than once; send it once")?;
    let Some(value) = value else { return Ok(None) };
    let key = read(value)?;
    check(&key)?;
    Ok(Some(Part::Key(key)))
}

fn parameter(target: &str, name: &str) -> Result<Option<Part>, &'static str> {
    let target = target.split('#').next().unwrap_or("");
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let mut values = form_urlencoded::parse(query.as_bytes())
        .filter(|(n, _)| n == name)
        .map(|(_, value)| value);
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err("the parameter came more than once; send it once");
    }
    if value.is_empty() {
        return Err(EMPTY);
    }
    if value.contains('\u{fffd}') {
        return Err("the parameter is not UTF-8");
    }
    Ok(Some(Part::Text(value.into_owned())))
}

const EMPTY: &str = "it is empty; wanted a text or a number";

fn in_body(document: &Document<'_>, pointer: &Pointer) -> Result<Option<Part>, &'static str> {
    match document.find(pointer).map_err(DocumentFault::why)? {
        None => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Err(EMPTY),
        Some(Value::String(text)) => Ok(Some(Part::Text(text.clone()))),
        Some(Value::Number(number)) => Ok(Some(Part::Number(number.to_string()))),
        Some(Value::Null) => Err("it is null; wanted a text or a number"),
        Some(Value::Bool(_)) => Err("it is true or false; wanted a text or a number"),
        Some(Value::Array(_)) => {
            Err("it is a list or came more than once; wanted a text or a number")
        }
        Some(Value::Object(_)) => Err("it is an object; wanted a text or a number"),
    }
}

const WANTS_QUOTED: &str = "wanted one quoted string, like \"8e03978e-40d5-43dd\"";

/// Takes off the quotes of a Structured Field string; leaves a bare value as it is.
fn unquoted(value: &str) -> Result<String, &'static str> {
    if !value.starts_with('"') {
        if value.contains('"') {
            return Err("a quote stands within a bare value; quote the whole key or nothing");
        }
        return Ok(value.to_owned());
    }
    quoted(value)
}

/// Takes off the quotes of a Structured Field string; refuses everything else.
fn quoted(value: &str) -> Result<String, &'static str> {
    let item: Item = Parser::new(value).parse().map_err(|_| WANTS_QUOTED)?;
    match item.bare_item {
        BareItem::String(text) => Ok(text.into()),
        _ => Err(WANTS_QUOTED),
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
#[path = "key_body_tests.rs"]
mod body_tests;
#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
