//! How senders prove who they are.
//!
//! Most of them are a [`Form`], which is data: which header holds the signature, how it is written and
//! which bytes it covers. The others differ in what they do, and have code of their own.

mod crypto;
mod declared;
mod form;
mod gitlab;
mod in_body;
mod standard;
mod template;
mod timestamp;
mod twilio;

pub use form::{Algorithm, Encoding, Form};
pub use template::{Part, Template, TemplateFault};
pub use timestamp::{Timestamp, TimestampAt, Unit};

use super::secret::{KeyForm, Secret};
use super::signature::{Proof, Refusal};
use super::{Arrival, single};
use serde::Deserialize;

/// How a source proves who it is.
///
/// In a configuration it is a map with its `kind` (`form` if there is none), and for a form what the
/// fields of [`Form`] say:
///
/// ```
/// use onceward::webhook::Scheme;
/// let scheme: Scheme = serde_json::from_str(r#"{
///     "algorithm": "hmac-sha256",
///     "header": "X-Acme-Signature",
///     "prefix": "v1=",
///     "list_separator": ",",
///     "encoding": "hex",
///     "key_encoding": "text",
///     "template": "{timestamp}.{body}",
///     "timestamp": { "pair": "t", "unit": "s", "tolerance_s": 300 }
/// }"#).unwrap();
/// assert_eq!(scheme.header_names(), ["x-acme-signature"]);
/// let standard: Scheme = serde_json::from_str(r#"{"kind": "standard-webhooks"}"#).unwrap();
/// assert_eq!(standard.tolerance_s(), Some(Some(300)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "serde_json::Map<String, serde_json::Value>")]
pub enum Scheme {
    /// Anybody may send.
    None,
    /// A signature, or a shared token, in one header field.
    Form(Form),
    /// [Standard Webhooks](https://www.standardwebhooks.com), also under the names of Svix.
    StandardWebhooks {
        /// How far its clock may be from ours, in seconds, either way; `None` for any distance.
        tolerance_s: Option<u64>,
    },
    /// GitLab: a token in clear, or a signing token, by which deliveries are signed as in Standard
    /// Webhooks. The secrets decide which of them count.
    GitLab {
        /// How far its clock may be from ours, in seconds, either way; `None` for any distance.
        tolerance_s: Option<u64>,
    },
    /// Twilio: the public address and the fields of the form.
    Twilio,
    /// Mailgun: a timestamp and a token within the body, which is not signed itself.
    Mailgun {
        /// How far its clock may be from ours, in seconds, either way; `None` for any distance.
        tolerance_s: Option<u64>,
    },
    /// Microsoft Graph: every notification of the body repeats the secret as its `clientState`.
    ClientState,
}

impl Scheme {
    /// A field with an HMAC-SHA256 of the body in lower-case hex, after a fixed prefix (may be empty).
    ///
    /// ```
    /// use onceward::webhook::Scheme;
    /// let scheme = Scheme::hmac_sha256_hex("x-hub-signature-256", "sha256=");
    /// assert_eq!(scheme.header_names(), ["x-hub-signature-256"]);
    /// ```
    pub fn hmac_sha256_hex(header: &str, prefix: &str) -> Self {
        Self::Form(Form::new(Algorithm::HmacSha256, header).prefix(prefix))
    }

    /// What GitHub sends: `X-Hub-Signature-256: sha256=<64 hex digits>`.
    pub fn github() -> Self {
        Self::hmac_sha256_hex("x-hub-signature-256", "sha256=")
    }

    /// Checks the signature of a delivery.
    ///
    /// The time taken depends on lengths and numbers, never on how much of a digest is right or which
    /// secret it belongs to. The verdict never depends on `Host`.
    ///
    /// # Errors
    /// The reason is for the log only: every refusal looks the same to the sender.
    ///
    /// ```
    /// use onceward::types::Headers;
    /// use onceward::webhook::{Arrival, Scheme, Secret};
    /// let headers: Headers = [(
    ///     "X-Hub-Signature-256",
    ///     "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    /// )].into_iter().collect();
    /// let secrets = [Secret::new("It's a Secret to Everybody").unwrap()];
    /// let arrival = |body| Arrival {
    ///     method: "POST", target: "/hooks/github", public_url: None, headers: &headers, body, now_ms: 0,
    /// };
    /// let proof = Scheme::github().verify(&arrival(b"Hello, World!"), &secrets).unwrap();
    /// assert_eq!(proof.secret, Some(0));
    /// assert!(Scheme::github().verify(&arrival(b"Hello, World?"), &secrets).is_err());
    /// ```
    pub fn verify(&self, arrival: &Arrival<'_>, secrets: &[Secret]) -> Result<Proof, Refusal> {
        if self.is_signed() && secrets.is_empty() {
            return Err(Refusal::NoSecret);
        }
        match self {
            Self::None => Ok(Proof::default()),
            Self::Form(form) => form.verify(arrival, secrets),
            Self::StandardWebhooks { tolerance_s } => {
                standard::verify(arrival, secrets, *tolerance_s)
            }
            Self::GitLab { tolerance_s } => gitlab::verify(arrival, secrets, *tolerance_s),
            Self::Twilio => twilio::verify(arrival, secrets),
            Self::Mailgun { tolerance_s } => in_body::mailgun(arrival, secrets, *tolerance_s),
            Self::ClientState => in_body::client_state(arrival, secrets),
        }
    }

