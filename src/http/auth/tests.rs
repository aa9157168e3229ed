//! Which tokens open, and what they open.

use super::*;

fn check(secret: Option<&str>, fields: &[(&str, &str)]) -> Result<Caller, Problem> {
    let headers = fields.iter().copied().collect();
    Tokens::single(secret).check(&headers, Scope::Invoke)
}

#[test]
fn the_right_token_opens() {
    for value in ["Bearer SEC-1", "bearer SEC-1", "BEARER  SEC-1"] {
        let caller = check(Some("SEC-1"), &[("authorization", value)]).expect(value);
        assert_eq!(caller.tenant, "");
    }
}

#[test]
fn everything_else_gets_one_and_the_same_401() {
    let long = format!("Bearer {}", "x".repeat(100_000));
    let values = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer  ",
        "SEC-1",
        "BearerSEC-1",
        "Basic SEC-1",
        "Bearer SEC-",
        "Bearer SEC-11",
        "Bearer SEC-2",
        "Bearer sec-1",
        "Bearer SEC-1 ",
        "Bearer SEC-1, Bearer SEC-1",
        "Bearer \tSEC-1",
        " Bearer SEC-1",
        "Bearer SEC-1\u{e9}",
        "Bearer é",
        &long,
    ];
    let missing = check(Some("SEC-1"), &[]).expect_err("refused");
    let body = missing.to_answer();
    assert_eq!(body.status, 401);
    let same = |problem: &Problem| {
        assert_eq!(problem.to_answer(), body);
        assert!(!format!("{problem:?}").contains("SEC-"), "{problem:?}");
    };
    for value in values {
        same(&check(Some("SEC-1"), &[("Authorization", value)]).expect_err(value));
    }
    let twice = [
        ("Authorization", "Bearer SEC-1"),
        ("authorization", "Bearer SEC-1"),
    ];
    same(&check(Some("SEC-1"), &twice).expect_err("twice"));
}

#[test]
fn without_a_usable_token_the_api_is_closed() {
    for secret in [None, Some(""), Some(" "), Some("SEC-1\n"), Some("é")] {
        assert!(Tokens::single(secret).fault().is_some(), "{secret:?}");
        for value in ["Bearer SEC-1", "Bearer ", "Bearer é"] {
            let got = check(secret, &[("Authorization", value)]).expect_err("closed");
            assert_eq!(got.code, Code::Unauthorized);
        }
    }
    assert_eq!(Tokens::single(Some("SEC-1")).fault(), None);
}

#[test]
fn a_token_without_the_right_is_forbidden() {
    let mut tokens = Tokens::single(Some("SEC-1"));
    tokens.accepted[0].scopes = vec![Scope::Read];
    let headers: Headers = [("authorization", "Bearer SEC-1")].into_iter().collect();
    assert!(tokens.check(&headers, Scope::Read).is_ok());
    for scope in [Scope::Operate, Scope::Invoke] {
        let problem = tokens.check(&headers, scope).expect_err("refused");
        assert_eq!(problem.to_answer().status, 403);
    }
}

#[test]
fn debug_shows_no_token() {
    let text = format!("{:?}", Tokens::single(Some("SEC-1")));
    assert_eq!(text, "[\"default\"]");
}
