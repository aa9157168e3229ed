//! Twilio (<https://www.twilio.com/docs/usage/security#validating-requests>): HMAC-SHA1 over the public
//! address and the form's fields, sorted, names and values one after the other.
//!
//! A body that is no form is covered by its SHA-256, which stands in the address as `bodySHA256`.

use super::form::{Algorithm, Encoding};
use super::{crypto, field};
use crate::webhook::secret::Secret;
use crate::webhook::signature::{Proof, Refusal, material};
use crate::webhook::{Arrival, hex, single};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use url::form_urlencoded;

pub(super) const SIGNATURE: &str = "x-twilio-signature";
const BODY_HASH: &str = "bodySHA256";

pub(super) fn verify(arrival: &Arrival<'_>, secrets: &[Secret]) -> Result<Proof, Refusal> {
    let public_url = arrival.public_url.ok_or(Refusal::UrlNeeded)?;
    let value = Algorithm::HmacSha1
        .decode(Encoding::Base64, field(arrival, SIGNATURE)?)
        .map_err(|why| Refusal::malformed(SIGNATURE, why))?;
    let values = [value];
    let mut refusal = Refusal::malformed(
        "content-type",
        "the body is no form, and the address holds no bodySHA256 of it",
    );
    for address in addresses(public_url, arrival.target) {
        for fields in coverings(arrival, &address)? {
            refusal = Refusal::Mismatch;
            for spelling in spellings(&address) {
                let mut parts = vec![spelling.as_bytes()];
                parts.extend(
                    fields
                        .iter()
                        .flat_map(|(n, v)| [n.as_bytes(), v.as_bytes()]),
                );
                let found = crypto::first_match(Algorithm::HmacSha1, secrets, &parts, &values);
                if let Ok(index) = found {
                    // The same for every spelling of the port.
                    parts[0] = address.as_bytes();
                    return Ok(Proof {
                        secret: Some(index),
                        material: Some(material(&parts)),
                    });
                }
            }
        }
    }
    Err(refusal)
}

/// The public address as configured; and, where the request has a query, with that one in place of its
/// own: what Twilio appends can't be configured.
fn addresses(public_url: &str, target: &str) -> Vec<String> {
    let (base, own) = match public_url.split_once('?') {
        Some((base, query)) => (base, Some(query)),
        None => (public_url, None),
    };
    let sent = target.split_once('?').map(|(_, query)| query);
    let mut all = Vec::new();
    if let Some(query) = sent {
        all.push(format!("{base}?{query}"));
    }
    if sent.is_none() || own.is_some() && own != sent {
        all.push(public_url.to_owned());
    }
    all
}

type Fields = BTreeSet<(String, String)>;

/// The fields that are signed with the address, for each way in which the body can be covered: by its
/// hash within the address (then there are none), or as a form.
fn coverings(arrival: &Arrival<'_>, address: &str) -> Result<Vec<Fields>, Refusal> {
    let mut all = Vec::new();
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let digest = hex(&Sha256::digest(arrival.body));
    let mut hashes = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == BODY_HASH);
    if hashes.any(|(_, hash)| *hash == *digest) {
        all.push(Fields::new());
    }
    let kind = single(arrival.headers, "content-type")
        .map_err(|_| Refusal::malformed("content-type", "it came more than once"))?;
    let is_form = kind.is_none_or(|kind| {
        let kind = kind.split(';').next().unwrap_or_default();
        kind.trim()
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
    });
    if is_form || arrival.body.is_empty() {
        all.push(form_urlencoded::parse(arrival.body).into_owned().collect());
    }
    Ok(all)
}

/// As it is, without its port, and with the port that is the default: Twilio's own libraries try all.
fn spellings(address: &str) -> Vec<String> {
    let mut all = vec![address.to_owned()];
    let Some((scheme, rest)) = address.split_once("://") else {
        return all;
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let host_at = authority.rfind('@').map_or(0, |at| at + 1);
    // The colons of an IPv6 address stand before its bracket.
    let colon = authority[host_at..].rfind(':').map(|at| at + host_at);
    let port_at = colon.filter(|at| !authority[*at..].contains(']'));
    let other = if let Some(at) = port_at {
        format!("{scheme}://{}{rest}", &authority[..at])
    } else {
        let port = if scheme == "http" { 80 } else { 443 };
        format!("{scheme}://{authority}:{port}{rest}")
    };
    all.push(other);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_may_stand_there_or_not() {
        for (address, other) in [
            ("https://a.com/x?y=1:2", "https://a.com:443/x?y=1:2"),
            ("http://a.com", "http://a.com:80"),
            ("https://a.com:443/x", "https://a.com/x"),
            ("https://a.com:8443?x", "https://a.com?x"),
            ("https://u:p@a.com/x", "https://u:p@a.com:443/x"),
            ("https://u:p@a.com:80/x", "https://u:p@a.com/x"),
            ("https://[::1]/x", "https://[::1]:443/x"),
            ("https://[::1]:1/x", "https://[::1]/x"),
        ] {
            assert_eq!(spellings(address), [address, other]);
        }
        assert_eq!(spellings("a.com/x"), ["a.com/x"]);
    }

    #[test]
    fn the_query_is_the_one_that_was_sent_or_configured() {
        for (public_url, target, all) in [
            ("https://a/b", "/c", &["https://a/b"][..]),
            ("https://a/b", "/c?d", &["https://a/b?d"]),
            ("https://a/b?d", "/c?d", &["https://a/b?d"]),
            ("https://a/b?d", "/c?e", &["https://a/b?e", "https://a/b?d"]),
            ("https://a/b?d", "/c", &["https://a/b?d"]),
        ] {
            assert_eq!(addresses(public_url, target), all);
        }
    }

    #[test]
    fn two_content_types_are_refused() {
        use crate::types::Headers;
        let fields = [
            ("x-twilio-signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-type", "application/json"),
        ];
        let headers: Headers = fields.into_iter().collect();
        let secrets = [Secret::new("12345").expect("a secret")];
        let arrival = Arrival {
            method: "POST",
            target: "/hooks/twilio",
            public_url: Some("https://mycompany.com/myapp.php?foo=1&bar=2"),
            headers: &headers,
            body: b"a=b",
            now_ms: 0,
        };
        let got = verify(&arrival, &secrets);
        assert!(matches!(got, Err(Refusal::Malformed { .. })), "{got:?}");
    }
}
