//! `POST /v1/sources/{name}/explain`: why a delivery to this source is refused.
//!
//! The operator describes the delivery; the answer says whether its signature holds, and if not, what
//! makes it hold. The request is never a delivery: nothing is begun, stored or logged.

use super::body::{self, Rule};
use super::code::Code;
use super::headers::is_token;
use super::problem::{Cause, Problem};
use crate::config::{SecretName, Source};
use crate::limits::MAX_BODY_BYTES;
use crate::types::time::rfc3339;
use crate::types::{Answer, Headers};
use crate::webhook::explain::{self, Explanation, Hints, SecretAt, Verdict};
use crate::webhook::pointer::escaped;
use crate::webhook::{self, Arrival, Scheme};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Most header fields of a delivery that is described.
const MAX_FIELDS: usize = 200;
/// Largest value, name or URL of a delivery that is described, in bytes.
const MAX_TEXT: usize = 16 << 10;

/// A source, as far as signatures are concerned.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// How it checks signatures.
    pub scheme: &'a Scheme,
    /// Its secrets, in order.
    pub secrets: &'a [SecretAt<'a>],
    /// Its public address, if one is configured.
    pub public_url: Option<&'a str>,
    /// What it does with compressed bodies.
    pub encoding: Rule,
}

/// A delivery as an operator describes it.
///
/// | member | what |
/// |---|---|
/// | `headers` | the fields as `{"name": "value"}` or `[["name", "value"], …]`, which can name one twice |
/// | `body` or `body_base64` | the bytes that came; neither for an empty body |
/// | `method` | `POST` if it is left out |
/// | `target` or `url` | path and query, or the whole URL, that it was sent to |
/// | `now` | when it came, in RFC 3339; now if it is left out |
#[derive(Clone, PartialEq, Eq)]
pub struct Described {
    method: String,
    target: Option<String>,
    url: Option<String>,
    headers: Headers,
    body: Vec<u8>,
    now_ms: Option<u64>,
}

impl Described {
    /// Reads it.
    ///
    /// # Errors
    /// 400 that names everything that is wrong, and repeats nothing of it but names of members.
    ///
    /// ```
    /// use onceward::http::explain::Described;
    /// assert!(Described::read(br#"{"headers": {"x-a": "1"}, "body": "hi"}"#).is_ok());
    /// let wrong = Described::read(br#"{"headers": {"x a": "1"}, "bdy": "hi"}"#).err().unwrap();
    /// assert_eq!(wrong.errors[0].pointer, "/headers/x a");
    /// assert_eq!(wrong.errors[1].pointer, "/bdy");
    /// ```
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        let members = webhook::json::read(body)
            .map_err(|fault| invalid(format!("The description can't be read: {fault}.")))?;
        let Value::Object(members) = members else {
            return Err(invalid(
                "The body must be an object like {\"headers\": {…}, \"body\": \"…\"}.".to_owned(),
            ));
        };
        let mut reader = Reader::default();
        for (name, value) in members {
            reader.member(&name, value);
        }
        reader.settle()
    }
}

fn invalid(detail: String) -> Problem {
    Problem::new(Code::InputInvalid, detail)
}

/// What has been read, and what is wrong.
struct Reader {
    out: Described,
    bodies: usize,
    wrong: Vec<Cause>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            out: Described {
                method: "POST".to_owned(),
                target: None,
                url: None,
                headers: Headers::default(),
                body: Vec::new(),
                now_ms: None,
            },
            bodies: 0,
            wrong: Vec::new(),
        }
    }
}

impl Reader {
    fn member(&mut self, name: &str, value: Value) {
        let read = match (name, value) {
            ("headers", fields) => return self.fields(fields),
            ("method", Value::String(text)) if is_token(&text) && text.len() <= 32 => {
                self.out.method = text;
                Ok(())
            }
            ("method", _) => Err("wanted a method like POST"),
            ("target", Value::String(text)) if text.starts_with('/') && text.len() <= MAX_TEXT => {
                self.out.target = Some(text);
                Ok(())
            }
            ("target", _) => Err("wanted a path and query that begin with /"),
            ("url", value) => self.url(&value),
            ("now", value) => self.now(&value),
            ("body", Value::String(text)) => {
                self.bodies += 1;
                self.out.body = text.into_bytes();
                Ok(())
            }
            ("body", _) => Err("wanted text; give JSON as the text that came, not as JSON"),
            ("body_base64", value) => self.base64(&value),
            _ => Err(
                "no such member; there are headers, body, body_base64, method, target, url and now",
            ),
        };
        if let Err(wanted) = read {
            self.complain(format!("/{}", part(name)), wanted);
        }
    }

