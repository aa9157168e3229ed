//! How senders prove who they are.
//!
//! Most of them are a [`Form`], which is data: which header holds the signature, how it is written and
//! which bytes it covers. The others differ in what they do, and have code of their own.

mod crypto;
mod form;
mod standard;
mod template;
mod timestamp;

pub use form::{Algorithm, Encoding, Form};
pub use template::{Part, Template, TemplateFault};
pub use timestamp::{Timestamp, TimestampAt, Unit};

use super::secret::{KeyForm, Secret};
use super::signature::{Proof, Refusal};
use super::{Arrival, single};

/// How a source proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        }
    }

    /// True if the scheme needs a secret.
    pub fn is_signed(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// How its secrets are written.
    pub fn key_form(&self) -> KeyForm {
        match self {
            Self::None => KeyForm::Text,
            Self::Form(form) => form.key,
            Self::StandardWebhooks { .. } => KeyForm::WhsecOrWhpk,
        }
    }

    /// Names of the header fields that it reads, in lower case.
    pub fn header_names(&self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::Form(form) => form.header_names(),
            Self::StandardWebhooks { .. } => standard::header_names(),
        }
    }

    /// True if the public address is part of what is signed.
    pub fn needs_public_url(&self) -> bool {
        match self {
            Self::Form(form) => form.template.has(&Part::Url),
            Self::None | Self::StandardWebhooks { .. } => false,
        }
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