    /// True if the scheme needs a secret.
    pub fn is_signed(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Everything that is wrong with it by itself, each as one sentence. A declared scheme has no
    /// problem; one that is put together in code may have some.
    ///
    /// ```
    /// use onceward::webhook::Scheme;
    /// assert!(Scheme::github().problems().is_empty());
    /// assert_eq!(Scheme::hmac_sha256_hex("x y", "").problems(), ["\"x y\" is no header name"]);
    /// ```
    pub fn problems(&self) -> Vec<String> {
        match self {
            Self::Form(form) => declared::problems(form),
            _ => Vec::new(),
        }
    }

    /// How its secrets are written.
    pub fn key_form(&self) -> KeyForm {
        match self {
            Self::None | Self::Twilio | Self::Mailgun { .. } | Self::ClientState => KeyForm::Text,
            Self::Form(form) => form.key,
            Self::GitLab { .. } => KeyForm::WhsecOrToken,
            Self::StandardWebhooks { .. } => KeyForm::WhsecOrWhpk,
        }
    }

    /// Names of the header fields that it reads, in lower case.
    pub fn header_names(&self) -> Vec<String> {
        match self {
            Self::None | Self::Mailgun { .. } | Self::ClientState => Vec::new(),
            Self::Form(form) => form.header_names(),
            Self::StandardWebhooks { .. } => standard::header_names(),
            Self::GitLab { .. } => {
                let mut names = standard::header_names();
                names.push(gitlab::TOKEN.to_owned());
                names
            }
            Self::Twilio => vec![twilio::SIGNATURE.to_owned()],
        }
    }

    /// True if the public address is part of what is signed.
    pub fn needs_public_url(&self) -> bool {
        match self {
            Self::Form(form) => form.template.has(&Part::Url),
            Self::Twilio => true,
            _ => false,
        }
    }

    /// True if the body is covered by what is verified. It isn't for tokens and for Mailgun, where
    /// anybody who has seen one delivery can send others.
    ///
    /// ```
    /// use onceward::webhook::Scheme;
    /// assert!(Scheme::github().covers_body());
    /// assert!(!Scheme::Mailgun { tolerance_s: Some(300) }.covers_body());
    /// ```
    pub fn covers_body(&self) -> bool {
        match self {
            Self::Form(form) => form.algorithm != Algorithm::Token,
            Self::StandardWebhooks { .. } | Self::Twilio => true,
            Self::None | Self::GitLab { .. } | Self::Mailgun { .. } | Self::ClientState => false,
        }
    }

    /// How far the sender's clock may be from ours, in seconds. The outer `None`: it sends no time; the
    /// inner one: any distance will do.
    pub fn tolerance_s(&self) -> Option<Option<u64>> {
        match self {
            Self::Form(form) => form.timestamp.as_ref().map(|time| time.tolerance_s),
            Self::StandardWebhooks { tolerance_s }
            | Self::GitLab { tolerance_s }
            | Self::Mailgun { tolerance_s } => Some(*tolerance_s),
            Self::None | Self::Twilio | Self::ClientState => None,
        }
    }

    /// The same with another tolerance. Nothing changes where the sender gives no time.
    ///
    /// ```
    /// use onceward::webhook::packs;
    /// let paddle = packs::by_name("standard-webhooks").unwrap().scheme;
    /// assert_eq!(paddle.tolerance_s(), Some(Some(300)));
    /// assert_eq!(paddle.with_tolerance(None).tolerance_s(), Some(None));
    /// ```
    #[must_use]
    pub fn with_tolerance(mut self, seconds: Option<u64>) -> Self {
        match &mut self {
            Self::Form(form) => {
                if let Some(time) = &mut form.timestamp {
                    time.tolerance_s = seconds;
                }
            }
            Self::StandardWebhooks { tolerance_s }
            | Self::GitLab { tolerance_s }
            | Self::Mailgun { tolerance_s } => *tolerance_s = seconds,
            Self::None | Self::Twilio | Self::ClientState => {}
        }
        self
    }
}

/// The only value of a field that has to be there.
fn field<'a>(arrival: &Arrival<'a>, name: &str) -> Result<&'a str, Refusal> {
    single(arrival.headers, name)
        .map_err(|_| Refusal::malformed(name, "it came more than once"))?
        .ok_or_else(|| Refusal::missing(name))
}

#[cfg(test)]
mod tests;
