//! Declared tokens: what they open, and what is wrong with them.

use super::*;
use crate::types::Headers;
use serde_json::json;

fn hex(text: &str) -> String {
    use std::fmt::Write as _;
    let hash = Sha256::digest(text);
    hash.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn read(declared: &Value) -> Tokens {
    let (tokens, problems) = tokens(declared);
    assert_eq!(problems, []);
    tokens
}

fn bearer(token: &str) -> Headers {
    [("authorization", format!("Bearer {token}"))]
        .into_iter()
        .collect()
}

fn status(tokens: &Tokens, token: &str, scope: Scope) -> u16 {
    let checked = tokens.check(&bearer(token), scope);
    checked.map_or_else(|problem| problem.status(), |_| 200)
}

#[test]
fn each_right_is_named_and_includes_no_other() {
    for scope in Scope::ALL {
        let declared = json!({ "one": { "sha256": hex("SEC-1"), "scopes": [scope.as_str()] } });
        let tokens = read(&declared);
        for asked in Scope::ALL {
            let want = if asked == scope { 200 } else { 403 };
            assert_eq!(
                status(&tokens, "SEC-1", *asked),
                want,
                "{scope:?} {asked:?}"
            );
        }
        assert_eq!(status(&tokens, "SEC-2", *scope), 401);
        assert_eq!(status(&tokens, "SEC-", *scope), 401);
    }
}

#[test]
fn a_token_has_several_hashes_while_it_is_rotated_and_a_time_at_which_it_is_over() {
    let declared = json!({
        "ops": { "sha256": [hex("SEC-1"), hex("SEC-2").to_uppercase()], "scopes": ["operate"], "until": "1970-01-01T00:00:10Z" },
        "shop": { "sha256": hex("SEC-3"), "scopes": ["read"], "tenant": "acme" },
    });
    let tokens = read(&declared);
    for (now_ms, want) in [(0, 200), (9_999, 200), (10_000, 401), (10_001, 401)] {
        let tokens = tokens.clone().at(now_ms);
        for token in ["SEC-1", "SEC-2"] {
            assert_eq!(status(&tokens, token, Scope::Operate), want, "{now_ms}");
        }
        assert_eq!(status(&tokens, "SEC-3", Scope::Read), 200);
    }
    let caller = tokens.check(&bearer("SEC-3"), Scope::Read).expect("opens");
    assert_eq!(
        (caller.name.as_str(), caller.tenant.as_str()),
        ("shop", "acme")
    );
    assert!(caller.sees("acme") && !caller.sees("") && !caller.sees("other"));
    let caller = tokens
        .check(&bearer("SEC-1"), Scope::Operate)
        .expect("opens");
    assert!(caller.sees("acme") && caller.sees(""));
    assert_eq!(tokens.names_of("acme").collect::<Vec<_>>(), ["shop"]);
}

#[test]
fn the_secret_opens_beside_them_and_they_open_without_it() {
    let declared = json!({ "one": { "sha256": hex("SEC-1"), "scopes": ["read"] } });
    let alone = read(&declared).with_root(None);
    assert_eq!(
        (alone.fault(), status(&alone, "SEC-1", Scope::Read)),
        (None, 200)
    );
    let both = read(&declared).with_root(Some("SEC-0"));
    assert_eq!(status(&both, "SEC-1", Scope::Read), 200);
    for scope in Scope::ALL {
        assert_eq!(status(&both, "SEC-0", *scope), 200);
    }
    assert_eq!(format!("{both:?}"), "[\"one\", \"default\"]");
}

#[test]
fn everything_that_is_wrong_is_named_with_its_place_and_without_the_text() {
    let good = hex("SEC-1");
    for (entry, want) in [
        (
            json!({"sha256": "SEC-1", "scopes": ["read"]}),
            "sha256 has 5 characters",
        ),
        (
            json!({"sha256": &good[1..], "scopes": ["read"]}),
            "sha256 has 63 characters",
        ),
        (
            json!({"sha256": [], "scopes": ["read"]}),
            "0 sha256; wanted 1 to 4",
        ),
        (
            json!({"sha256": vec![&good; 5], "scopes": ["read"]}),
            "5 sha256; wanted 1 to 4",
        ),
        (
            json!({"sha256": [good, good], "scopes": ["read"]}),
            "the same hash twice",
        ),
        (
            json!({"sha256": hex(""), "scopes": ["read"]}),
            "that of an empty text",
        ),
        (
            json!({"sha256": hex("\n"), "scopes": ["read"]}),
            "that of an empty text",
        ),
        (json!({"sha256": good, "scopes": []}), "scopes is empty"),
        (
            json!({"sha256": good, "scopes": ["write"]}),
            "no scope is named \"write\"; there are read, operate, invoke, input",
        ),
        (
            json!({"sha256": good, "scopes": ["read", "read"]}),
            "named twice",
        ),
        (
            json!({"sha256": good, "scopes": ["read"], "tenant": ""}),
            "tenant \"\" is not 1 to 255",
        ),
        (
            json!({"sha256": good, "scopes": ["read"], "tenant": "a b"}),
            "tenant \"a b\" is not",
        ),
        (
            json!({"sha256": good, "scopes": ["read"], "until": "2027-01-31"}),
            "until \"2027-01-31\" is no time",
        ),
        (
            json!({"sha256": good, "scopes": ["read"], "scope": 1}),
            "unknown field `scope`",
        ),
        (json!({"sha256": good}), "missing field `scopes`"),
        (json!({"scopes": ["read"]}), "missing field `sha256`"),
        (json!("SEC-1"), "wanted a table"),
    ] {
        let (_, problems) = tokens(&json!({ "ops": entry }));
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(
            shown.iter().any(|text| text.contains(want)),
            "{want}: {shown:?}"
        );
        assert!(
            shown.iter().all(|text| text.starts_with("token ops: ")),
            "{shown:?}"
        );
    }
    let (_, problems) = tokens(
        &json!({ "a": {"sha256": "SEC-1", "scopes": []}, "Ops": {}, "default": {"sha256": good, "scopes": ["read"]} }),
    );
    let shown = format!("{problems:?}");
    for want in ["token a", "token Ops", "token default", "ONCEWARD_TOKEN"] {
        assert!(shown.contains(want), "{want}: {shown}");
    }
    assert!(!shown.contains("SEC-1"), "{shown}");
    let (_, problems) = tokens(
        &json!({ "a": {"sha256": good, "scopes": ["read"]}, "b": {"sha256": good, "scopes": ["read"]} }),
    );
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().contains("that of token a as well"));
    for whole in [json!("x"), json!([]), json!(1), Value::Null] {
        assert_eq!(tokens(&whole).1[0].place, "ONCEWARD_TOKENS");
    }
}
