//! Standard Webhooks 1.0.0 (<https://github.com/standard-webhooks/standard-webhooks>), and Svix, which
//! it grew out of: `id.timestamp.body` signed by HMAC-SHA256 (`v1`) or Ed25519 (`v1a`).

use super::form::Algorithm;
use super::timestamp::{Unit, near};
use super::{crypto, field};
use crate::limits::MAX_SIGNATURES;
use crate::webhook::secret::Secret;
use crate::webhook::signature::{Proof, Refusal, material};
use crate::webhook::{Arrival, decode};

/// The names of the standard, and those of Svix.
const FAMILIES: [[&str; 3]; 2] = [
    ["webhook-id", "webhook-timestamp", "webhook-signature"],
    ["svix-id", "svix-timestamp", "svix-signature"],
];

pub(super) fn header_names() -> Vec<String> {
    FAMILIES.concat().into_iter().map(str::to_owned).collect()
}

/// The keys decide what is tried: `v1` with shared secrets, `v1a` with public keys. Other versions are
/// skipped.
pub(super) fn verify(
    arrival: &Arrival<'_>,
    secrets: &[Secret],
    tolerance_s: Option<u64>,
) -> Result<Proof, Refusal> {
    // One field of the standard makes it the standard: else an id that nobody signed could stand beside
    // a signature under the other names.
    let is_there =
        |names: &&[&str; 3]| names.iter().any(|name| arrival.headers.get(name).is_some());
    let [id_name, time_name, signature_name] =
        FAMILIES.iter().find(is_there).unwrap_or(&FAMILIES[0]);
    let id = field(arrival, id_name)?;
    let time = field(arrival, time_name)?;
    let signature = field(arrival, signature_name)?;
    let malformed = |why| Refusal::malformed(signature_name, why);
    if id.is_empty() {
        return Err(Refusal::malformed(id_name, "it is empty"));
    }
    let signed_s = Unit::Seconds
        .seconds(time)
        .ok_or_else(|| Refusal::malformed(time_name, "it is not a whole number of seconds"))?;
    let (mut v1, mut v1a) = (Vec::new(), Vec::new());
    for item in signature.split(' ') {
        let (version, value) = item.split_once(',').unwrap_or_default();
        if value.contains(',') {
            return Err(malformed("it came more than once"));
        }
        let values = match version {
            "v1" => &mut v1,
            "v1a" => &mut v1a,
            _ => continue,
        };
        values.extend(decode::base64(value));
        if v1.len() + v1a.len() > MAX_SIGNATURES {
            return Err(malformed("it holds too many signatures"));
        }
    }
    if v1.is_empty() && v1a.is_empty() {
        return Err(malformed("it holds no signature of version v1 or v1a"));
    }
    let body = arrival.body;
    let parts: [&[u8]; 5] = [id.as_bytes(), b".", time.as_bytes(), b".", body];
    let index = crypto::first(secrets.iter().map(|secret| {
        crypto::matches(Algorithm::HmacSha256, secret, &parts, &v1)
            || crypto::matches(Algorithm::Ed25519, secret, &parts, &v1a)
    }))?;
    near(signed_s, arrival, tolerance_s)?;
    Ok(Proof {
        secret: Some(index),
        material: Some(material(&[id.as_bytes(), body])),
    })
}
