//! What can be wrong with a source by itself.

use super::{Source, Tenant, is_route_name};
use crate::http::headers::{is_credential, is_token};
use crate::limits::{MAX_RESPOND_WITHIN_MS, MAX_RETENTION_MS};
use crate::webhook::{Handshake, KeyRule};

/// Fields that are never a key or a tenant, since these are shown.
const SHOWN_NEVER: &[&str] = &["authorization", "cookie", "proxy-authorization"];

/// A name as the platform takes it. What looks like a secret itself is none, so that it is not shown as a name.
fn is_secret_name(name: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let value = ["whsec_", "whsk_", "whpk_", "pdl_"];
    name.len() <= 128 && name.bytes().all(word) && !value.iter().any(|p| name.starts_with(p))
}

impl Source {
    /// Everything that is wrong with it by itself, each as one sentence.
    pub(super) fn problems(&self) -> Vec<String> {
        let signed = self.provider().scheme.is_signed();
        let label = match self.tenant_rule() {
            Tenant::Fixed(label) => label.as_str(),
            Tenant::Header(_) | Tenant::Body(_) | Tenant::Path => "",
        };
        let mut faults: Vec<(bool, String)> = vec![
            (
                !is_route_name(self.name()),
                "its name must match [a-z0-9][a-z0-9_-]{0,63}".to_owned(),
            ),
            (
                self.function().is_empty(),
                "it runs no function; say runs(\"…\")".to_owned(),
            ),
            (
                !label.is_empty() && !is_route_name(label),
                format!("tenant {label:?} must match [a-z0-9][a-z0-9_-]{{0,63}}"),
            ),
            (
                signed && self.secret_names().is_empty(),
                "it is signed but names no secret; say secret(\"…\")".to_owned(),
            ),
            (
                !signed && !self.secret_names().is_empty(),
                "it names a secret but checks no signature; say verified_by(…)".to_owned(),
            ),
            (
                self.secret_names().iter().any(|s| s.name.trim().is_empty()),
                "the name of a secret is empty".to_owned(),
            ),
            (
                self.secret_names()
                    .iter()
                    .any(|s| !s.name.trim().is_empty() && !is_secret_name(&s.name)),
                "one of its secrets is no name of a secret, but perhaps its value; wanted a name like STRIPE_WEBHOOK_SECRET, as in `wrangler secret put NAME`"
                    .to_owned(),
            ),
            (
                !signed && self.key_rules() == [KeyRule::SignedBytes],
                "its key is the signed bytes but it checks no signature".to_owned(),
            ),
            (
                self.provider().keys.is_empty() && self.provider().split.is_none(),
                "it has no key rule, so that no delivery could be named".to_owned(),
            ),
            (
                self.provider().scheme.needs_public_url() && self.told_url().is_none(),
                "its signature covers the address that the provider was told; say public_url(\"https://…\")"
                    .to_owned(),
            ),
            (
                self.provider().handshakes.contains(&Handshake::MetaVerify) && self.verify_token_name().is_none(),
                "its provider shows a verify token before it sends; say verify_token(\"…\") with the name of the secret that holds it"
                    .to_owned(),
            ),
            (
                self.signed_window_ms().is_some() && !signed,
                "it recognises signed bytes but checks no signature".to_owned(),
            ),
        ];
        faults.extend(self.number_faults());
        faults.extend(self.header_faults());
        faults
            .into_iter()
            .filter_map(|(wrong, fault)| wrong.then_some(fault))
            .collect()
    }

    fn number_faults(&self) -> Vec<(bool, String)> {
        let empty = |rule: &KeyRule| match rule {
            KeyRule::All(parts) | KeyRule::Whole(parts) => parts.is_empty(),
            _ => false,
        };
        let mut out = vec![(
            self.key_rules().iter().any(empty),
            "a key of several fields names none".to_owned(),
        )];
        if let Some(ms) = self.provider().respond_within_ms {
            out.push((
                !(1..=MAX_RESPOND_WITHIN_MS).contains(&ms),
                format!("respond_within in ms: got {ms}, wanted 1 to {MAX_RESPOND_WITHIN_MS}"),
            ));
        }
        if let Some(ms) = self.signed_window_ms() {
            out.push((
                !(1_000..=MAX_RETENTION_MS).contains(&ms),
                format!("dedup_signed in ms: got {ms}, wanted 1000 to {MAX_RETENTION_MS}"),
            ));
        }
        if let Some(limit) = self.limiter() {
            out.push((
                limit.binding.trim().is_empty(),
                "the binding of its rate limiter has no name".to_owned(),
            ));
        }
        out
    }

    fn header_faults(&self) -> Vec<(bool, String)> {
        let mut names = self.provider().keep.clone();
        names.extend(self.provider().keys.iter().flat_map(KeyRule::header_names));
        names.extend(self.provider().scheme.header_names());
        if let Tenant::Header(name) = self.tenant_rule() {
            names.push(name.clone());
        }
        let shown = self.key_rules().iter().flat_map(KeyRule::header_names);
        let shown: Vec<String> = match self.tenant_rule() {
            Tenant::Header(name) => shown.chain([name.clone()]).collect(),
            Tenant::Fixed(_) | Tenant::Body(_) | Tenant::Path => shown.collect(),
        };
        let shown = shown.into_iter().map(|name| {
            (
                SHOWN_NEVER.contains(&name.as_str()),
                format!("header {name} holds a credential; keys and tenants are shown"),
            )
        });
        let bad = names
            .iter()
            .map(|name| (!is_token(name), format!("{name:?} is no header name")));
        let kept = self.provider().keep.iter().map(|name| {
            (
                is_credential(name),
                format!("header {name} holds a credential and is never kept"),
            )
        });
        bad.chain(kept).chain(shown).collect()
    }
}
