//! Tries whether a signature would hold, within bounds.

use crate::webhook::{Arrival, Proof, Refusal, Scheme, Secret};

/// Most tries of one explanation.
pub(super) const MAX_TRIES: u32 = 128;
/// Most bytes that are hashed for one explanation: a fifth of a second or so.
const MAX_BYTES: usize = 32 << 20;
/// What a try costs besides its body, in bytes.
const TRY_BYTES: usize = 512;

/// A signature that holds, but perhaps for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// The place of the secret that gives it.
    pub place: usize,
    /// Seconds that the signature is too old (positive) or ahead (negative); 0 if its time is right.
    pub skew_s: i64,
}

/// How much may still be tried.
#[derive(Default)]
pub(super) struct Search {
    pub tried: u32,
    /// True once something was left out.
    pub cut: bool,
    bytes: usize,
}

impl Search {
    /// Whether the signature holds, at this time or at another.
    pub fn holds(
        &mut self,
        scheme: &Scheme,
        arrival: &Arrival<'_>,
        secrets: &[Secret],
    ) -> Option<Hit> {
        let (now_ms, skew_s) = match self.verify(scheme, arrival, secrets)? {
            Ok(proof) => return hit(proof, secrets, 0),
            Err(Refusal::TooOld { skew_s }) => {
                let ms = skew_s.saturating_mul(1_000);
                (arrival.now_ms.saturating_sub(ms), signed(skew_s))
            }
            Err(Refusal::FromFuture { skew_s }) => {
                let ms = skew_s.saturating_mul(1_000);
                (arrival.now_ms.saturating_add(ms), -signed(skew_s))
            }
            Err(_) => return None,
        };
        // Once more at the time of the signature, which tells whose it is.
        let then = Arrival { now_ms, ..*arrival };
        let proof = self.verify(scheme, &then, secrets)?.ok()?;
        hit(proof, secrets, skew_s)
    }

    /// `None`: there is nothing to try with, or no more may be tried.
    fn verify(
        &mut self,
        scheme: &Scheme,
        arrival: &Arrival<'_>,
        secrets: &[Secret],
    ) -> Option<Result<Proof, Refusal>> {
        if secrets.is_empty() {
            return None;
        }
        let each = arrival.body.len().saturating_add(TRY_BYTES);
        let total = self
            .bytes
            .saturating_add(each.saturating_mul(secrets.len()));
        if self.tried >= MAX_TRIES || total > MAX_BYTES {
            self.cut = true;
            return None;
        }
        self.tried += 1;
        self.bytes = total;
        Some(scheme.verify(arrival, secrets))
    }
}

fn hit(proof: Proof, secrets: &[Secret], skew_s: i64) -> Option<Hit> {
    let place = proof.secret.filter(|place| *place < secrets.len())?;
    Some(Hit { place, skew_s })
}

fn signed(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}
