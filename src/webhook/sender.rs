//! The other side of Standard Webhooks 1.0.0: messages that we send.

use super::secret::{KeyForm, Secret, SecretFault};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Prefix of a private Ed25519 key.
const PRIVATE: &str = "whsk_";
/// Its length, alone and followed by the public key as Svix writes it.
const SEED_BYTES: usize = 32;

/// The value of `webhook-signature`: one signature for each secret, so that receivers can be moved from one to
/// the next. `whsec_…` gives an HMAC (`v1`), `whsk_…` an Ed25519 signature (`v1a`).
///
/// # Errors
/// The secret that can't be used, by its place, and why.
///
/// ```
/// use onceward::webhook::{Arrival, Scheme, Secret, KeyForm, sender::sign};
/// // The example of the specification.
/// let secret = ["wh", "sec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"].concat();
/// let body = br#"{"test": 2432232314}"#;
/// let signature = sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body, &[&secret]).unwrap();
/// assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
/// assert_eq!(sign("m", 1, body, &[&secret, "short"]).unwrap_err().0, 1);
/// ```
pub fn sign(
    id: &str,
    timestamp_s: u64,
    body: &[u8],
    secrets: &[&str],
) -> Result<String, (usize, SecretFault)> {
    let mut signed = format!("{id}.{timestamp_s}.").into_bytes();
    signed.extend_from_slice(body);
    let each = secrets.iter().enumerate();
    let signatures: Result<Vec<String>, _> = each
        .map(|(at, secret)| signature(secret, &signed).map_err(|fault| (at, fault)))
        .collect();
    Ok(signatures?.join(" "))
}

/// Says what is wrong with a secret, without using it.
///
/// # Errors
/// It is neither `whsec_…` nor `whsk_…`.
pub fn check(secret: &str) -> Result<(), SecretFault> {
    signature(secret, b"").map(drop)
}

fn signature(secret: &str, signed: &[u8]) -> Result<String, SecretFault> {
    if let Some(text) = secret.strip_prefix(PRIVATE) {
        let bytes = STANDARD.decode(text).unwrap_or_default();
        let seed = bytes.first_chunk::<SEED_BYTES>();
        let fits = bytes.len() == SEED_BYTES || bytes.len() == 2 * SEED_BYTES;
        let seed = seed.filter(|_| fits).ok_or(SecretFault::PrivateKey)?;
        let signature = SigningKey::from_bytes(seed).sign(signed);
        return Ok(format!("v1a,{}", STANDARD.encode(signature.to_bytes())));
    }
    let secret = Secret::read(secret, KeyForm::Whsec)?;
    // HMAC takes keys of every length.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).map_err(|_| SecretFault::Empty)?;
    mac.update(signed);
    Ok(format!(
        "v1,{}",
        STANDARD.encode(mac.finalize().into_bytes())
    ))
}
