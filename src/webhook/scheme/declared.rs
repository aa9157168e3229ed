//! Schemes as a configuration declares them, and what can be wrong with one.

use super::Scheme;
use super::form::{Algorithm, Encoding, Form};
use super::template::{Part, Template};
use super::timestamp::{Timestamp, TimestampAt, Unit};
use crate::webhook::Pointer;
use crate::webhook::secret::KeyForm;
use serde::Deserialize;
use serde_json::{Map, Value};

/// What Stripe, Slack, Svix and Standard Webhooks use, in seconds.
const TOLERANCE_S: u64 = 300;

/// A scheme as it is written down.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Declared {
    None {},
    Form(Box<DeclaredForm>),
    StandardWebhooks(Tolerance),
    Gitlab(Tolerance),
    Twilio {},
    Mailgun(Tolerance),
    ClientState {},
}

/// `null` for any distance of the clocks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tolerance {
    #[serde(default = "tolerance_s")]
    tolerance_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredForm {
    algorithm: Algorithm,
    header: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    prefix: String,
    list_separator: Option<char>,
    encoding: Option<Encoding>,
    key_encoding: Option<KeyForm>,
    template: Option<String>,
    timestamp: Option<DeclaredTimestamp>,
    id_header: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredTimestamp {
    header: Option<String>,
    pair: Option<String>,
    field: Option<String>,
    #[serde(default)]
    unit: Unit,
    #[serde(default = "tolerance_s")]
    tolerance_s: Option<u64>,
}

// Serde wants the type of the field.
#[allow(clippy::unnecessary_wraps)]
fn tolerance_s() -> Option<u64> {
    Some(TOLERANCE_S)
}

impl TryFrom<Map<String, Value>> for Scheme {
    type Error = String;

    fn try_from(mut members: Map<String, Value>) -> Result<Self, String> {
        members.entry("kind").or_insert_with(|| "form".into());
        let declared = serde_json::from_value(Value::Object(members));
        Ok(match declared.map_err(|why| why.to_string())? {
            Declared::None {} => Self::None,
            Declared::Form(form) => Self::Form(form.build()?),
            Declared::StandardWebhooks(Tolerance { tolerance_s }) => {
                Self::StandardWebhooks { tolerance_s }
            }
            Declared::Gitlab(Tolerance { tolerance_s }) => Self::GitLab { tolerance_s },
            Declared::Twilio {} => Self::Twilio,
            Declared::Mailgun(Tolerance { tolerance_s }) => Self::Mailgun { tolerance_s },
            Declared::ClientState {} => Self::ClientState,
        })
    }
}

impl DeclaredForm {
    fn build(self) -> Result<Form, String> {
        let mut form = Form::new(self.algorithm, &self.header).prefix(&self.prefix);
        for alias in &self.aliases {
            form = form.alias(alias);
        }
        if self.encoding == Some(Encoding::Base64) {
            form = form.base64();
        }
        if let Some(key) = self.key_encoding {
            form.key = key;
        }
        if let Some(text) = self.template {
            let template: Template = text.parse().map_err(|why| format!("template: {why}"))?;
            form.template = template;
        }
        form.list_separator = self.list_separator;
        form.timestamp = self.timestamp.map(DeclaredTimestamp::build).transpose()?;
        form.id_header = self.id_header.map(|name| name.to_ascii_lowercase());
        let problems = problems(&form);
        if problems.is_empty() {
            Ok(form)
        } else {
            Err(problems.join("; "))
        }
    }
}

impl DeclaredTimestamp {
    fn build(self) -> Result<Timestamp, String> {
        let at = match (self.header, self.pair, self.field) {
            (Some(name), None, None) => TimestampAt::Header(name.to_ascii_lowercase()),
            (None, Some(name), None) => TimestampAt::Pair(name),
            (None, None, Some(pointer)) => TimestampAt::Body(
                Pointer::new(&pointer).map_err(|why| format!("timestamp.field: {why}"))?,
            ),
            _ => {
                return Err(
                    "timestamp: say where it stands by one of header, pair (in the header of the \
                     signature) and field (a JSON pointer into the body)"
                        .to_owned(),
                );
            }
        };
        Ok(Timestamp {
            at,
            unit: self.unit,
            tolerance_s: self.tolerance_s,
        })
    }
}

/// Everything that is wrong with a form, each as one sentence.
pub(super) fn problems(form: &Form) -> Vec<String> {
    let mut out = Vec::new();
    for name in form.header_names() {
        if !is_name(&name) {
            out.push(format!("{name:?} is no header name"));
        }
    }
    let mut check = |good: bool, problem: &str| {
        if !good {
            out.push(problem.to_owned());
        }
    };
    check(
        fits(form.algorithm, form.key),
        "key_encoding does not fit the algorithm: text, base64, hex or whsec for an hmac or a token, \
         ed25519-hex or ed25519-base64 for ed25519, spki-base64 for ecdsa-p256",
    );
    if let Some(separator) = form.list_separator {
        check(
            !form.prefix.contains(separator),
            "the prefix holds the list separator",
        );
    }
    let at = form.timestamp.as_ref().map(|time| &time.at);
    let outside = matches!(at, Some(TimestampAt::Header(_) | TimestampAt::Pair(_)));
    check(
        outside || !form.template.has(&Part::Timestamp),
        "the template has {timestamp}; say in timestamp which header or pair that is",
    );
    check(
        !outside || form.template.has(&Part::Timestamp),
        "the template is without {timestamp}: a time that is not signed proves nothing",
    );
    check(
        form.id_header.is_some() == form.template.has(&Part::Id),
        "id_header and {id} in the template go together",
    );
    check(
        form.algorithm != Algorithm::Token
            || form.template == Template::body() && form.timestamp.is_none(),
        "a token signs nothing; leave out template and timestamp",
    );
    match at {
        Some(TimestampAt::Pair(name)) => {
            check(
                form.list_separator.is_some(),
                "a timestamp in a pair needs a list_separator",
            );
            check(!name.is_empty(), "the pair of the timestamp has no name");
        }
        Some(TimestampAt::Header(_) | TimestampAt::Body(_)) | None => {}
    }
    out
}

fn fits(algorithm: Algorithm, key: KeyForm) -> bool {
    match algorithm {
        Algorithm::Ed25519 => matches!(key, KeyForm::Ed25519Hex | KeyForm::Ed25519Base64),
        Algorithm::EcdsaP256 => key == KeyForm::SpkiBase64,
        _ => matches!(
            key,
            KeyForm::Text | KeyForm::Base64 | KeyForm::Hex | KeyForm::Whsec
        ),
    }
}

/// A token of RFC 9110 §5.6.2.
fn is_name(name: &str) -> bool {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(is_token)
}

#[cfg(test)]
#[path = "declared_tests.rs"]
mod tests;
