//! Which header fields are stored: of a delivery with its task, of a function's answer with the answer.

use crate::limits::{MAX_ANSWER_BYTES, MAX_HEADER_BYTES};
use crate::types::{Answer, Headers};
use std::fmt;

/// Belong to one connection, one message or one user, or are made anew for each answer.
///
/// `Content-Encoding` is among them because the platform hands bodies over decoded and encodes
/// answers itself; `Content-Length` because it follows from the body.
const NEVER_STORED: &[&str] = &[
    "age",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "cookie",
    "date",
    "host",
    "keep-alive",
    "server",
    "set-cookie",
    "set-cookie2",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-request-id",
];
const NEVER_STORED_PREFIXES: &[&str] = &["proxy-", "ratelimit", "x-ratelimit-", "cf-"];

/// Ours: set on answers by the runtime, and taken out of what a function sets.
pub const RESERVED: &[&str] = &[
    "idempotent-replayed",
    "idempotency-expires",
    "onceward-task-id",
    "preference-applied",
];

/// Words that make a field of a delivery a credential, wherever they stand in its name.
const CREDENTIAL_WORDS: &[&str] = &[
    "api-key",
    "apikey",
    "auth-",
    "authentication",
    "authorization",
    "cookie",
    "credential",
    "hmac",
    "jwt",
    "password",
    "secret",
    "signature",
    "token",
];

/// A field of a function's answer that can't be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderProblem {
    /// The name is no token.
    BadName {
        /// The name, with control characters made visible.
        name: String,
    },
    /// The value holds something else than visible ASCII, spaces and tabs. Others are refused because
    /// engines differ in how they encode them, and a stored answer must come back byte for byte.
    BadValue {
        /// The name of the field.
        name: String,
    },
    /// All fields together are too large.
    TooLarge {
        /// Bytes that they take.
        bytes: usize,
    },
}

impl fmt::Display for HeaderProblem {
    /// Names the field, never its value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName { name } => write!(f, "header name {name} is not allowed"),
            Self::BadValue { name } => write!(
                f,
                "the value of header {name} may hold visible ASCII characters, spaces and tabs only"
            ),
            Self::TooLarge { bytes } => write!(
                f,
                "the header fields take {bytes} bytes; {MAX_HEADER_BYTES} are allowed"
            ),
        }
    }
}

/// The fields of a function's answer that are stored and given again.
///
/// # Errors
/// A name or value that no field can have, or too many bytes. Fields that are merely not stored
/// are left out without an error.
///
/// ```
/// use onceward::{http::headers::storable, types::Headers};
/// let headers: Headers = [("Location", "/x"), ("Set-Cookie", "s=1")].into_iter().collect();
/// let stored = storable(&headers).unwrap();
/// assert_eq!(stored.get("location"), Some("/x"));
/// assert_eq!(stored.get("set-cookie"), None);
/// let split: Headers = [("a", "1\r\nX-Evil: 1")].into_iter().collect();
/// assert!(storable(&split).is_err());
/// ```
pub fn storable(headers: &Headers) -> Result<Headers, HeaderProblem> {
    for (name, value) in headers.iter() {
        if !is_token(name) {
            let name = format!("{:?}", name.chars().take(64).collect::<String>());
            return Err(HeaderProblem::BadName { name });
        }
        if !value.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~')) {
            let name = name.to_owned();
            return Err(HeaderProblem::BadValue { name });
        }
    }
    let named = named_by_connection(headers);
    let kept: Headers = headers
        .iter()
        .filter(|(name, _)| !is_never_stored(name) && !named.iter().any(|n| n == name))
        .collect();
    let bytes = size(&kept);
    if bytes > MAX_HEADER_BYTES {
        return Err(HeaderProblem::TooLarge { bytes });
    }
    Ok(kept)
}

