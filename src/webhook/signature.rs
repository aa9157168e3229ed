//! What a check of a signature says: a proof, or the reason why there is none.

use sha2::{Digest, Sha256};
use std::fmt;

/// That a delivery is its sender's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Index of the secret that matched, for the log during a rotation; `None` if no secret is asked for.
    pub secret: Option<usize>,
    /// SHA-256 over what the signature covers, each part led by its length (8 bytes, big endian), but
    /// without the time of the attempt, which a sender renews whenever it repeats a delivery. So it is
    /// the same for every repeat, whatever unsigned header fields say.
    ///
    /// `None` if nothing is signed. It covers the body unless the scheme says otherwise.
    pub material: Option<[u8; 32]>,
}

/// SHA-256 over the parts, each led by its length.
pub(super) fn material(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Why a signature was refused. For the log only (every refusal looks the same to the sender); holds
/// no value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The scheme asks for a signature and there is no secret of its kind to check it with.
    NoSecret,
    /// Something that the scheme sends is not there.
    Missing {
        /// The name of the header field, or the JSON pointer of a field of the body.
        header: String,
    },
    /// It is there, but not as the scheme sends it.
    Malformed {
        /// The name of the header field, or the JSON pointer of a field of the body.
        header: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Signed by a secret that we have, but too long ago.
    TooOld {
        /// By how many seconds our clock is ahead of the signature.
        skew_s: u64,
    },
    /// Signed by a secret that we have, but too far in the future.
    FromFuture {
        /// By how many seconds our clock is behind the signature.
        skew_s: u64,
    },
    /// Well formed, but made with another secret or over other bytes.
    Mismatch,
    /// The scheme signs the public address, and the source doesn't say which it is.
    UrlNeeded,
}

impl Refusal {
    pub(super) fn missing(header: &str) -> Self {
        Self::Missing {
            header: header.to_owned(),
        }
    }

    pub(super) fn malformed(header: &str, why: &'static str) -> Self {
        Self::Malformed {
            header: header.to_owned(),
            why,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecret => f.write_str("no secret is configured that this scheme can use"),
            Self::Missing { header } => write!(f, "{header} is missing"),
            Self::Malformed { header, why } => write!(f, "{header} is malformed: {why}"),
            Self::TooOld { skew_s } => {
                write!(
                    f,
                    "the timestamp is too old: signed {skew_s} s ago by our clock"
                )
            }
            Self::FromFuture { skew_s } => write!(
                f,
                "the timestamp is in the future: signed {skew_s} s from now by our clock"
            ),
            Self::Mismatch => f.write_str("no configured secret gives this signature"),
            Self::UrlNeeded => f.write_str(
                "the sender signs the public address of this source, and none is configured",
            ),
        }
    }
}
