//! API tokens that are declared in the configuration of the deployment: the variable `ONCEWARD_TOKENS`, as
//! `[vars.ONCEWARD_TOKENS.NAME]` in `wrangler.toml`. `docs/access.md` describes it.

use super::{ConfigProblem, is_route_name};
use crate::http::auth::{ROOT, Scope, Token, Tokens};
use crate::limits::{MAX_KEY_CHARS, MAX_TOKEN_HASHES};
use crate::types::time::parse_rfc3339;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// What is hashed by mistake: nothing, and nothing but the line break of `echo`.
const EMPTY: [&[u8]; 3] = [b"", b"\n", b"\r\n"];

/// One token, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenSpec {
    sha256: Hashes,
    scopes: Vec<String>,
    tenant: Option<String>,
    until: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Hashes {
    One(String),
    Several(Vec<String>),
}

/// Reads all tokens that are declared; everything that is wrong with any of them.
pub(super) fn tokens(declared: &Value) -> (Tokens, Vec<ConfigProblem>) {
    let Value::Object(entries) = declared else {
        let problem =
            "wanted a table of tokens by name, as [vars.ONCEWARD_TOKENS.NAME] in wrangler.toml";
        let problem = ConfigProblem::new("ONCEWARD_TOKENS", problem);
        return (Tokens::default(), vec![problem]);
    };
    let (mut tokens, mut problems) = (Vec::new(), Vec::new());
    let mut known: BTreeMap<[u8; 32], String> = BTreeMap::new();
    for (name, entry) in entries {
        let (token, mut wrong) = match read(name, entry) {
            Ok(read) => read,
            Err(wrong) => {
                problems.push(ConfigProblem::new(format!("token {name}"), wrong));
                continue;
            }
        };
        for hash in &token.hashes {
            match known.get(hash) {
                Some(other) if other != name => {
                    wrong.push(format!("its sha256 is that of token {other} as well"));
                }
                _ => {
                    known.insert(*hash, name.clone());
                }
            }
        }
        tokens.push(token);
        let wrong = wrong.into_iter();
        problems.extend(wrong.map(|fault| ConfigProblem::new(format!("token {name}"), fault)));
    }
    (Tokens::named(tokens), problems)
}

fn read(name: &str, entry: &Value) -> Result<(Token, Vec<String>), String> {
    if !entry.is_object() {
        // A text may be the token itself: it is not shown.
        return Err("wanted a table with sha256 and scopes".to_owned());
    }
    let spec = TokenSpec::deserialize(entry).map_err(|error| error.to_string())?;
    Ok(token(name, spec))
}

/// A token as far as it can be read, and what is wrong with it.
fn token(name: &str, spec: TokenSpec) -> (Token, Vec<String>) {
    let mut wrong = Vec::new();
    if !is_route_name(name) {
        wrong.push("its name must match [a-z0-9][a-z0-9_-]{0,63}".to_owned());
    }
    if name == ROOT {
        wrong.push(format!("{ROOT} is the name of the secret ONCEWARD_TOKEN"));
    }
    let hashes = hashes(spec.sha256, &mut wrong);
    let scopes = scopes(&spec.scopes, &mut wrong);
    if let Some(tenant) = &spec.tenant {
        let plain = tenant.bytes().all(|b| b.is_ascii_graphic());
        if !plain || !(1..=MAX_KEY_CHARS).contains(&tenant.len()) {
            wrong.push(format!(
                "tenant {tenant:?} is not 1 to {MAX_KEY_CHARS} visible ASCII characters; leave it out for a token of everybody's tasks"
            ));
        }
    }
    let until_ms = spec.until.as_deref().and_then(|until| {
        let read = parse_rfc3339(until);
        if read.is_none() {
            wrong.push(format!(
                "until {until:?} is no time; wanted RFC 3339, like 2027-01-31T00:00:00Z"
            ));
        }
        read
    });
    let token = Token {
        name: name.to_owned(),
        hashes,
        scopes,
        tenant: spec.tenant.unwrap_or_default(),
        until_ms,
    };
    (token, wrong)
}

fn hashes(given: Hashes, wrong: &mut Vec<String>) -> Vec<[u8; 32]> {
    let texts = match given {
        Hashes::One(text) => vec![text],
        Hashes::Several(texts) => texts,
    };
    if texts.is_empty() || texts.len() > MAX_TOKEN_HASHES {
        let count = texts.len();
        wrong.push(format!("{count} sha256; wanted 1 to {MAX_TOKEN_HASHES}"));
    }
    let mut hashes = Vec::new();
    for text in texts {
        let Some(hash) = unhex(&text) else {
            // What stands there may be the token itself: it is not shown.
            wrong.push(format!(
                "sha256 has {} characters that are no SHA-256; wanted 64 hexadecimal digits, of: printf %s TOKEN | sha256sum",
                text.chars().count()
            ));
            continue;
        };
        if EMPTY.iter().any(|empty| Sha256::digest(empty)[..] == hash) {
            wrong.push("sha256 is that of an empty text".to_owned());
        }
        if hashes.contains(&hash) {
            wrong.push("sha256 names the same hash twice".to_owned());
        }
        hashes.push(hash);
    }
    hashes
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    if digits.len() != 2 * hash.len() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
    }
    Some(hash)
}

fn scopes(given: &[String], wrong: &mut Vec<String>) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for text in given {
        match Scope::ALL.iter().find(|scope| scope.as_str() == text) {
            Some(scope) if scopes.contains(scope) => {
                wrong.push(format!("scope {text:?} is named twice"));
            }
            Some(scope) => scopes.push(*scope),
            None => {
                let all: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
                wrong.push(format!(
                    "no scope is named {text:?}; there are {}",
                    all.join(", ")
                ));
            }
        }
    }
    if given.is_empty() {
        wrong.push("scopes is empty: the token opens nothing".to_owned());
    }
    scopes
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
