//! What the client prefers (RFC 7240). A preference is never an error: what can't be read or
//! isn't known is passed over.

use crate::limits::MAX_PREFER_WAIT_MS;
use crate::types::Headers;

/// The preferences that we know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefer {
    /// Answer 202 as soon as the delivery is stored.
    pub respond_async: bool,
    /// The client waits for the result up to this many seconds.
    pub wait_s: Option<u64>,
}

impl Prefer {
    /// Reads all `Prefer` fields, in order, as one list. The first of two equal names counts.
    ///
    /// ```
    /// use onceward::{http::prefer::Prefer, types::Headers};
    /// let headers: Headers = [("Prefer", "Respond-Async, wait=10; x=1")].into_iter().collect();
    /// let prefer = Prefer::read(&headers);
    /// assert_eq!(prefer, Prefer { respond_async: true, wait_s: Some(10) });
    /// assert_eq!(prefer.applied().as_deref(), Some("respond-async, wait=10"));
    /// ```
    pub fn read(headers: &Headers) -> Self {
        let mut out = Self::default();
        let mut seen_wait = false;
        let mut seen_async = false;
        let fields = headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("prefer"));
        for (_, field) in fields {
            for item in split(field, b',') {
                let Some((name, value)) = preference(item) else {
                    continue;
                };
                if name.eq_ignore_ascii_case("respond-async") && !seen_async {
                    seen_async = true;
                    out.respond_async = value.is_empty();
                } else if name.eq_ignore_ascii_case("wait") && !seen_wait {
                    seen_wait = true;
                    out.wait_s = seconds(&value);
                }
            }
        }
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
    /// let asked = Prefer { respond_async: true, wait_s: Some(99) };
    /// assert_eq!(asked.granted(), Prefer { respond_async: true, wait_s: Some(25) });
    /// ```
    #[must_use]
    pub fn granted(self) -> Self {
        Self {
            wait_s: self.wait_ms().map(|ms| ms / 1_000),
            ..self
        }
    }

    /// The value of `Preference-Applied`, if these are the preferences that were honoured.
    pub fn applied(self) -> Option<String> {
        match (self.respond_async, self.wait_s) {
            (true, None) => Some("respond-async".to_owned()),
            (false, Some(s)) => Some(format!("wait={s}")),
            (true, Some(s)) => Some(format!("respond-async, wait={s}")),
            (false, None) => None,
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
            (
                &["return=minimal, handling=lenient, wait=3"],
                (false, Some(3)),
            ),
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
            }
            .applied()
        };
        assert_eq!(of(false, None), None);
        assert_eq!(of(true, None).as_deref(), Some("respond-async"));
        assert_eq!(of(false, Some(3)).as_deref(), Some("wait=3"));
        assert_eq!(of(true, Some(3)).as_deref(), Some("respond-async, wait=3"));
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
