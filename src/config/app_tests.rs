//! One good configuration, and every way to get it wrong.

use super::*;
use crate::types::Policy;
use crate::webhook::{FingerprintMode, KeyRule, Scheme};

#[derive(Debug)]
struct Fake(&'static str, Policy);

impl Named for Fake {
    fn name(&self) -> &str {
        self.0
    }
    fn policy(&self) -> &Policy {
        &self.1
    }
}

fn fake(name: &'static str) -> Fake {
    Fake(name, Policy::default())
}

fn good() -> Source {
    Source::github("github")
        .secret("GITHUB_WEBHOOK_SECRET")
        .runs("event")
}

fn problems(functions: Vec<Fake>, sources: Vec<Source>) -> Vec<String> {
    let builder = functions
        .into_iter()
        .fold(Builder::new(), Builder::function);
    let builder = sources.into_iter().fold(builder, Builder::source);
    match builder.build() {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn presets_are_good() {
    let app = Builder::new()
        .function(fake("event"))
        .source(good())
        .source(Source::generic("inbox").runs("event"))
        .build()
        .expect("good");
    assert_eq!(app.functions().count(), 1);
    assert!(app.shared_functions().get("event").is_some());
    assert!(app.shared_functions().get("other").is_none());
    assert_eq!(app.sources().count(), 2);
    assert!(app.function("inbox").is_none() && app.source("event").is_none());

    let github = app.source("github").expect("there");
    assert_eq!(github.scheme(), &Scheme::github());
    assert_eq!(github.fingerprint_mode(), &FingerprintMode::Off);
    assert!(github.kept_headers().contains(&"x-github-event".to_owned()));
    let inbox = app.source("inbox").expect("there");
    assert_eq!(inbox.scheme(), &Scheme::None);
    assert_eq!(inbox.fingerprint_mode(), &FingerprintMode::Raw);
    assert_eq!(
        inbox.key_rules(),
        [
            KeyRule::IdempotencyKey,
            KeyRule::Header("x-request-id".into())
        ]
    );
    assert!(!github.passes_5xx() && github.own_respond_within_ms().is_none());
}

#[test]
fn each_fault_is_named() {
    let hmac = |header: &str| Scheme::hmac_sha256_hex(header, "");
    let tight = Policy {
        respond_within_ms: 1_000,
        lease_ms: 32_000,
        ..Policy::default()
    };
    let cases: Vec<(Source, &str)> = vec![
        (
            good().runs("evnt"),
            "source github: no function is named \"evnt\"",
        ),
        (
            Source::generic("a"),
            "source a: it runs no function; say runs(\"…\")",
        ),
        (
            Source::github("github").runs("event"),
            "source github: it is signed but names no secret; say secret(\"…\")",
        ),
        (
            good().verified_by(Scheme::None),
            "source github: it names a secret but checks no signature; say verified_by(…)",
        ),
        (
            good().secret(" "),
            "source github: the name of a secret is empty",
        ),
        (
            good().keyed_by([]),
            "source github: it has no key rule, so that no delivery could be named",
        ),
        (
            good().keyed_by([KeyRule::Header("x id".into())]),
            "source github: \"x id\" is no header name",
        ),
        (
            good().keep_headers([""]),
            "source github: \"\" is no header name",
        ),
        (
            good().verified_by(hmac("")),
            "source github: \"\" is no header name",
        ),
        (
            good().keep_headers(["Authorization"]),
            "source github: header authorization holds a credential and is never kept",
        ),
        (
            good().tenant("Acme"),
            "source github: tenant \"Acme\" must match [a-z0-9][a-z0-9_-]{0,63}",
        ),
        (
            good().respond_within_ms(0),
            "source github: respond_within in ms: got 0, wanted 1 to 5000",
        ),
        (
            good().respond_within_ms(5_001),
            "source github: respond_within in ms: got 5001, wanted 1 to 5000",
        ),
        (
            Source::generic("GitHub").runs("event"),
            "source GitHub: its name must match [a-z0-9][a-z0-9_-]{0,63}",
        ),
        (
            Source::generic("a").runs("tight").respond_within_ms(2_000),
            "source a: its respond_within does not fit function tight: lease in ms (at least \
             respond_within + slice_cut + 1000): got 32000, wanted 33000 to 900000",
        ),
    ];
    for (source, want) in cases {
        let got = problems(
            vec![fake("event"), Fake("tight", tight.clone())],
            vec![source],
        );
        assert_eq!(got, [want]);
    }
}

#[test]
fn all_faults_come_at_once_in_order() {
    let bad_policy = Policy {
        max_attempts: 0,
        ..Policy::default()
    };
    let got = problems(
        vec![fake("event"), Fake("event", bad_policy), fake("Ünfit")],
        vec![good(), good(), Source::generic("/").keyed_by([])],
    );
    assert_eq!(
        got,
        [
            "function event: max_attempts: got 0, wanted 1 to 100",
            "function event: two functions have this name",
            "function Ünfit: its name must match [a-z0-9][a-z0-9_-]{0,63}",
            "source github: two sources have this name",
            "source /: its name must match [a-z0-9][a-z0-9_-]{0,63}",
            "source /: it runs no function; say runs(\"…\")",
            "source /: it has no key rule, so that no delivery could be named",
        ]
    );
}

#[test]
fn route_names() {
    for name in ["a", "0", "a-b_c", &"a".repeat(64)] {
        assert!(is_route_name(name), "{name}");
    }
    for name in [
        "",
        "-a",
        "_a",
        "A",
        "a.b",
        "a/b",
        "a b",
        "é",
        "a%",
        &"a".repeat(65),
    ] {
        assert!(!is_route_name(name), "{name}");
    }
}

#[test]
fn secrets_fail_closed_and_are_never_shown() {
    let source = || good().secret("OLD_SECRET");
    let of = |old: Option<&str>| {
        let old = old.map(str::to_owned);
        let lookup = move |name: &str| match name {
            "OLD_SECRET" => old.clone(),
            _ => Some("SEC-1".to_owned()),
        };
        source().secrets(0, &lookup)
    };
    assert_eq!(of(Some("SEC-2")).expect("both").len(), 2);
    for (old, want) in [
        (None, "source github: secret OLD_SECRET is not set"),
        (Some(""), "source github: secret OLD_SECRET is empty"),
        (
            Some("SEC-2\n"),
            "source github: secret OLD_SECRET has white space or a line break before or after it; \
             store it without",
        ),
    ] {
        assert_eq!(of(old).expect_err("refused").to_string(), want);
    }
}

#[test]
fn a_secret_that_has_ended_no_longer_holds() {
    let source = good().secret_until("OLD_SECRET", Some(1_000));
    let lookup = |name: &str| Some(format!("value of {name}"));
    let places = |now_ms| {
        let secrets = source.secrets(now_ms, &lookup).expect("good");
        secrets.iter().map(|(at, _)| *at).collect::<Vec<_>>()
    };
    assert_eq!(places(999), [0, 1]);
    assert_eq!(places(1_000), [0], "now is not before its end");
    // Where only ended ones are named, nothing holds.
    let ended = Source::github("github")
        .secret_until("OLD_SECRET", Some(1_000))
        .runs("event");
    assert!(ended.secrets(1_000, &lookup).expect("good").is_empty());
}

#[test]
fn tasks_are_kept_for_longer_than_senders_repeat() {
    let brief = Policy {
        retention_succeeded_ms: 3_600_000,
        retention_failed_ms: 3_600_000,
        ..Policy::default()
    };
    for name in crate::webhook::packs::names() {
        let source = Source::pack("a", name).expect("a pack");
        let policy = source.over(&brief);
        let kept_ms = policy
            .retention_succeeded_ms
            .min(policy.retention_failed_ms);
        let plan_ms = source.provider().retry_plan_ms;
        assert!(
            kept_ms > plan_ms && kept_ms >= 3_600_000,
            "{name}: {kept_ms} ms"
        );
        let policy = source.over(&Policy::default());
        assert!(policy.retention_succeeded_ms > plan_ms, "{name}");
    }
    let long = good().dedup_signed_ms(8 * 24 * 3_600_000);
    let got = problems(vec![fake("event")], vec![long]);
    assert_eq!(
        got,
        [
            "source github: dedup_signed_ms of 691200000 is longer than function event keeps its tasks (604800000 ms)"
        ]
    );
}
