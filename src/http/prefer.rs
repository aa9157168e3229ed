//! What the client prefers (RFC 7240). A preference is never an error: what can't be read or
//! isn't known is passed over.

use crate::limits::MAX_PREFER_WAIT_MS;
use crate::types::Headers;

/// How much of a document the client wants to see (RFC 7240, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// As little as names the task and its state.
    Minimal,
    /// All of it, as without the preference.
    Representation,
}

/// How closely the client wants its request to be checked (RFC 7240, 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// `Idempotency-Key` has to be a quoted string, even where a bare value would do.
    Strict,
    /// As closely as the route checks anyway.
    Lenient,
}

/// The preferences that we know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefer {
    /// Answer 202 as soon as the delivery is stored.
    pub respond_async: bool,
    /// The client waits for the result up to this many seconds.
    pub wait_s: Option<u64>,
    /// How much of a task document it wants; never of a function's own answer.
    pub returns: Option<Returns>,
    /// How closely the key is to be checked.
    pub handling: Option<Handling>,
}

impl Prefer {
    /// Reads all `Prefer` fields, in order, as one list. The first of two equal names counts, but for
    /// `return` and `handling`: with both of their values it is as if neither were there.
    ///
    /// ```
    /// use onceward::{http::prefer::{Handling, Prefer}, types::Headers};
    /// let headers: Headers = [("Prefer", "Respond-Async, wait=10; x=1, handling=strict")]
    ///     .into_iter()
    ///     .collect();
    /// let prefer = Prefer::read(&headers);
    /// assert!(prefer.respond_async);
    /// assert_eq!((prefer.wait_s, prefer.handling), (Some(10), Some(Handling::Strict)));
    /// assert_eq!(prefer.applied().as_deref(), Some("respond-async, wait=10, handling=strict"));
    /// ```
    pub fn read(headers: &Headers) -> Self {
        let mut out = Self::default();
        let mut seen_wait = false;
        let mut seen_async = false;
        let mut returns = Pair::default();
        let mut handling = Pair::default();
        let fields = headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("prefer"));
        for (_, field) in fields {
            for item in split(field, b',') {
                let Some((name, value)) = preference(item) else {
                    continue;
                };
                match name.to_ascii_lowercase().as_str() {
                    "respond-async" if !seen_async => {
                        seen_async = true;
                        out.respond_async = value.is_empty();
                    }
                    "wait" if !seen_wait => {
                        seen_wait = true;
                        out.wait_s = seconds(&value);
                    }
                    "return" => returns.sees(&value, "minimal", "representation"),
                    "handling" => handling.sees(&value, "strict", "lenient"),
                    _ => {}
                }
            }
        }
        out.returns = returns.of(Returns::Minimal, Returns::Representation);
        out.handling = handling.of(Handling::Strict, Handling::Lenient);
        out
    }

    /// How long the client wants to wait, up to the most that we grant.
    ///
    /// ```
    /// use onceward::http::prefer::Prefer;
    /// let wait = |s| Prefer { wait_s: Some(s), ..Prefer::default() }.wait_ms();
    /// assert_eq!((wait(10), wait(99)), (Some(10_000), Some(25_000)));
    /// ```
    pub fn wait_ms(self) -> Option<u64> {
        self.wait_s
            .map(|s| s.saturating_mul(1_000).min(MAX_PREFER_WAIT_MS))
    }

    /// The same, with no longer wait than we grant: what is said to have been applied.
    ///
    /// ```
    /// use onceward::http::prefer::Prefer;
    /// let asked = Prefer { respond_async: true, wait_s: Some(99), ..Prefer::default() };
    /// assert_eq!(asked.granted().wait_s, Some(25));
    /// ```
    #[must_use]
    pub fn granted(self) -> Self {
        Self {
            wait_s: self.wait_ms().map(|ms| ms / 1_000),
            ..self
        }
    }

    /// True if the client wants as little of a document as there can be.
    pub fn is_minimal(self) -> bool {
        self.returns == Some(Returns::Minimal)
    }

    /// True if the client wants its key to be a quoted string.
    pub fn is_strict(self) -> bool {
        self.handling == Some(Handling::Strict)
    }

    /// The value of `Preference-Applied`, if these are the preferences that were honoured.
    pub fn applied(self) -> Option<String> {
        let wait = self.wait_s.map(|s| format!("wait={s}"));
        let returns = self.returns.map(|returns| match returns {
            Returns::Minimal => "return=minimal",
            Returns::Representation => "return=representation",
        });
        let handling = self.handling.map(|handling| match handling {
            Handling::Strict => "handling=strict",
            Handling::Lenient => "handling=lenient",
        });
        let words: Vec<&str> = [
            self.respond_async.then_some("respond-async"),
            wait.as_deref(),
            returns,
            handling,
        ]
        .into_iter()
        .flatten()
        .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// Which of two values that exclude each other have been seen.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    one: bool,
    other: bool,
}

impl Pair {
    fn sees(&mut self, value: &str, one: &str, other: &str) {
        self.one |= value.eq_ignore_ascii_case(one);
        self.other |= value.eq_ignore_ascii_case(other);
    }

    fn of<T>(self, one: T, other: T) -> Option<T> {
        match (self.one, self.other) {
            (true, false) => Some(one),
            (false, true) => Some(other),
            (true, true) | (false, false) => None,
        }
    }
}