/// Makes an answer fit to be stored and sent again: storable fields, a status that ends a request, a
/// body within the limit, and none where the status has none.
///
/// # Errors
/// Says what is wrong, without any value.
///
/// ```
/// use onceward::http::headers::fit;
/// use onceward::types::{Answer, Headers};
/// let answer = |status| Answer { status, headers: Headers::default(), body: b"x".to_vec() };
/// assert_eq!(fit(answer(204)).unwrap().body, b"");
/// assert!(fit(answer(101)).is_err());
/// ```
pub fn fit(answer: Answer) -> Result<Answer, String> {
    if !(200..=599).contains(&answer.status) {
        return Err(format!(
            "an answer has a status from 200 to 599; this one has {}",
            answer.status
        ));
    }
    if answer.body.len() > MAX_ANSWER_BYTES {
        return Err(format!(
            "an answer has at most {MAX_ANSWER_BYTES} bytes; this one has {}",
            answer.body.len()
        ));
    }
    let headers = storable(&answer.headers).map_err(|problem| problem.to_string())?;
    let bodiless = matches!(answer.status, 204 | 205 | 304);
    Ok(Answer {
        status: answer.status,
        headers,
        body: if bodiless { Vec::new() } else { answer.body },
    })
}

/// The fields of a delivery that its task keeps: those on the list, but never a credential.
///
/// ```
/// use onceward::{http::headers::keep_input, types::Headers};
/// let headers: Headers = [("Content-Type", "text/plain"), ("Cookie", "s=1")].into_iter().collect();
/// let allow = ["content-type".to_owned(), "cookie".to_owned()];
/// assert_eq!(keep_input(&headers, &allow).len(), 1);
/// ```
pub fn keep_input(headers: &Headers, allow: &[String]) -> Headers {
    headers
        .iter()
        .filter(|(name, _)| allow.iter().any(|a| a.eq_ignore_ascii_case(name)))
        .filter(|(name, _)| !is_credential(name))
        .collect()
}

/// True for names of fields that hold credentials or signatures.
///
/// ```
/// use onceward::http::headers::is_credential;
/// assert!(is_credential("Authorization") && is_credential("X-Hub-Signature-256"));
/// assert!(!is_credential("X-GitHub-Event"));
/// ```
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("auth") || CREDENTIAL_WORDS.iter().any(|word| name.contains(word))
}

/// True for fields that belong to one connection or one message, or that the platform adds.
///
/// ```
/// use onceward::http::headers::is_one_message;
/// assert!(is_one_message("connection") && is_one_message("cf-ray") && !is_one_message("x-request-id"));
/// ```
pub fn is_one_message(name: &str) -> bool {
    name != "x-request-id" && is_never_stored(name)
}

/// Bytes that these fields take on the wire.
pub fn size(headers: &Headers) -> usize {
    headers
        .iter()
        .map(|(name, value)| name.len() + value.len() + ": \r\n".len())
        .sum()
}

/// True for a name that a field can have (RFC 9110, `token`).
pub fn is_token(name: &str) -> bool {
    let sign = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(sign)
}

fn is_never_stored(name: &str) -> bool {
    NEVER_STORED.contains(&name)
        || RESERVED.contains(&name)
        || NEVER_STORED_PREFIXES.iter().any(|p| name.starts_with(p))
}

