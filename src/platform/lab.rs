//! Sources and gateways of the lab build: one source for lab programs, and one for each provider's pack under the pack's own name,
//! so that anybody can send real payloads with nothing but curl.

use crate::config::{ForwardKey, Gateway, Source};
use crate::types::Policy;
use crate::webhook::{Handshake, Pack, packs};
use worker::Env;

/// Gateways of each kind to the service that tests run: its address is `ONCEWARD_LAB_ORIGIN`. Their
/// leases are short, so that a crash is soon noticed.
pub(super) fn gateways(env: &Env) -> Vec<Gateway> {
    let Ok(origin) = env.var("ONCEWARD_LAB_ORIGIN") else {
        return Vec::new();
    };
    let origin = origin.to_string();
    let policy = Policy {
        slice_cut_ms: 6_000,
        slice_budget_ms: 4_000,
        lease_ms: 8_000,
        ..Policy::default()
    };
    let to = |name: &str, base: &str| {
        Gateway::to(name, &format!("{origin}{base}"))
            .policy_of(policy.clone())
            .timeout_ms(3_000)
            .respond_within_ms(1_000)
    };
    vec![
        to("lab", "").forward_headers(&["X-Shop"]),
        to("lab-keys", "").honours_keys().retry_on(&[503]),
        to("lab-passed", "").forward_key(ForwardKey::Passed),
        to("lab-base", "/echo").origin_header("authorization", "LAB_ORIGIN_KEY", "Bearer "),
        to("lab-closed", "").origin_header("authorization", "LAB_UNSET_KEY", "Bearer "),
    ]
}

/// All sources. Those of packs run `inbox`; their secrets are named by the pack.
pub(super) fn sources() -> Vec<Source> {
    let packs = packs::names().filter_map(packs::by_name);
    // The deployed configuration has it already.
    let packs = packs.filter(|pack| pack.name != "github").map(of_pack);
    std::iter::once(Source::generic("lab").runs("lab"))
        .chain(packs)
        .collect()
}

fn of_pack(pack: Pack) -> Source {
    let (name, secret) = (pack.name, pack.secret_name);
    let mut source = Source::of(name, pack).runs("inbox");
    if source.scheme().is_signed() {
        source = source.secret(secret);
    }
    if source.scheme().needs_public_url() {
        source = source.public_url(&format!("https://onceward.example/hooks/{name}"));
    }
    if source
        .provider()
        .handshakes
        .contains(&Handshake::MetaVerify)
    {
        source = source.verify_token("META_VERIFY_TOKEN");
    }
    source
}
