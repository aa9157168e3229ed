//! Sources without Rust: what can be said, and every way to say it wrong.

use super::*;
use crate::config::{Per, SecretName};
use serde_json::json;

fn one(entry: &Value) -> Result<Source, Vec<String>> {
    let (mut sources, problems) = sources(&json!({ "a": entry }));
    match sources.pop() {
        Some(source) => Ok(source),
        None => Err(problems.iter().map(ToString::to_string).collect()),
    }
}

fn pointer(text: &str) -> Pointer {
    Pointer::new(text).expect("a pointer")
}

#[test]
fn everything_that_can_be_said_is_heard() {
    let source = one(&json!({
        "runs": "f", "pack": "standard-webhooks", "verify_token": "V", "public_url": "https://a.example/hooks/a",
        "secrets": ["NEW", { "name": "OLD", "until": "2027-01-31T00:00:00Z" }],
        "key": ["idempotency-key", "header:X-Id", "query:id", ["body:/a", "body:/b~1c"], "signed-bytes"],
        "fingerprint": { "only": ["/amount"] },
        "tenant": "header:X-Shop",
        "gzip": "plain",
        "accepts": ["application/JSON"],
        "keep_headers": ["X-One"],
        "own_5xx": true,
        "respond_within_ms": 1_000,
        "dedup_signed_ms": 172_800_000_u64,
        "rate_limit": { "binding": "LIMIT", "per": "source", "retry_after_s": 10 },
        "split": { "list": "", "key": "/id" },
    }))
    .expect("good");
    assert_eq!((source.name(), source.function()), ("a", "f"));
    assert!(source.scheme().is_signed());
    let secret = |name: &str, until_ms| SecretName {
        name: name.into(),
        until_ms,
    };
    let ends = Some(1_801_353_600_000);
    assert_eq!(
        source.secret_names(),
        [secret("NEW", None), secret("OLD", ends)]
    );
    assert_eq!(source.verify_token_name(), Some("V"));
    assert_eq!(source.told_url(), Some("https://a.example/hooks/a"));
    let both = KeyRule::All(vec![
        KeyRule::Body(pointer("/a")),
        KeyRule::Body(pointer("/b~1c")),
    ]);
    let rules = [
        KeyRule::IdempotencyKey,
        KeyRule::Header("x-id".into()),
        KeyRule::Query("id".into()),
        both,
        KeyRule::SignedBytes,
    ];
    assert_eq!(source.key_rules(), rules);
    let only = FingerprintMode::Only(vec![pointer("/amount")]);
    assert_eq!(source.fingerprint_mode(), &only);
    assert_eq!(source.tenant_rule(), &Tenant::Header("x-shop".into()));
    assert_eq!(source.encoding(), Rule::Plain);
    assert_eq!(source.content_types(), ["application/json"]);
    assert_eq!(source.kept_headers(), ["x-one"]);
    assert!(source.passes_5xx());
    assert_eq!(source.own_respond_within_ms(), Some(1_000));
    assert_eq!(source.signed_window_ms(), Some(172_800_000));
    let limit = RateLimit {
        binding: "LIMIT".into(),
        per: Per::Source,
        retry_after_s: 10,
    };
    assert_eq!(source.limiter(), Some(&limit));
    let split = Split {
        list: pointer(""),
        key: pointer("/id"),
    };
    assert_eq!(source.provider().split, Some(split));
}

#[test]
fn what_is_left_out_comes_from_the_pack() {
    let source = one(&json!({ "runs": "f", "pack": "standard-webhooks" })).expect("good");
    let pack = packs::by_name("standard-webhooks").expect("a pack");
    assert_eq!(source.provider(), &pack);
    let generic = one(&json!({ "runs": "f" })).expect("good");
    assert_eq!(generic, Source::generic("a").runs("f"));
    let one_key = one(&json!({ "runs": "f", "key": "header:x-id" })).expect("good");
    assert_eq!(one_key.key_rules(), [KeyRule::Header("x-id".into())]);
    for (mode, want) in [
        ("raw", FingerprintMode::Raw),
        ("canonical", FingerprintMode::Canonical),
        ("off", FingerprintMode::Off),
    ] {
        let source = one(&json!({ "runs": "f", "fingerprint": mode })).expect("good");
        assert_eq!(source.fingerprint_mode(), &want);
    }
    let except = one(&json!({ "runs": "f", "fingerprint": { "except": ["/at"] } })).expect("good");
    assert_eq!(
        except.fingerprint_mode(),
        &FingerprintMode::Except(vec![pointer("/at")])
    );
}

#[test]
fn every_fault_is_named_with_its_source() {
    for (entry, wants) in [
        (json!({}), &["missing field `runs`"][..]),
        (
            json!({ "runs": "f", "packs": "stripe" }),
            &["unknown field `packs`"],
        ),
        (
            json!({ "runs": "f", "pack": "strype" }),
            &["no pack is named \"strype\"; there are"],
        ),
        (
            json!({ "runs": "f", "gzip": "yes" }),
            &["unknown variant `yes`"],
        ),
        (json!(7), &["invalid type"]),
        (
            json!({
                "runs": "f", "key": "X-Id", "fingerprint": "sha", "tenant": "body:x", "secrets": [{ "name": "OLD", "until": "2027" }],
                "split": { "list": "x", "key": "/id" },
            }),
            &[
                "secret OLD: until \"2027\" is no time",
                "key \"X-Id\": wanted idempotency-key",
                "fingerprint \"sha\": wanted raw",
                "tenant \"body:x\"",
                "pointer \"x\"",
            ],
        ),
    ] {
        let problems = one(&entry).expect_err("refused");
        assert_eq!(problems.len(), wants.len(), "{problems:?}");
        for (problem, want) in problems.iter().zip(wants) {
            assert!(problem.starts_with("source a: "), "{problem}");
            assert!(problem.contains(want), "{problem:?} has no {want:?}");
        }
    }
    let (none, problems) = sources(&json!("payments"));
    assert!(none.is_empty());
    assert!(
        problems[0]
            .to_string()
            .contains("[vars.ONCEWARD_SOURCES.NAME]")
    );
}