/// Names that `Connection` makes hop-by-hop.
fn named_by_connection(headers: &Headers) -> Vec<String> {
    headers
        .iter()
        .filter(|(name, _)| *name == "connection")
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> Headers {
        [(name, value)].into_iter().collect()
    }

    #[test]
    fn fields_of_the_function_are_stored_as_they_are() {
        let headers: Headers = [
            ("Location", "/orders/7"),
            ("ETag", "\"7\""),
            ("X-Custom", "a\tb  c"),
            ("Cache-Control", "no-store"),
            ("Content-Type", "text/csv; charset=utf-8"),
            ("Retry-After", "7"),
            ("WWW-Authenticate", "Basic"),
            ("Link", "</a>; rel=next"),
            ("Link", "</b>; rel=prev"),
            ("X-Empty", ""),
        ]
        .into_iter()
        .collect();
        assert_eq!(storable(&headers), Ok(headers.clone()));
    }

    #[test]
    fn fields_that_are_never_stored() {
        let names = "Connection Keep-Alive Proxy-Authenticate Proxy-Connection TE Trailer \
            Transfer-Encoding Upgrade Set-Cookie Set-Cookie2 Date Content-Length Content-Encoding \
            Authorization Cookie Server Host Age Via X-Request-Id RateLimit RateLimit-Policy \
            X-RateLimit-Remaining CF-Ray Idempotent-Replayed Idempotency-Expires Onceward-Task-Id \
            Preference-Applied";
        for name in names.split_whitespace() {
            assert_eq!(storable(&one(name, "x")), Ok(Headers::default()), "{name}");
        }
    }

    #[test]
    fn connection_takes_out_what_it_names() {
        let headers: Headers = [
            ("X-Hop", "1"),
            ("Connection", "close, X-HOP"),
            ("X-Two", "2"),
            ("Connection", "x-two"),
            ("X-Kept", "3"),
        ]
        .into_iter()
        .collect();
        assert_eq!(storable(&headers), Ok(one("x-kept", "3")));
    }

    #[test]
    fn names_and_values_that_no_field_can_have() {
        for name in ["", "a b", "a:b", "a\r\nb", "é", "a\0", "(a)", "Date\n"] {
            let got = storable(&one(name, "x"));
            assert!(
                matches!(got, Err(HeaderProblem::BadName { .. })),
                "{name:?}: {got:?}"
            );
        }
        for value in [
            "SEC\r\nX-Evil: 1",
            "SEC\n",
            "SEC\r",
            "SEC\0",
            "SECé",
            "SEC🔑",
            "SEC\u{7f}",
        ] {
            let got = storable(&one("X-A", value)).expect_err("refused");
            assert_eq!(got, HeaderProblem::BadValue { name: "x-a".into() });
            assert!(!got.to_string().contains("SEC"), "{got}");
            // Also where the field would not have been stored: the function is wrong all the same.
            assert!(storable(&one("Set-Cookie", value)).is_err());
        }
        let text = storable(&one("a\r\nb", "x"))
            .expect_err("refused")
            .to_string();
        assert_eq!(text, "header name \"a\\r\\nb\" is not allowed");
    }

    #[test]
    fn the_limit_is_exact_and_counts_what_is_stored() {
        let value = |bytes: usize| "v".repeat(bytes - "x: \r\n".len());
        let full = one("x", &value(MAX_HEADER_BYTES));
        assert_eq!(size(&full), MAX_HEADER_BYTES);
        assert!(storable(&full).is_ok());
        let over = storable(&one("x", &value(MAX_HEADER_BYTES + 1)));
        let bytes = MAX_HEADER_BYTES + 1;
        assert_eq!(over, Err(HeaderProblem::TooLarge { bytes }));
        assert!(storable(&one("Set-Cookie", &"v".repeat(100_000))).is_ok());
    }

    #[test]
    fn inputs_keep_what_is_listed_but_no_credential() {
        let credentials = "Authorization Proxy-Authorization Cookie X-Hub-Signature-256 \
            X-Hub-Signature Stripe-Signature X-Gitlab-Token X-Shopify-Hmac-Sha256 X-Api-Key apikey \
            X-Signature-Ed25519 Cf-Access-Jwt-Assertion X-Amz-Security-Token X-Auth X-Auth-Key";
        let names: Vec<String> = credentials.split_whitespace().map(str::to_owned).collect();
        let headers: Headers = names.iter().map(|n| (n, "SEC-1")).collect();
        assert_eq!(keep_input(&headers, &names), Headers::default());

        let headers: Headers = [
            ("X-GitHub-Event", "ping"),
            ("X-Author", "x"),
            ("X-Other", "y"),
        ]
        .into_iter()
        .collect();
        let allow = ["X-GitHub-Event".to_owned(), "x-author".to_owned()];
        let kept = keep_input(&headers, &allow);
        assert_eq!(kept.len(), 2);
        assert_eq!(kept.get("x-github-event"), Some("ping"));
    }
}
