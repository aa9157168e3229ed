//! Whose bearer token it is, and what it may do.
//!
//! Tokens are kept and compared as SHA-256, in constant time and without stopping at a match, so
//! that the time taken says nothing about them. No token configured means that every call is refused.

use super::code::Code;
use super::problem::Problem;
use crate::types::Headers;
use crate::webhook::single;
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// A right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Look at tasks.
    Read,
    /// Cancel, retry, forget tasks.
    Operate,
    /// Call functions.
    Invoke,
}

impl Scope {
    /// Every right.
    pub const ALL: &'static [Self] = &[Self::Read, Self::Operate, Self::Invoke];

    /// The word used in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Invoke => "invoke",
        }
    }
}

/// A token that is accepted.
#[derive(Clone)]
struct Token {
    name: String,
    hash: [u8; 32],
    scopes: Vec<Scope>,
    tenant: String,
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Name of the token, for the log.
    pub name: String,
    /// Tenant label: part of the scope of every key that this caller sends.
    pub tenant: String,
}

/// The tokens that are accepted. Without any, every call is refused.
///
/// ```
/// use onceward::http::auth::{Scope, Tokens};
/// use onceward::types::Headers;
/// let headers: Headers = [("Authorization", "Bearer s3cret")].into_iter().collect();
/// assert!(Tokens::single(Some("s3cret")).check(&headers, Scope::Read).is_ok());
/// assert!(Tokens::single(Some("other")).check(&headers, Scope::Read).is_err());
/// assert!(Tokens::single(None).check(&headers, Scope::Read).is_err());
/// ```
#[derive(Clone, Default)]
pub struct Tokens {
    accepted: Vec<Token>,
    fault: Option<&'static str>,
}

impl fmt::Debug for Tokens {
    /// Names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.accepted.iter().map(|t| t.name.as_str());
        f.debug_list().entries(names).finish()
    }
}

impl Tokens {
    /// One token with every right and no tenant: the secret `ONCEWARD_TOKEN`. One that is unset,
    /// empty or that no request could carry leaves the API closed; [`Tokens::fault`] says why.
    pub fn single(text: Option<&str>) -> Self {
        let text = text.unwrap_or_default();
        if text.is_empty() {
            return Self {
                fault: Some("no token is set: every call is refused"),
                ..Self::default()
            };
        }
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Self {
                fault: Some(
                    "the token holds a space, a line break or non-ASCII: every call is refused",
                ),
                ..Self::default()
            };
        }
        Self {
            accepted: vec![Token {
                name: "default".to_owned(),
                hash: Sha256::digest(text).into(),
                scopes: Scope::ALL.to_vec(),
                tenant: String::new(),
            }],
            fault: None,
        }
    }

    /// Why the API is closed, for the log.
    pub fn fault(&self) -> Option<&'static str> {
        self.fault
    }

    /// Checks the token of a request and its right.
    ///
    /// # Errors
    /// 401 with one text whatever the cause; 403 if the token holds but lacks the right.
    pub fn check(&self, headers: &Headers, scope: Scope) -> Result<Caller, Problem> {
        let given: [u8; 32] = Sha256::digest(bearer(headers)?).into();
        let mut found = None;
        for token in &self.accepted {
            if bool::from(token.hash.ct_eq(&given)) {
                found = Some(token);
            }
        }
        let token = found.ok_or_else(|| {
            Problem::bad_token(self.fault.unwrap_or("no configured token is like this one"))
        })?;
        if !token.scopes.contains(&scope) {
            let right = scope.as_str();
            return Err(
                Problem::new(Code::Forbidden, format!("This needs the right {right:?}."))
                    .because(format!("token {} lacks {right}", token.name)),
            );
        }
        Ok(Caller {
            name: token.name.clone(),
            tenant: token.tenant.clone(),
        })
    }
}

/// The token that a request carries.
fn bearer(headers: &Headers) -> Result<&str, Problem> {
    let value = single(headers, "authorization")
        .map_err(|_| Problem::bad_token("Authorization came more than once"))?
        .ok_or_else(|| Problem::bad_token("Authorization is missing"))?;
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Problem::bad_token("Authorization has another scheme"));
    }
    let token = token.trim_start_matches(' ');
    if token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Problem::bad_token("Authorization holds no token"));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
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
}
