//! Settings, and the keys that they let in.

use super::*;

fn with(value: &str) -> Headers {
    [("Idempotency-Key", value)].into_iter().collect()
}

fn key(rules: &CallRules, value: &str) -> Result<String, (u16, Code)> {
    rules
        .key_of(&with(value), Prefer::default(), "r")
        .map_err(|problem| (problem.to_answer().status, problem.code))
}

#[test]
fn profiles_differ_as_the_table_says() {
    let of = |profile: Profile| {
        let rules = profile.rules();
        (
            rules.key_required,
            rules.status_mismatch,
            rules.status_in_flight,
            rules.echo_key,
            rules.least_retention_ms,
            rules.keeps,
        )
    };
    assert_eq!(of(Profile::Ietf), (true, 422, 409, false, 0, None));
    assert_eq!(
        of(Profile::Stripe),
        (false, 400, 409, false, 0, Some(Keeps::All))
    );
    assert_eq!(
        of(Profile::Acp),
        (true, 422, 409, true, 86_400_000, Some(Keeps::Below500))
    );
    assert_eq!(CallRules::default(), Profile::Ietf.rules());
    for profile in Profile::ALL {
        assert_eq!(Profile::parse(profile.as_str()), Some(*profile));
        assert!(profile.rules().problems(&Policy::default()).is_empty());
        assert_eq!(profile.rules().status_missing, 400);
    }
    assert_eq!(Profile::parse("IETF"), None);
}

#[test]
fn lenient_keys_are_one_key_either_way_and_strict_ones_are_quoted() {
    let lenient = CallRules::default();
    let strict = CallRules {
        key: KeySyntax::Strict,
        ..CallRules::default()
    };
    let malformed = Err((400, Code::KeyMalformed));
    for rules in [&lenient, &strict] {
        assert_eq!(key(rules, "\"k1\""), Ok("k1".into()));
        assert_eq!(key(rules, "\"k1\"; a=1"), Ok("k1".into()));
        assert_eq!(key(rules, "\"k1"), malformed);
        assert_eq!(key(rules, "\"\""), malformed);
    }
    for bare in ["k1", "123", ":YWJj:", "?1"] {
        assert_eq!(key(&lenient, bare), Ok(bare.into()));
        assert_eq!(key(&strict, bare), malformed);
    }
    let wish = Prefer {
        handling: Some(super::super::prefer::Handling::Strict),
        ..Prefer::default()
    };
    assert!(lenient.key_of(&with("k1"), wish, "r").is_err());
    assert!(lenient.key_of(&with("\"k1\""), wish, "r").is_ok());
}

#[test]
fn a_call_without_a_key_is_refused_or_a_run_of_its_own() {
    let none = Headers::default();
    let own = CallRules {
        status_missing: 428,
        ..CallRules::default()
    };
    let refused = own
        .key_of(&none, Prefer::default(), "r")
        .expect_err("refused");
    assert_eq!(
        (refused.to_answer().status, refused.code),
        (428, Code::KeyMissing)
    );
    let stripe = Profile::Stripe.rules();
    let fresh = |random| {
        stripe
            .key_of(&none, Prefer::default(), random)
            .expect("a key")
    };
    assert_ne!(fresh("r1"), fresh("r2"));
    assert_eq!(
        key(&stripe, ""),
        Err((400, Code::KeyMalformed)),
        "an empty key is no missing one"
    );
}

#[test]
fn patterns_narrow_what_a_key_may_be() {
    let rules = CallRules {
        key_pattern: Some(KeyPattern::new("A-Za-z0-9_-", 4, 6).expect("a pattern")),
        ..CallRules::default()
    };
    for good in ["abcd", "a_b-", "ABC123", "\"abcd\""] {
        assert!(key(&rules, good).is_ok(), "{good}");
    }
    for bad in ["abc", "abcdefg", "ab.cd", "\"abc\""] {
        assert_eq!(key(&rules, bad), Err((400, Code::KeyMalformed)), "{bad}");
    }
    let refused = rules.key_of(&with("SEC"), Prefer::default(), "r");
    let detail = refused.expect_err("refused").detail;
    assert!(
        detail.contains("^[A-Za-z0-9_-]{4,6}$") && !detail.contains("SEC"),
        "{detail}"
    );
}

#[test]
fn settings_that_do_not_hold_together_are_named() {
    let wrong = |rules: CallRules, policy: Policy| rules.problems(&policy).join("; ");
    let plain = CallRules::default;
    for (name, rules) in [
        (
            "mismatch",
            CallRules {
                status_mismatch: 500,
                ..plain()
            },
        ),
        (
            "in_flight",
            CallRules {
                status_in_flight: 202,
                ..plain()
            },
        ),
        (
            "missing",
            CallRules {
                status_missing: 399,
                ..plain()
            },
        ),
    ] {
        assert!(wrong(rules, Policy::default()).starts_with(&format!("status of {name}: got")));
    }
    let short = Policy {
        retention_failed_ms: 3_600_000,
        ..Policy::default()
    };
    assert!(wrong(Profile::Acp.rules(), short.clone()).contains("profile acp promises 86400000"));
    assert_eq!(wrong(plain(), short), "");
}

#[test]
fn only_who_asks_for_it_gets_the_key_back() {
    let headers = with("\"k1\"; a=1");
    assert_eq!(Profile::Acp.rules().echo(&headers), Some("\"k1\"; a=1"));
    assert_eq!(Profile::Ietf.rules().echo(&headers), None);
    assert_eq!(Profile::Acp.rules().echo(&Headers::default()), None);
}
