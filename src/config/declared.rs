//! Sources that are declared in the configuration of the deployment, without Rust: the variable
//! `ONCEWARD_SOURCES`, as `[vars.ONCEWARD_SOURCES.NAME]` in `wrangler.toml`. `docs/sources.md` describes it.

use super::secret::SecretSpec;
use super::{ConfigProblem, Label, RateLimit, Source, Tenant};
use crate::http::body::Rule;
use crate::webhook::{FingerprintMode, KeyRule, Pointer, Scheme, Split, packs};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// One source, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceSpec {
    runs: String,
    pack: Option<String>,
    scheme: Option<Scheme>,
    #[serde(default)]
    secrets: Vec<SecretSpec>,
    verify_token: Option<String>,
    key: Option<Keys>,
    fingerprint: Option<FingerprintSpec>,
    tenant: Option<String>,
    public_url: Option<String>,
    gzip: Option<Gzip>,
    accepts: Option<Vec<String>>,
    keep_headers: Option<Vec<String>>,
    #[serde(default)]
    own_5xx: bool,
    respond_within_ms: Option<u64>,
    dedup_signed_ms: Option<u64>,
    rate_limit: Option<RateLimit>,
    split: Option<SplitSpec>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Keys {
    One(String),
    Several(Vec<KeySpec>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum KeySpec {
    One(String),
    All(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum FingerprintSpec {
    Mode(String),
    Only(OnlySpec),
    Except(ExceptSpec),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnlySpec {
    only: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExceptSpec {
    except: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Gzip {
    Refuse,
    Wire,
    Plain,
    Either,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SplitSpec {
    list: String,
    key: String,
}

/// Reads all sources that are declared; everything that is wrong with any of them.
pub(super) fn sources(declared: &Value) -> (Vec<Source>, Vec<ConfigProblem>) {
    let (mut sources, mut problems) = (Vec::new(), Vec::new());
    let Value::Object(entries) = declared else {
        let problem =
            "wanted a table of sources by name, as [vars.ONCEWARD_SOURCES.NAME] in wrangler.toml";
        return (
            sources,
            vec![ConfigProblem::new("ONCEWARD_SOURCES", problem)],
        );
    };
    for (name, entry) in entries {
        let read = SourceSpec::deserialize(entry).map_err(|error| vec![error.to_string()]);
        match read.and_then(|spec| source(name, spec)) {
            Ok(source) => sources.push(source),
            Err(faults) => problems.extend(
                faults
                    .into_iter()
                    .map(|fault| ConfigProblem::new(format!("source {name}"), fault)),
            ),
        }
    }
    (sources, problems)
}

/// Collects what is wrong and goes on.
struct Faults(Vec<String>);

impl Faults {
    fn take<T>(&mut self, read: Result<T, String>) -> Option<T> {
        read.map_err(|fault| self.0.push(fault)).ok()
    }
}

fn source(name: &str, spec: SourceSpec) -> Result<Source, Vec<String>> {
    let mut faults = Faults(Vec::new());
    let mut source = match &spec.pack {
        None => Source::generic(name),
        Some(pack) => Source::pack(name, pack).ok_or_else(|| {
            let known: Vec<&str> = packs::names().collect();
            let known = known.join(", ");
            vec![format!("no pack is named {pack:?}; there are {known}")]
        })?,
    };
    source = source.runs(&spec.runs);
    if let Some(scheme) = spec.scheme {
        source = source.verified_by(scheme);
    }
    for secret in spec.secrets {
        if let Some(secret) = faults.take(secret.read()) {
            source = source.secret_until(&secret.name, secret.until_ms);
        }
    }
    if let Some(keys) = spec.key
        && let Some(rules) = faults.take(keys.read())
    {
        source = source.keyed_by(rules);
    }
    if let Some(mode) = spec.fingerprint
        && let Some(mode) = faults.take(mode.read())
    {
        source = source.fingerprint(mode);
    }
    if let Some(tenant) = spec.tenant
        && let Some(tenant) = faults.take(Tenant::read(&tenant))
    {
        source = source.tenant_by(tenant);
    }
    if let Some(split) = spec.split
        && let Some(split) = faults.take(split.read())
    {
        source = source.split(Some(split));
    }
    source = labelled(source, spec.labels, &mut faults);
    if let Some(ms) = spec.respond_within_ms {
        source = source.respond_within_ms(ms);
    }
    if let Some(ms) = spec.dedup_signed_ms {
        source = source.dedup_signed_ms(ms);
    }
    source = plain(
        source,
        spec.verify_token,
        spec.public_url,
        spec.gzip,
        spec.rate_limit,
    );
    if let Some(types) = spec.accepts {
        source = source.accepts(types);
    }
    if let Some(names) = spec.keep_headers {
        source = source.keep_headers(names);
    }
    source = source.own_5xx(spec.own_5xx);
    if faults.0.is_empty() {
        Ok(source)
    } else {
        Err(faults.0)
    }
}

fn labelled(source: Source, labels: BTreeMap<String, String>, faults: &mut Faults) -> Source {
    labels.into_iter().fold(source, |source, (name, text)| {
        match faults.take(Label::read(&text)) {
            Some(label) => source.label(&name, label),
            None => source,
        }
    })
}

/// What needs no reading.
fn plain(
    mut source: Source,
    verify_token: Option<String>,
    public_url: Option<String>,
    gzip: Option<Gzip>,
    rate_limit: Option<RateLimit>,
) -> Source {
    if let Some(name) = verify_token {
        source = source.verify_token(&name);
    }
    if let Some(url) = public_url {
        source = source.public_url(&url);
    }
    if let Some(gzip) = gzip {
        source = source.encoded_by(match gzip {
            Gzip::Refuse => Rule::Refuse,
            Gzip::Wire => Rule::Wire,
            Gzip::Plain => Rule::Plain,
            Gzip::Either => Rule::Either,
        });
    }
    if let Some(limit) = rate_limit {
        source = source.rate_limit(limit);
    }
    source
}

impl Keys {
    fn read(self) -> Result<Vec<KeyRule>, String> {
        match self {
            Self::One(text) => Ok(vec![key_rule(&text)?]),
            Self::Several(specs) => specs.into_iter().map(KeySpec::read).collect(),
        }
    }
}

impl KeySpec {
    fn read(self) -> Result<KeyRule, String> {
        match self {
            Self::One(text) => key_rule(&text),
            Self::All(texts) => {
                let rules: Result<Vec<_>, _> = texts.iter().map(|text| key_rule(text)).collect();
                Ok(KeyRule::All(rules?))
            }
        }
    }
}

/// `idempotency-key`, `header:NAME`, `query:NAME`, `body:/POINTER`, `signed-bytes`.
fn key_rule(text: &str) -> Result<KeyRule, String> {
    match text.split_once(':') {
        None if text == "idempotency-key" => Ok(KeyRule::IdempotencyKey),
        None if text == "signed-bytes" => Ok(KeyRule::SignedBytes),
        Some(("header", name)) => Ok(KeyRule::Header(name.to_ascii_lowercase())),
        Some(("query", name)) => Ok(KeyRule::Query(name.to_owned())),
        Some(("body", at)) => pointer(at).map(KeyRule::Body),
        _ => Err(format!(
            "key {text:?}: wanted idempotency-key, header:NAME, query:NAME, body:/POINTER or signed-bytes"
        )),
    }
}

impl FingerprintSpec {
    fn read(self) -> Result<FingerprintMode, String> {
        let all = |texts: Vec<String>| {
            let read = texts.iter().map(|text| pointer(text));
            read.collect::<Result<Vec<_>, _>>()
        };
        match self {
            Self::Mode(mode) => match mode.as_str() {
                "raw" => Ok(FingerprintMode::Raw),
                "canonical" => Ok(FingerprintMode::Canonical),
                "off" => Ok(FingerprintMode::Off),
                _ => Err(format!(
                    "fingerprint {mode:?}: wanted raw, canonical, off, {{ only = [\"/POINTER\"] }} or {{ except = [\"/POINTER\"] }}"
                )),
            },
            Self::Only(OnlySpec { only }) if only.is_empty() => {
                Err("fingerprint only names no pointer: any body would be like any other; say off if that is meant".to_owned())
            }
            Self::Only(OnlySpec { only }) => all(only).map(FingerprintMode::Only),
            Self::Except(ExceptSpec { except }) => all(except).map(FingerprintMode::Except),
        }
    }
}

impl SplitSpec {
    fn read(self) -> Result<Split, String> {
        Ok(Split {
            list: pointer(&self.list)?,
            key: pointer(&self.key)?,
        })
    }
}

fn pointer(text: &str) -> Result<Pointer, String> {
    Pointer::new(text).map_err(|fault| format!("pointer {text:?}: {fault}"))
}

#[cfg(test)]
#[path = "declared_tests.rs"]
mod tests;
