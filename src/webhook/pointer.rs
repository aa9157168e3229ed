//! Places in a document: JSON pointers (RFC 6901).

use serde_json::Value;
use std::fmt;

/// A JSON pointer: empty for the whole document, else a `/` before each member name or index.
///
/// ```
/// use onceward::webhook::Pointer;
/// let order: serde_json::Value = serde_json::json!({"lines": [{"a/b": 7}]});
/// let pointer = Pointer::new("/lines/0/a~1b").unwrap();
/// assert_eq!(pointer.find(&order), Some(&serde_json::json!(7)));
/// assert!(Pointer::new("lines").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    text: String,
    tokens: Vec<String>,
}

impl Pointer {
    /// Reads one.
    ///
    /// # Errors
    /// It does not begin with `/`, or a `~` is not followed by `0` or `1`.
    pub fn new(text: &str) -> Result<Self, PointerFault> {
        let tokens = match text.strip_prefix('/') {
            Some(rest) => rest.split('/').map(unescaped).collect::<Result<_, _>>()?,
            None if text.is_empty() => Vec::new(),
            None => return Err(PointerFault::NoSlash),
        };
        Ok(Self {
            text: text.to_owned(),
            tokens,
        })
    }

    /// From member names and indices, from the outside in; of none: the whole document.
    ///
    /// ```
    /// use onceward::webhook::Pointer;
    /// assert_eq!(Pointer::of(&["data", "a/b"]), Pointer::new("/data/a~1b").unwrap());
    /// assert_eq!(Pointer::of(&[]).as_str(), "");
    /// ```
    pub fn of(tokens: &[&str]) -> Self {
        Self {
            text: tokens
                .iter()
                .fold(String::new(), |text, token| text + "/" + &escaped(token)),
            tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Member names and indices from the outside in, unescaped.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// What stands there; `None` if nothing does. An index has no leading zeros, and `-`, the place
    /// behind the last element, is always empty.
    pub fn find<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        self.tokens
            .iter()
            .try_fold(document, |value, token| match value {
                Value::Object(members) => members.get(token),
                Value::Array(elements) => elements.get(index(token)?),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            })
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A member name as part of a pointer.
///
/// ```
/// assert_eq!(onceward::webhook::pointer::escaped("a/b~c"), "a~1b~0c");
/// ```
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescaped(token: &str) -> Result<String, PointerFault> {
    let mut out = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '~' => match chars.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => return Err(PointerFault::BadEscape),
            },
            c => c,
        });
    }
    Ok(out)
}

/// RFC 6901, section 4: digits without leading zeros.
pub(super) fn index(token: &str) -> Option<usize> {
    let digits = !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit());
    let plain = digits && (token.len() == 1 || !token.starts_with('0'));
    plain.then(|| token.parse().ok())?
}

/// Why a text is no JSON pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerFault {
    /// It is not empty and does not begin with a slash.
    NoSlash,
    /// A `~` without `0` or `1` behind it.
    BadEscape,
}

impl fmt::Display for PointerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSlash => "a JSON pointer is empty or begins with /, like /data/id",
            Self::BadEscape => {
                "in a JSON pointer ~ stands before 0 or 1 only: ~0 is a tilde, ~1 a slash"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The table of RFC 6901, section 5.
    #[test]
    fn the_examples_of_the_standard() {
        let document = json!({
            "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3,
            "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8
        });
        for (text, want) in [
            ("", document.clone()),
            ("/foo", json!(["bar", "baz"])),
            ("/foo/0", json!("bar")),
            ("/", json!(0)),
            ("/a~1b", json!(1)),
            ("/c%d", json!(2)),
            ("/e^f", json!(3)),
            ("/g|h", json!(4)),
            ("/i\\j", json!(5)),
            ("/k\"l", json!(6)),
            ("/ ", json!(7)),
            ("/m~0n", json!(8)),
        ] {
            let pointer = Pointer::new(text).expect("a pointer");
            assert_eq!(pointer.find(&document), Some(&want), "{text:?}");
            assert_eq!(pointer.to_string(), text);
        }
    }

    #[test]
    fn what_is_not_there_is_none() {
        let document = json!({"list": [1, [2]], "01": 1, "text": "abc", "null": null});
        for text in [
            "/nope",
            "/list/2",
            "/list/-",
            "/list/01",
            "/list/+1",
            "/list/",
            "/list/1/0/0",
            "/text/0",
            "/null/x",
            "/list/99999999999999999999999",
            "/list/ 1",
            "/list/\u{661}",
        ] {
            let pointer = Pointer::new(text).expect("a pointer");
            assert_eq!(pointer.find(&document), None, "{text}");
        }
        let found = |text: &str| {
            let pointer = Pointer::new(text).expect("a pointer");
            pointer.find(&document).cloned()
        };
        assert_eq!(found("/01"), Some(json!(1)), "a member may be called so");
        assert_eq!(found("/null"), Some(Value::Null), "null is there");
        assert_eq!(found("/list/1/0"), Some(json!(2)));
    }

    #[test]
    fn escapes_are_read_once() {
        let tokens = |text: &str| Pointer::new(text).expect("a pointer").tokens().to_vec();
        assert_eq!(tokens("/~01"), ["~1"], "not a slash");
        assert_eq!(tokens("/a//b/"), ["a", "", "b", ""]);
        for name in ["", "a/b~c", "~1", "~0~01", "é"] {
            assert_eq!(tokens(&format!("/{}", escaped(name))), [name]);
        }
    }

    #[test]
    fn faults_say_what_is_wanted() {
        for (text, want) in [
            ("a", PointerFault::NoSlash),
            ("#/a", PointerFault::NoSlash),
            (" /a", PointerFault::NoSlash),
            ("$.a", PointerFault::NoSlash),
            ("/~", PointerFault::BadEscape),
            ("/a~2", PointerFault::BadEscape),
            ("/~~0", PointerFault::BadEscape),
            ("/a~/b", PointerFault::BadEscape),
        ] {
            assert_eq!(Pointer::new(text), Err(want), "{text:?}");
        }
        assert!(PointerFault::NoSlash.to_string().contains("/data/id"));
        assert!(PointerFault::BadEscape.to_string().contains("~1"));
    }
}
