//! What signatures are checked with, read from the text in the configuration.
//!
//! Nothing is trimmed or guessed: a secret that differs from the sender's by a line break, a prefix
//! or an encoding is named when it is read, instead of after hours of refused deliveries.

use super::decode;
use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::VerifyingKey;
use p256::pkcs8::DecodePublicKey;
use serde::{Deserialize, Serialize};
use std::fmt;
use subtle::ConstantTimeEq;

/// Padding is optional: some senders show their secrets without it (Standard Webhooks' own libraries
/// take both).
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Bytes of an Ed25519 public key (RFC 8032 §5.1.5).
const ED25519_BYTES: usize = 32;
/// Bytes of a Standard Webhooks secret. The specification wants 24 to 64; the example of Svix' own
/// documentation has 18, and some senders make longer ones.
const WHSEC_BYTES: std::ops::RangeInclusive<usize> = 16..=128;

/// How the text of a secret is written.
///
/// ```
/// use onceward::webhook::{KeyForm, Secret, SecretFault};
/// assert!(Secret::read("00ff", KeyForm::Hex).is_ok());
/// assert_eq!(Secret::read("00fg", KeyForm::Hex), Err(SecretFault::NotHex { position: 4 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyForm {
    /// The bytes of the text itself. Stripe's `whsec_…` is one of these.
    Text,
    /// Base64, padded or not.
    Base64,
    /// Hex, in either case.
    Hex,
    /// Standard Webhooks, shared secret: `whsec_` (may be left out) and base64.
    Whsec,
    /// The same, or a public key: `whpk_` and base64.
    WhsecOrWhpk,
    /// `whsec_` and base64, or any other text, which is a token to be compared: GitLab has both.
    WhsecOrToken,
    /// An Ed25519 public key of 64 hex digits.
    Ed25519Hex,
    /// An Ed25519 public key of 32 bytes in base64.
    Ed25519Base64,
    /// A P-256 public key: the base64 of its DER `SubjectPublicKeyInfo` (RFC 5280 §4.1).
    SpkiBase64,
}

/// What a secret is good for. A key of one kind is never tried as one of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// Known to both sides: HMAC, or compared as it is.
    Shared,
    /// Known to both sides and only to be compared.
    Token,
    /// A public key of Ed25519, 32 bytes.
    Ed25519,
    /// A public key on P-256, as DER `SubjectPublicKeyInfo`.
    P256,
}

/// What signatures are checked with: a shared secret or a public key.
#[derive(Clone, Eq)]
pub struct Secret {
    bytes: Vec<u8>,
    kind: KeyKind,
}

impl PartialEq for Secret {
    /// In constant time for secrets of one length.
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && bool::from(self.bytes.ct_eq(&other.bytes))
    }
}

impl fmt::Debug for Secret {
    /// Never shows the bytes, nor how many there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// Takes a text as it stands: [`KeyForm::Text`].
    ///
    /// # Errors
    /// Empty, or with white space around it.
    ///
    /// ```
    /// use onceward::webhook::{Secret, SecretFault};
    /// assert!(Secret::new("development").is_ok());
    /// assert_eq!(Secret::new(""), Err(SecretFault::Empty));
    /// assert_eq!(Secret::new("development\n"), Err(SecretFault::Padded));
    /// ```
    pub fn new(text: &str) -> Result<Self, SecretFault> {
        Self::read(text, KeyForm::Text)
    }

    /// Reads a text in the form that its sender shows it in.
    ///
    /// # Errors
    /// What is wrong with it, by place and length and never by value.
    ///
    /// ```
    /// use onceward::webhook::{KeyForm, Secret};
    /// let pasted = ["v1,wh", "sec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"].concat();
    /// let fault = Secret::read(&pasted, KeyForm::Whsec).unwrap_err();
    /// assert!(fault.to_string().contains("v1,"));
    /// assert!(Secret::read(&pasted[3..], KeyForm::Whsec).is_ok());
    /// ```
    pub fn read(text: &str, form: KeyForm) -> Result<Self, SecretFault> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(SecretFault::Empty);
        }
        if trimmed.len() != text.len() {
            return Err(SecretFault::Padded);
        }
        if form != KeyForm::Text && text.starts_with("whsk_") {
            return Err(SecretFault::PrivateKey);
        }
        if form != KeyForm::Text && text.starts_with("-----") {
            return Err(SecretFault::Pem);
        }
        match form {
            KeyForm::Text => Ok(Self::shared(text.as_bytes().to_vec())),
            KeyForm::Base64 => base64(text, 0).map(Self::shared),
            KeyForm::Hex => hex(text).map(Self::shared),
            KeyForm::Whsec => whsec(text),
            KeyForm::WhsecOrWhpk => match text.strip_prefix("whpk_") {
                Some(rest) => ed25519(&base64(rest, "whpk_".len())?),
                None => whsec(text),
            },
            KeyForm::WhsecOrToken if text.starts_with("whsec_") => whsec(text),
            KeyForm::WhsecOrToken => Ok(Self {
                bytes: text.as_bytes().to_vec(),
                kind: KeyKind::Token,
            }),
            KeyForm::Ed25519Hex => ed25519(&hex(text)?),
            KeyForm::Ed25519Base64 => ed25519(&base64(text, 0)?),
            KeyForm::SpkiBase64 => p256(text),
        }
    }

    fn shared(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            kind: KeyKind::Shared,
        }
    }

    /// The key itself.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it is good for.
    pub(crate) fn kind(&self) -> KeyKind {
        self.kind
    }
}

