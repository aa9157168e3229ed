//! What an explanation can say.

use crate::webhook::SecretFault;
use serde::Serialize;

/// One thing that was found out about a delivery: a word for programs, a sentence, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Finding {
    /// For programs; never changes its meaning.
    pub code: &'static str,
    /// For people. Names header fields, secrets by index and name, lengths and seconds; never a value.
    pub says: String,
    /// What to do about it.
    #[serde(rename = "do")]
    pub remedy: String,
}

/// What was found out, before it is put into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    Holds,
    Unsigned,
    Closed,
    SecretFaulty {
        secret: String,
        fault: SecretFault,
        live: bool,
    },
    SecretExpired {
        secret: String,
    },
    SecretForm {
        secret: String,
        how: String,
    },
    HeaderMissing {
        name: String,
    },
    HeaderRepeated {
        name: String,
    },
    HeaderMalformed {
        name: String,
        why: &'static str,
    },
    HeaderForm {
        name: String,
        how: &'static str,
    },
    HeaderRenamed {
        name: String,
    },
    OtherProvider {
        titles: Vec<&'static str>,
    },
    OtherHeaders {
        titles: Vec<&'static str>,
    },
    TooOld {
        by_s: u64,
        tolerance_s: Option<u64>,
    },
    FromFuture {
        by_s: u64,
        tolerance_s: Option<u64>,
    },
    BodyForm {
        how: String,
    },
    BodyLength {
        got: usize,
        wanted: usize,
    },
    BodyEncoded,
    UrlMissing,
    UrlForm {
        how: &'static str,
    },
    NoMatch {
        secrets: usize,
        tried: u32,
    },
    Cut,
}