/// Splits at a sign that stands outside of quotes.
fn split(text: &str, sign: u8) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if byte == sign && !quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Name and value of one preference, its parameters left out. An absent value is empty.
fn preference(item: &str) -> Option<(&str, String)> {
    let own = *split(item, b';').first()?;
    let (name, value) = own.split_once('=').unwrap_or((own, ""));
    let name = blank_off(name);
    let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '"');
    is_name.then(|| (name, unquoted(blank_off(value))))
}

fn blank_off(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    let Some(inner) = inner else {
        return value.to_owned();
    };
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}

/// Digits only; a number that is too large is as good as the largest.
fn seconds(value: &str) -> Option<u64> {
    let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| value.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Prefer` fields and what they mean.
    type Case<'a> = (&'a [&'a str], (bool, Option<u64>));

    fn read(fields: &[&str]) -> (bool, Option<u64>) {
        let prefer = Prefer::read(&fields.iter().map(|f| ("Prefer", *f)).collect());
        (prefer.respond_async, prefer.wait_s)
    }

    #[test]
    fn fields_are_read_as_rfc_7240_says() {
        let cases: &[Case] = &[
            (&[], (false, None)),
            (&[""], (false, None)),
            (&["respond-async"], (true, None)),
            (&["RESPOND-Async"], (true, None)),
            (&["WAIT=5"], (false, Some(5))),
            (&["wait=\"5\""], (false, Some(5))),
            (&["wait = 5"], (false, Some(5))),
            (&["wait=0"], (false, Some(0))),
            (&["respond-async, wait=10"], (true, Some(10))),
            (&["wait=10", "respond-async"], (true, Some(10))),
            (
                &["respond-async; a=b; c, wait=1;d=\"x,wait=9\""],
                (true, Some(1)),
            ),
            (&["respond-async=\"\""], (true, None)),
            (&["respond-async="], (true, None)),
            (&["respond-async=no"], (false, None)),
            // The first of two counts, even if it can't be read.
            (&["wait=1, wait=2"], (false, Some(1))),
            (&["wait=1", "WAIT=2"], (false, Some(1))),
            (&["wait=x, wait=2"], (false, None)),
            (&["respond-async=no, respond-async"], (false, None)),
            // Not numbers.
            (&["wait"], (false, None)),
            (&["wait=-1"], (false, None)),
            (&["wait=+1"], (false, None)),
            (&["wait=1.5"], (false, None)),
            (&["wait=1s"], (false, None)),
            (&["wait=99999999999999999999999"], (false, Some(u64::MAX))),
            // Unknown ones and broken ones are passed over, as is what stands in quotes.
            (&["depth-noroot, foo=bar, wait=3"], (false, Some(3))),
            (&["foo=\"respond-async, wait=7\""], (false, None)),
            (&["foo=\"a\\\", wait=7\", wait=2"], (false, Some(2))),
            (&[",, ,wait=4,"], (false, Some(4))),
            (&["=5, wait=4"], (false, Some(4))),
            (&["foo=\"open, wait=4"], (false, None)),
            (&["é=1, wait=4"], (false, Some(4))),
        ];
        for (fields, want) in cases {
            assert_eq!(read(fields), *want, "{fields:?}");
        }
    }

    #[test]
    fn applied_names_what_was_honoured() {
        let of = |respond_async, wait_s| {
            Prefer {
                respond_async,
                wait_s,
                ..Prefer::default()
            }
            .applied()
        };
        assert_eq!(of(false, None), None);
        assert_eq!(of(true, None).as_deref(), Some("respond-async"));
        assert_eq!(of(false, Some(3)).as_deref(), Some("wait=3"));
        assert_eq!(of(true, Some(3)).as_deref(), Some("respond-async, wait=3"));
    }

    #[test]
    fn values_that_exclude_each_other_cancel_each_other() {
        let pairs: &[(&[&str], Option<Returns>, Option<Handling>)] = &[
            (&["return=minimal"], Some(Returns::Minimal), None),
            (
                &["RETURN=\"Representation\"; a=b"],
                Some(Returns::Representation),
                None,
            ),
            (&["return=minimal, return=representation"], None, None),
            (&["return=representation", "return=minimal"], None, None),
            (
                &["return=minimal, return=minimal"],
                Some(Returns::Minimal),
                None,
            ),
            (&["return"], None, None),
            (&["return=some"], None, None),
            (&["handling=strict"], None, Some(Handling::Strict)),
            (
                &["handling=lenient, return=minimal"],
                Some(Returns::Minimal),
                Some(Handling::Lenient),
            ),
            (&["handling=strict", "handling=lenient"], None, None),
        ];
        for (fields, returns, handling) in pairs {
            let prefer = Prefer::read(&fields.iter().map(|f| ("Prefer", *f)).collect());
            assert_eq!(
                (prefer.returns, prefer.handling),
                (*returns, *handling),
                "{fields:?}"
            );
        }
        let all = Prefer {
            respond_async: true,
            wait_s: Some(1),
            returns: Some(Returns::Representation),
            handling: Some(Handling::Lenient),
        };
        let want = "respond-async, wait=1, return=representation, handling=lenient";
        assert_eq!(all.applied().as_deref(), Some(want));
        assert!(!all.is_minimal() && !all.is_strict());
    }

    #[test]
    fn waits_are_capped_and_do_not_overflow() {
        let wait = |s| {
            Prefer {
                wait_s: Some(s),
                ..Prefer::default()
            }
            .wait_ms()
        };
        assert_eq!(wait(0), Some(0));
        assert_eq!(wait(25), Some(25_000));
        assert_eq!(wait(u64::MAX), Some(25_000));
        assert_eq!(Prefer::default().wait_ms(), None);
    }
}