fn hex(text: &str) -> Result<Vec<u8>, SecretFault> {
    let lower = text.to_ascii_lowercase();
    if let Some(at) = lower.bytes().position(|b| !b.is_ascii_hexdigit()) {
        return Err(SecretFault::NotHex { position: at + 1 });
    }
    decode::hex(&lower).ok_or(SecretFault::OddHex)
}

/// `skipped` characters stood before: places are counted from the beginning of the whole text.
fn base64(text: &str, skipped: usize) -> Result<Vec<u8>, SecretFault> {
    use base64::DecodeError::{InvalidByte, InvalidLastSymbol, InvalidLength, InvalidPadding};
    BASE64.decode(text).map_err(|fault| match fault {
        InvalidByte(at, _) | InvalidLastSymbol(at, _) => SecretFault::NotBase64 {
            position: skipped + at + 1,
        },
        InvalidLength(_) | InvalidPadding => SecretFault::CutBase64,
    })
}

fn whsec(text: &str) -> Result<Secret, SecretFault> {
    for (prefix, fault) in [
        ("v1,", SecretFault::VersionPasted),
        ("v1a,", SecretFault::VersionPasted),
        ("whpk_", SecretFault::PublicKey),
    ] {
        if text.starts_with(prefix) {
            return Err(fault);
        }
    }
    let (rest, skipped) = match text.strip_prefix("whsec_") {
        Some(rest) => (rest, "whsec_".len()),
        None => (text, 0),
    };
    let bytes = base64(rest, skipped)?;
    if WHSEC_BYTES.contains(&bytes.len()) {
        Ok(Secret::shared(bytes))
    } else {
        Err(SecretFault::Length {
            got: bytes.len(),
            wanted: "16 to 128",
        })
    }
}

fn ed25519(bytes: &[u8]) -> Result<Secret, SecretFault> {
    if bytes.len() == 2 * ED25519_BYTES {
        return Err(SecretFault::PrivateKey);
    }
    let key: [u8; ED25519_BYTES] = bytes.try_into().map_err(|_| SecretFault::Length {
        got: bytes.len(),
        wanted: "32",
    })?;
    let point = VerifyingKey::from_bytes(&key).map_err(|_| SecretFault::NotAKey)?;
    if point.is_weak() {
        return Err(SecretFault::NotAKey);
    }
    Ok(Secret {
        bytes: key.to_vec(),
        kind: KeyKind::Ed25519,
    })
}

fn p256(text: &str) -> Result<Secret, SecretFault> {
    let bytes = base64(text, 0)?;
    p256::PublicKey::from_public_key_der(&bytes).map_err(|_| SecretFault::NotAKey)?;
    Ok(Secret {
        bytes,
        kind: KeyKind::P256,
    })
}

/// What is wrong with a secret in the configuration. Holds places and lengths, never a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretFault {
    /// Nothing, or only white space.
    Empty,
    /// White space or a line break before or after it.
    Padded,
    /// A signature's version stands before it.
    VersionPasted,
    /// A public key where a shared secret is due.
    PublicKey,
    /// A private key where a shared secret or a public key is due.
    PrivateKey,
    /// The armour of a PEM file stands round it.
    Pem,
    /// A character is not base64.
    NotBase64 {
        /// Its place, counted from 1.
        position: usize,
    },
    /// Base64 that ends in the middle of a byte, or with padding in the wrong place.
    CutBase64,
    /// A character is not a hex digit.
    NotHex {
        /// Its place, counted from 1.
        position: usize,
    },
    /// Hex that ends in the middle of a byte.
    OddHex,
    /// Well written, but of another length.
    Length {
        /// Bytes found.
        got: usize,
        /// Bytes wanted.
        wanted: &'static str,
    },
    /// Of the right length, but no key of its kind, or one that anybody could sign for.
    NotAKey,
}

impl fmt::Display for SecretFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::Padded => {
                f.write_str("has white space or a line break before or after it; store it without")
            }
            Self::VersionPasted => f.write_str(
                "begins with a signature's version (\"v1,\"); store what stands after the comma",
            ),
            Self::PublicKey => f.write_str(
                "is a public key (whpk_…); this source wants the shared secret (whsec_…)",
            ),
            Self::PrivateKey => f.write_str(
                "is a private key, or a private key with its public half; it belongs to the sender alone. \
                 Store the public key, and replace the pair",
            ),
            Self::Pem => f.write_str(
                "is a PEM file; store the base64 between its two lines, in one line",
            ),
            Self::NotBase64 { position } => {
                write!(f, "is not base64: see character {position}")
            }
            Self::CutBase64 => f.write_str("is not base64: it is cut off or its padding is wrong"),
            Self::NotHex { position } => write!(f, "is not hex: see character {position}"),
            Self::OddHex => f.write_str("is not hex: one digit is missing or too many"),
            Self::Length { got, wanted } => {
                write!(f, "has {got} bytes when decoded; wanted {wanted}")
            }
            Self::NotAKey => f.write_str("is no public key of the kind that this source wants"),
        }
    }
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
