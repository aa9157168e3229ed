//! Which scheme a vector is for: that of its provider's pack, or one described by its headers.

use super::vector::Vector;
use onceward::webhook::scheme::{Algorithm, Encoding, Form, Timestamp, TimestampAt, Unit};
use onceward::webhook::{Pack, Scheme, packs};

/// Other names of packs.
const NAMES: [(&str, &str); 8] = [
    ("facebook", "meta"),
    ("instagram", "meta"),
    ("messenger", "meta"),
    ("microsoft-graph", "graph"),
    ("ms-graph", "graph"),
    ("msgraph", "graph"),
    ("paddle-billing", "paddle"),
    ("twitter", "x"),
];
/// How a form is called that is like a provider's.
const STYLE: &str = "-style";

/// The pack of a provider; also of one that is only like it, or whose name says more.
pub fn pack(provider: &str) -> Option<Pack> {
    let name = provider.to_ascii_lowercase().replace(['_', ' '], "-");
    let name = name.strip_suffix(STYLE).unwrap_or(&name);
    let other = NAMES.iter().find(|(other, _)| *other == name);
    let name = other.map_or(name, |(_, name)| name);
    let longer = |known: &&str| {
        name.strip_prefix(known)
            .is_some_and(|rest| rest.starts_with('-'))
    };
    let known = packs::by_name(name);
    known.or_else(|| {
        packs::names()
            .filter(longer)
            .max_by_key(|n| n.len())
            .and_then(packs::by_name)
    })
}

/// The scheme to check a vector with, by the vector's tolerance; `None` if nothing fits.
pub fn scheme(vector: &Vector) -> Option<Scheme> {
    let scheme = if vector.provider == "ed25519-primitive" {
        Scheme::Form(Form::new(Algorithm::Ed25519, "signature-hex"))
    } else {
        match pack(&vector.provider) {
            Some(pack) if !vector.provider.ends_with(STYLE) => pack.scheme,
            Some(pack) => like(pack.scheme, vector),
            None => of_header(vector).or_else(|| of_shape(vector))?,
        }
    };
    Some(match (vector.now, vector.tolerance_s) {
        (None, _) => scheme.with_tolerance(None),
        (Some(_), Some(seconds)) => scheme.with_tolerance(Some(seconds)),
        (Some(_), None) => scheme,
    })
}

/// A provider's form under the vector's names, and without a time that the vector doesn't have.
fn like(scheme: Scheme, vector: &Vector) -> Scheme {
    let Scheme::Form(mut form) = scheme else {
        return scheme;
    };
    if let (false, Some(name)) = (vector.has(&form.header), vector.name_with(SIGNATURES)) {
        form.header = name;
    }
    match &mut form.timestamp {
        Some(Timestamp {
            at: TimestampAt::Header(header),
            ..
        }) => {
            if let (false, Some(name)) = (vector.has(header), vector.name_with(&["timestamp"])) {
                *header = name;
            }
        }
        Some(Timestamp {
            at: TimestampAt::Body(_),
            ..
        }) if vector.now.is_none() => form.timestamp = None,
        _ => {}
    }
    Scheme::Form(form)
}

const SIGNATURES: &[&str] = &["signature", "hmac", "sign", "digest"];

impl Vector {
    fn has(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|(n, _)| n.eq_ignore_ascii_case(name))
    }

    /// The first header with one of these words in its name.
    fn name_with(&self, words: &[&str]) -> Option<String> {
        let mut names = self
            .headers
            .iter()
            .map(|(name, _)| name.to_ascii_lowercase());
        names.find(|name| words.iter().any(|word| name.contains(word)))
    }
}

/// The scheme of a pack whose signature stands in one of the vector's headers.
fn of_header(vector: &Vector) -> Option<Scheme> {
    packs::names()
        .filter_map(packs::by_name)
        .find(|pack| {
            let names = pack.scheme.header_names();
            let telling = names
                .iter()
                .filter(|name| name.contains("signature") || name.contains("hmac"));
            telling.into_iter().any(|name| vector.has(name))
        })
        .map(|pack| like(pack.scheme, vector))
}

/// The form that the value of the vector's signature looks like.
fn of_shape(vector: &Vector) -> Option<Scheme> {
    let token = vector.name_with(&["token"]);
    let Some(header) = vector.name_with(SIGNATURES) else {
        return token.map(|name| Scheme::Form(Form::new(Algorithm::Token, &name)));
    };
    let (_, value) = vector
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(&header))?;
    let separator = [',', ';'].into_iter().find(|c| value.contains(*c));
    let items: Vec<&str> = match separator {
        Some(separator) => value.split(separator).collect(),
        None => vec![value],
    };
    let is_time = |item: &&&str| item.starts_with("t=") || item.starts_with("ts=");
    let time = items
        .iter()
        .find(is_time)
        .and_then(|item| item.split_once('='));
    let signed = items.iter().find(|item| !is_time(item))?;
    let (prefix, digest) = match signed.split_once('=') {
        Some((name, rest)) if !rest.is_empty() && rest != "=" => (format!("{name}="), rest),
        _ => (String::new(), *signed),
    };
    let (algorithm, encoding) = made_by(digest, vector)?;
    let mut form = Form::new(algorithm, &header).prefix(&prefix);
    if encoding == Encoding::Base64 {
        form = form.base64();
    }
    form.list_separator = separator;
    let at = match (time, vector.name_with(&["timestamp"])) {
        (Some((name, _)), _) => Some(TimestampAt::Pair(name.to_owned())),
        (None, Some(name)) => Some(TimestampAt::Header(name)),
        (None, None) => None,
    };
    if let Some(at) = at {
        let template = match &*prefix {
            "v0=" if time.is_none() => "v0:{timestamp}:{body}",
            "h1=" => "{timestamp}:{body}",
            _ => "{timestamp}.{body}",
        };
        form = form.signing(template.parse().ok()?).timestamp(Timestamp {
            at,
            unit: Unit::Seconds,
            tolerance_s: vector.tolerance_s,
        });
    }
    Some(Scheme::Form(form))
}

/// By the length of a digest.
fn made_by(digest: &str, vector: &Vector) -> Option<(Algorithm, Encoding)> {
    let words = vector.secret_encoding.as_deref().unwrap_or_default();
    let long = if words.contains("ed25519") {
        Algorithm::Ed25519
    } else {
        Algorithm::HmacSha512
    };
    let is_hex = digest.bytes().all(|b| b.is_ascii_hexdigit());
    Some(match (digest.len(), is_hex) {
        (40, true) => (Algorithm::HmacSha1, Encoding::Hex),
        (64, true) => (Algorithm::HmacSha256, Encoding::Hex),
        (128, true) => (long, Encoding::Hex),
        (28, _) => (Algorithm::HmacSha1, Encoding::Base64),
        (44, _) => (Algorithm::HmacSha256, Encoding::Base64),
        (88, _) => (long, Encoding::Base64),
        _ => return None,
    })
}
