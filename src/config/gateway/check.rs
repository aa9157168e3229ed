//! What can be wrong with a gateway.

use super::{ForwardKey, Gateway};
use crate::config::is_route_name;
use crate::http::headers::{is_credential, is_token};
use crate::http::target;

/// Methods that can be sent on once per key.
const WRITING: &[&str] = &["POST", "PATCH", "PUT", "DELETE"];
/// Fields that belong to one connection, or that are made here.
const OURS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "prefer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];
/// The API token of this deployment: what goes to an origin is never made of it.
const API_TOKEN: &str = "ONCEWARD_TOKEN";
/// Most tries within one attempt.
const MAX_TRIES: u32 = 10;

impl Gateway {
    /// Everything that is wrong with it by itself, each as one sentence.
    pub fn problems(&self) -> Vec<String> {
        let mut out = self.policy().problems();
        if !is_route_name(&self.name) {
            out.push("its name must match [a-z0-9][a-z0-9_-]{0,63}".to_owned());
        }
        if let Err(why) = self.check_origin() {
            out.push(format!("its origin: {why}"));
        }
        if self.idempotent_methods.is_empty() {
            out.push("idempotent_methods names none: nothing would be sent on once".to_owned());
        }
        for method in &self.idempotent_methods {
            if !WRITING.contains(&method.as_str()) {
                let all = WRITING.join(", ");
                out.push(format!(
                    "method {method:?} has no key; wanted some of {all}"
                ));
            }
        }
        self.check_fields(&mut out);
        for status in &self.retry_on {
            if !(400..=599).contains(status) {
                out.push(format!("retry_on: got {status}, wanted 400 to 599"));
            }
        }
        let budget_ms = self.policy.slice_budget_ms;
        let ranges = [
            ("tries", self.tries.into(), MAX_TRIES.into()),
            ("timeout in ms", self.timeout_ms, budget_ms),
        ];
        for (name, got, most) in ranges {
            if !(1..=most).contains(&got) {
                out.push(format!("{name}: got {got}, wanted 1 to {most}"));
            }
        }
        if self.honours_keys && self.forward_key == ForwardKey::None {
            out.push("its origin honours keys, but forward_key is none".to_owned());
        }
        out
    }

    fn check_origin(&self) -> Result<(), String> {
        let url = target::allowed(&self.origin, cfg!(feature = "lab"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err("it has a query or a fragment; requests bring their own query".to_owned());
        }
        let written = self.origin();
        if url.as_str().trim_end_matches('/') != written {
            // Another spelling could be taken for another place.
            return Err(format!(
                "write it as {:?}",
                url.as_str().trim_end_matches('/')
            ));
        }
        Ok(())
    }

    fn check_fields(&self, out: &mut Vec<String>) {
        let sent = self.origin_headers.iter().map(|h| h.name.clone());
        let named = self.forward_headers.iter().cloned();
        for name in named.clone().chain(sent).chain([self.key_header.clone()]) {
            if !is_token(&name) {
                out.push(format!("{name:?} is no header name"));
            }
        }
        for name in named {
            if is_credential(&name) {
                out.push(format!(
                    "header {name} holds a credential of the client's and is never forwarded; give the origin its own with origin_headers"
                ));
            }
        }
        let sent = self.origin_headers.iter().map(|h| &h.name);
        for name in self.forward_headers.iter().chain(sent) {
            if OURS.contains(&name.to_ascii_lowercase().as_str()) {
                out.push(format!(
                    "header {name} is set by Onceward or belongs to one connection"
                ));
            }
        }
        let key = self.key_header.to_ascii_lowercase();
        let taken = key != "idempotency-key" && OURS.contains(&key.as_str());
        if taken || self.forwarded_names().contains(&key) {
            out.push(format!("key_header {key} is another field's name"));
        }
        for header in &self.origin_headers {
            if header.secret.trim().is_empty() || header.secret == API_TOKEN {
                let name = &header.name;
                out.push(format!(
                    "header {name} needs the name of a secret, other than that of the API token"
                ));
            }
            if !header.prefix.bytes().all(|b| matches!(b, b' '..=b'~')) {
                out.push(format!(
                    "the prefix of header {} is no text of a field",
                    header.name
                ));
            }
        }
    }
}