    fn complain(&mut self, pointer: String, wanted: &str) {
        // Enough to mend it by; the rest would come back next time.
        if self.wrong.len() < 20 {
            self.wrong.push(Cause {
                detail: wanted.to_owned(),
                pointer,
            });
        }
    }

    fn url(&mut self, value: &Value) -> Result<(), &'static str> {
        const WANTED: &str = "wanted a URL that begins with http:// or https://";
        let text = value
            .as_str()
            .filter(|t| t.len() <= MAX_TEXT)
            .ok_or(WANTED)?;
        let url = url::Url::parse(text).map_err(|_| WANTED)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WANTED);
        }
        self.out.url = Some(text.to_owned());
        Ok(())
    }

    fn now(&mut self, value: &Value) -> Result<(), &'static str> {
        const WANTED: &str = "wanted a time like 2026-11-30T03:00:00Z";
        let time: Timestamp = value.as_str().ok_or(WANTED)?.parse().map_err(|_| WANTED)?;
        let ms = u64::try_from(time.as_millisecond()).map_err(|_| WANTED)?;
        self.out.now_ms = Some(ms);
        Ok(())
    }

    fn base64(&mut self, value: &Value) -> Result<(), &'static str> {
        const WANTED: &str = "wanted base64 with its padding";
        self.bodies += 1;
        let text = value.as_str().ok_or(WANTED)?;
        self.out.body = STANDARD.decode(text).map_err(|_| WANTED)?;
        Ok(())
    }

    fn fields(&mut self, fields: Value) {
        let pairs: Vec<(String, String, Value)> = match fields {
            Value::Object(map) => map
                .into_iter()
                .map(|(name, value)| (format!("/headers/{}", part(&name)), name, value))
                .collect(),
            Value::Array(list) => {
                let mut pairs = Vec::new();
                for (index, pair) in list.into_iter().enumerate() {
                    let pointer = format!("/headers/{index}");
                    match pair {
                        Value::Array(pair) if pair.len() == 2 && pair[0].is_string() => {
                            let name = pair[0].as_str().unwrap_or_default().to_owned();
                            pairs.push((pointer, name, pair[1].clone()));
                        }
                        _ => self.complain(pointer, "wanted a pair like [\"name\", \"value\"]"),
                    }
                }
                pairs
            }
            _ => {
                let wanted = "wanted {\"name\": \"value\"} or [[\"name\", \"value\"]]";
                return self.complain("/headers".to_owned(), wanted);
            }
        };
        if pairs.len() > MAX_FIELDS {
            return self.complain("/headers".to_owned(), "wanted at most 200 fields");
        }
        for (pointer, name, value) in pairs {
            match value {
                Value::String(text) if is_token(&name) && text.len() <= MAX_TEXT => {
                    self.out.headers.push(&name, text);
                }
                Value::String(_) if is_token(&name) => {
                    self.complain(pointer, "wanted at most 16 KiB");
                }
                Value::String(_) => self.complain(pointer, "wanted the name of a header field"),
                _ => self.complain(pointer, "wanted text"),
            }
        }
    }

    fn settle(mut self) -> Result<Described, Problem> {
        if self.bodies > 1 {
            self.complain(
                "/body_base64".to_owned(),
                "wanted either body or body_base64",
            );
        }
        if self.out.target.is_some() && self.out.url.is_some() {
            self.complain("/url".to_owned(), "wanted either target or url");
        }
        if self.out.body.len() > MAX_BODY_BYTES {
            self.complain(
                "/body".to_owned(),
                "wanted at most 1 MiB, as of any delivery",
            );
        }
        if self.wrong.is_empty() {
            return Ok(self.out);
        }
        Err(
            invalid("The description has problems; `errors` lists them.".to_owned())
                .errors(self.wrong),
        )
    }
}

/// A name as part of a JSON pointer, cut where it is no name any more.
fn part(name: &str) -> String {
    escaped(&name.chars().take(100).collect::<String>())
}

