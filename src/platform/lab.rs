//! Sources of the lab build: one for lab programs, and one for each provider's pack under the pack's own name,
//! so that anybody can send real payloads with nothing but curl.

use crate::config::Source;
use crate::webhook::{Handshake, Pack, packs};

/// All of them. Those of packs run `inbox`; their secrets are named by the pack.
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
