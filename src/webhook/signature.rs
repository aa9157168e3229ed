//! Who sent it: signatures over the bytes as received.

use super::single;
use crate::types::Headers;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use subtle::ConstantTimeEq;

/// Bytes of an HMAC-SHA256.
const DIGEST_BYTES: usize = 32;

/// How a source proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Anybody may send.
    None,
    /// One field holds `prefix` and then 64 lower-case hex digits: the HMAC-SHA256 of the body.
    HmacSha256Hex {
        /// Name of the field, in lower case.
        header: String,
        /// What stands before the digits; may be empty.
        prefix: String,
    },
}

impl Scheme {
    /// What GitHub sends: `X-Hub-Signature-256: sha256=<64 hex digits>`.
    ///
    /// ```
    /// use onceward::{types::Headers, webhook::{Scheme, Secret}};
    /// let secret = Secret::new("It's a Secret to Everybody").unwrap();
    /// let headers: Headers = [(
    ///     "X-Hub-Signature-256",
    ///     "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    /// )].into_iter().collect();
    /// let secrets = [secret];
    /// assert_eq!(Scheme::github().verify(&headers, b"Hello, World!", &secrets), Ok(Some(0)));
    /// assert!(Scheme::github().verify(&headers, b"Hello, World?", &secrets).is_err());
    /// ```
    pub fn github() -> Self {
        Self::HmacSha256Hex {
            header: "x-hub-signature-256".to_owned(),
            prefix: "sha256=".to_owned(),
        }
    }

    /// True if the scheme needs a secret.
    pub fn is_signed(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Checks the signature. The answer is the index of the secret that matched, for the log during a
    /// rotation; `None` if the scheme asks for no signature.
    ///
    /// The time taken depends on the length of the body and the number of secrets, never on how much
    /// of a digest is right or which secret it belongs to.
    ///
    /// # Errors
    /// The reason is for the log only: every refusal looks the same to the sender.
    pub fn verify(
        &self,
        headers: &Headers,
        body: &[u8],
        secrets: &[Secret],
    ) -> Result<Option<usize>, Refusal> {
        let Self::HmacSha256Hex { header, prefix } = self else {
            return Ok(None);
        };
        if secrets.is_empty() {
            return Err(Refusal::NoSecret);
        }
        let given = digest_of(headers, header, prefix)?;
        let mut matched = None;
        for (index, secret) in secrets.iter().enumerate() {
            let equal = bool::from(hmac_sha256(secret, body)?.ct_eq(&given));
            if equal && matched.is_none() {
                matched = Some(index);
            }
        }
        matched.map(Some).ok_or(Refusal::Mismatch)
    }
}

/// The digest that the field claims.
fn digest_of(headers: &Headers, header: &str, prefix: &str) -> Result<[u8; DIGEST_BYTES], Refusal> {
    let malformed = |why| Refusal::Malformed {
        header: header.to_owned(),
        why,
    };
    let value = single(headers, header)
        .map_err(|_| malformed("it came more than once"))?
        .ok_or_else(|| Refusal::Missing {
            header: header.to_owned(),
        })?;
    let digits = value
        .strip_prefix(prefix)
        .ok_or_else(|| malformed("the prefix is missing"))?;
    if digits.len() != 2 * DIGEST_BYTES {
        return Err(malformed("wanted 64 hex digits"));
    }
    let mut out = [0; DIGEST_BYTES];
    for (byte, pair) in out.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let high = nibble(pair[0]).ok_or_else(|| malformed("a digit is not lower-case hex"))?;
        let low = nibble(pair[1]).ok_or_else(|| malformed("a digit is not lower-case hex"))?;
        *byte = high << 4 | low;
    }
    Ok(out)
}

/// Lower case only: that is what is sent, and what a comparison of texts would accept.
fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

fn hmac_sha256(secret: &Secret, body: &[u8]) -> Result<[u8; DIGEST_BYTES], Refusal> {
    // HMAC takes keys of any length; if that ever changed, the signature would not hold.
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).map_err(|_| Refusal::Mismatch)?;
    mac.update(body);
    Ok(mac.finalize().into_bytes().into())
}

/// The bytes that a signature is made with.
#[derive(Clone, Eq)]
pub struct Secret(Vec<u8>);

impl PartialEq for Secret {
    /// In constant time for secrets of one length.
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Secret {
    /// Takes a text as it stands in the configuration.
    ///
    /// # Errors
    /// Empty, or with white space around it. It is not trimmed in silence: a secret that
    /// differs from the sender's by a line break is found at once instead of after hours.
    ///
    /// ```
    /// use onceward::webhook::{Secret, SecretFault};
    /// assert!(Secret::new("development").is_ok());
    /// assert_eq!(Secret::new(""), Err(SecretFault::Empty));
    /// assert_eq!(Secret::new("development\n"), Err(SecretFault::Padded));
    /// ```
    pub fn new(text: &str) -> Result<Self, SecretFault> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(SecretFault::Empty);
        }
        if trimmed.len() != text.len() {
            return Err(SecretFault::Padded);
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// What HMACs are made with.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    /// Never shows the bytes, nor how many there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What is wrong with a secret in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretFault {
    /// Nothing, or only white space.
    Empty,
    /// White space or a line break before or after it.
    Padded,
}

impl fmt::Display for SecretFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::Padded => "has white space or a line break before or after it; store it without",
        })
    }
}

/// Why a signature was refused. For the log only; holds no value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The scheme asks for a signature and there is no secret to check it with.
    NoSecret,
    /// The field is not there.
    Missing {
        /// Its name.
        header: String,
    },
    /// The field is not what the scheme sends.
    Malformed {
        /// Its name.
        header: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Well formed, but made with another secret or over other bytes.
    Mismatch,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecret => f.write_str("no secret is configured"),
            Self::Missing { header } => write!(f, "{header} is missing"),
            Self::Malformed { header, why } => write!(f, "{header} is malformed: {why}"),
            Self::Mismatch => f.write_str("no configured secret gives this signature"),
        }
    }
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