/// The answer for a source of the configuration. `lookup` gives the value of a secret by its name.
///
/// # Errors
/// 400, if the delivery is not described well.
///
/// ```
/// use onceward::config::Source;
/// use onceward::http::explain::explain_source;
/// let source = Source::github("github").secret("S").runs("sync");
/// let lookup = |_: &str| Some("development ".to_owned());
/// let answer = explain_source(&source, br#"{"headers": {}, "body": "{}"}"#, 0, &lookup).unwrap();
/// let found: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
/// assert_eq!(found["verdict"], "closed");
/// assert_eq!(found["findings"][0]["code"], "secret_faulty");
/// ```
pub fn explain_source(
    source: &Source,
    request: &[u8],
    now_ms: u64,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Answer, Problem> {
    let described = Described::read(request)?;
    let at_ms = described.now_ms.unwrap_or(now_ms);
    // One that is not set is as good as an empty one.
    let text = |secret: &SecretName| lookup(&secret.name).unwrap_or_default();
    let texts: Vec<String> = source.secret_names().iter().map(text).collect();
    let secrets: Vec<SecretAt<'_>> = source
        .secret_names()
        .iter()
        .zip(&texts)
        .map(|(secret, text)| SecretAt {
            name: &secret.name,
            text,
            expired: secret.until_ms.is_some_and(|until| at_ms >= until),
        })
        .collect();
    let subject = Subject {
        name: source.name(),
        scheme: source.scheme(),
        secrets: &secrets,
        public_url: source.told_url(),
        encoding: source.encoding(),
    };
    Ok(answer(&subject, &described, at_ms))
}

/// The answer: 200 with the explanation, whether the signature holds or not.
///
/// # Errors
/// 400, if the delivery is not described well.
pub fn explain(subject: &Subject<'_>, request: &[u8], now_ms: u64) -> Result<Answer, Problem> {
    let described = Described::read(request)?;
    let at_ms = described.now_ms.unwrap_or(now_ms);
    Ok(answer(subject, &described, at_ms))
}

fn answer(subject: &Subject<'_>, described: &Described, at_ms: u64) -> Answer {
    let found = explained(subject, described, at_ms);
    let mut document = json!({ "source": subject.name, "at": rfc3339(at_ms) });
    let found = serde_json::to_value(&found).unwrap_or_default();
    if let (Value::Object(document), Value::Object(found)) = (&mut document, found) {
        document.extend(found);
    }
    let mut answer = Answer::json(200, &document);
    answer.headers.push("cache-control", "no-store");
    answer
}

/// By each of the bodies that the source lets be signed: what is accepted, or else explained, counts.
fn explained(subject: &Subject<'_>, described: &Described, at_ms: u64) -> Explanation {
    let body = described.body.as_slice();
    let decoded = body::decode(&described.headers, body.to_vec(), subject.encoding).ok();
    let Some(decoded) = decoded else {
        // It was copied unpacked, or is not taken at all; what was given is all there is.
        return by(subject, described, at_ms, body, None);
    };
    let all = [body, decoded.plain()];
    let mut found: Vec<Explanation> = decoded
        .signed()
        .into_iter()
        .map(|signed| {
            let other = all.into_iter().find(|other| *other != signed);
            let other = other.filter(|_| decoded.signed().len() == 1);
            by(subject, described, at_ms, signed, other)
        })
        .collect();
    let accepted = found.iter().position(|f| f.verdict == Verdict::Accepted);
    let best = accepted.or_else(|| found.iter().position(|f| f.explained));
    found.swap_remove(best.unwrap_or(0))
}

fn by(
    subject: &Subject<'_>,
    described: &Described,
    now_ms: u64,
    body: &[u8],
    other_body: Option<&[u8]>,
) -> Explanation {
    let own = format!("/hooks/{}", subject.name);
    let from_url = described.url.as_deref().map(path_and_query);
    let target = described.target.as_deref().or(from_url.as_deref());
    let arrival = Arrival {
        method: &described.method,
        target: target.unwrap_or(&own),
        public_url: subject.public_url,
        headers: &described.headers,
        body,
        now_ms,
    };
    let hints = Hints {
        other_body,
        request_url: described.url.as_deref(),
    };
    explain::explain(subject.scheme, &arrival, subject.secrets, &hints)
}

/// What a URL says after its host, as it is written.
fn path_and_query(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or(rest);
    let rest = rest.find(['/', '?']).map_or("", |at| &rest[at..]);
    let slash = if rest.starts_with('/') { "" } else { "/" };
    format!("{slash}{rest}")
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