impl Fact {
    const fn code(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Unsigned => "unsigned",
            Self::Closed => "no_secret",
            Self::SecretFaulty { .. } => "secret_faulty",
            Self::SecretExpired { .. } => "secret_expired",
            Self::SecretForm { .. } => "secret_form",
            Self::HeaderMissing { .. } => "header_missing",
            Self::HeaderRepeated { .. } => "header_repeated",
            Self::HeaderMalformed { .. } => "header_malformed",
            Self::HeaderForm { .. } => "header_form",
            Self::HeaderRenamed { .. } => "header_renamed",
            Self::OtherProvider { .. } => "other_provider",
            Self::OtherHeaders { .. } => "other_headers",
            Self::TooOld { .. } => "too_old",
            Self::FromFuture { .. } => "from_future",
            Self::BodyForm { .. } => "body_form",
            Self::BodyLength { .. } => "body_length",
            Self::BodyEncoded => "body_encoded",
            Self::UrlMissing => "url_missing",
            Self::UrlForm { .. } => "url_form",
            Self::NoMatch { .. } => "no_match",
            Self::Cut => "search_cut",
        }
    }

    fn says(&self) -> String {
        match self {
            Self::Holds => "The signature holds.".into(),
            Self::Unsigned => "This source checks no signature: anybody may send to it.".into(),
            Self::Closed => {
                "This source has no secret that can be used, so every delivery is refused.".into()
            }
            Self::SecretFaulty {
                secret,
                fault,
                live,
            } => faulty(secret, *fault, *live),
            Self::SecretExpired { secret } => {
                format!("The signature holds with secret {secret}, which has expired.")
            }
            Self::SecretForm { secret, how } => {
                format!("The signature holds if secret {secret} is taken {how}.")
            }
            Self::HeaderMissing { name } => format!("{name} is not there."),
            Self::HeaderRepeated { name } => {
                format!("{name} came more than once, and nothing says which one counts.")
            }
            Self::HeaderMalformed { name, why } => format!("{name} is malformed: {why}."),
            Self::HeaderForm { name, how } => {
                format!("The signature in {name} is right, but {how}.")
            }
            Self::HeaderRenamed { name } => {
                format!("The signature holds, but another field holds what belongs into {name}.")
            }
            Self::OtherProvider { titles } => format!(
                "The signature holds by the rules of {}, not by those of this source.",
                titles.join(" or ")
            ),
            Self::OtherHeaders { titles } => format!(
                "Header fields that belong to another sender are there: {}.",
                titles.join(", ")
            ),
            Self::TooOld { by_s, tolerance_s } => skewed(*by_s, "before", *tolerance_s),
            Self::FromFuture { by_s, tolerance_s } => skewed(*by_s, "after", *tolerance_s),
            Self::BodyForm { how } => format!("The signature holds for the body {how}."),
            Self::BodyLength { got, wanted } => {
                format!("The body has {got} bytes, but Content-Length says {wanted}.")
            }
            Self::BodyEncoded => {
                "Content-Encoding is set: the body was compressed when it was signed, or after."
                    .into()
            }
            Self::UrlMissing => {
                "The sender signs the public address of this source, and none is configured.".into()
            }
            Self::UrlForm { how } => {
                format!("The signature holds for another public address: the one with {how}.")
            }
            Self::NoMatch { secrets, tried } => format!(
                "No secret ({secrets} tried) gives this signature, neither for the delivery as it is nor in {tried} tries with what usually goes wrong."
            ),
            Self::Cut => {
                "The body is so large, or there are so many secrets, that not everything was tried."
                    .into()
            }
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::Holds => {
                "Nothing. If a delivery like this was refused, compare its time, its secret and its bytes with these."
            }
            Self::Unsigned => "If the sender signs, declare its scheme and a secret.",
            Self::Closed => {
                "Store the sender's secret with `wrangler secret put`, under the name that the source declares."
            }
            Self::SecretFaulty { .. } => {
                "Copy it from the sender's page again and store it with `wrangler secret put`."
            }
            Self::SecretExpired { .. } => {
                "Have the sender sign with the current secret, or set a later expiry until it does."
            }
            Self::SecretForm { .. } => "Store it in that way, or set how the source reads it.",
            Self::HeaderMissing { .. } => {
                "See whether the sender signs at all, whether a proxy drops the field, and whether the source declares the right provider."
            }
            Self::HeaderRepeated { .. } => {
                "Find the proxy or client that adds it a second time; the sender sends it once."
            }
            Self::HeaderMalformed { .. } => {
                "Compare it with the sender's documentation; a proxy may have joined or cut it."
            }
            Self::HeaderForm { .. } => {
                "Declare the prefix and encoding that the sender uses, or have it send those that are declared."
            }
            Self::HeaderRenamed { .. } => "Declare the name that the sender uses.",
            Self::OtherProvider { .. } => "Declare that provider for this source.",
            Self::OtherHeaders { .. } => {
                "See whether the sender was given the address of the right source."
            }
            Self::TooOld { .. } => {
                "If you look at a delivery from some time ago, give the time at which it came as `now`. Else compare the sender's clock, and see what held the delivery up."
            }
            Self::FromFuture { .. } => {
                "Set the sender's clock. If you gave `now` yourself, see whether it is the time at which the delivery came."
            }
            Self::BodyForm { .. } => {
                "Something between the sender and here, or whoever copied this delivery, has written the body anew. Pass on the bytes as they come."
            }
            Self::BodyLength { .. } => {
                "Copy the body byte for byte, as `body_base64`; a copy from a log or a page is often altered."
            }
            Self::BodyEncoded => {
                "Give the bytes as they came, as `body_base64`, and set whether the source takes the encoding off before it checks."
            }
            Self::UrlMissing => "Configure the address that was typed into the sender's form.",
            Self::UrlForm { .. } => {
                "Configure the public address exactly as it was typed into the sender's form."
            }
            Self::NoMatch { .. } => {
                "Most likely the secret is another one: compare the endpoint, the account and the environment (test or live) at the sender. Or the body given here is not the one that came."
            }
            Self::Cut => "Ask again with a smaller delivery, or with fewer secrets.",
        }
    }

    pub fn finding(&self) -> Finding {
        Finding {
            code: self.code(),
            says: self.says(),
            remedy: self.remedy().to_owned(),
        }
    }
}

fn faulty(secret: &str, fault: SecretFault, live: bool) -> String {
    let so = if live {
        " Every delivery to this source is refused until it can (500 misconfigured)."
    } else {
        ""
    };
    format!("Secret {secret} can't be used: it {fault}.{so}")
}

fn skewed(by_s: u64, side: &str, tolerance_s: Option<u64>) -> String {
    let limit = tolerance_s.map_or_else(String::new, |s| format!("; at most {s} s are accepted"));
    format!("By its timestamp it was signed {by_s} s {side} it came{limit}.")
}
