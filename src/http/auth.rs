//! Whose bearer token it is, and what it may do.
//!
//! Tokens are kept and compared as SHA-256, in constant time and without stopping at a match, so
//! that the time taken says nothing about them. No token configured means that every call is refused.
//!
//! What a route asks of its caller stands in the table of routes and nowhere else: a [`Gate`] is made of
//! it, and whoever needs a caller gets one from there.

use super::code::Code;
use super::problem::Problem;
use super::route::Access;
use crate::types::Headers;
use crate::webhook::single;
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::{Choice, ConstantTimeEq};

/// A right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Look at tasks.
    Read,
    /// Cancel, retry, forget tasks.
    Operate,
    /// Call functions.
    Invoke,
    /// Look at what a task was sent: its raw input.
    Input,
}

impl Scope {
    /// Every right.
    pub const ALL: &'static [Self] = &[Self::Read, Self::Operate, Self::Invoke, Self::Input];

    /// The word used in configurations and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Invoke => "invoke",
            Self::Input => "input",
        }
    }
}

/// Name of the token that the secret `ONCEWARD_TOKEN` is.
pub const ROOT: &str = "default";

/// A token that is accepted: never its text.
#[derive(Clone)]
pub struct Token {
    /// Its name, for logs and the audit.
    pub name: String,
    /// SHA-256 of its text; several while it is rotated.
    pub hashes: Vec<[u8; 32]>,
    /// Its rights. None includes another.
    pub scopes: Vec<Scope>,
    /// Whose tasks it is for; empty for everybody's.
    pub tenant: String,
    /// From then on (milliseconds since 1970) it is over.
    pub until_ms: Option<u64>,
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Name of the token, for the log.
    pub name: String,
    /// Tenant label: part of the scope of every key that this caller sends, and the only one whose tasks
    /// it sees. Empty: it sees everybody's.
    pub tenant: String,
}

impl Caller {
    /// The only tenant whose tasks it sees, if there is one.
    pub fn only(&self) -> Option<&str> {
        Some(self.tenant.as_str()).filter(|tenant| !tenant.is_empty())
    }

    /// Whether tasks of this tenant are its business.
    pub fn sees(&self, tenant: &str) -> bool {
        self.tenant.is_empty() || self.tenant == tenant
    }

    /// Lets it go on where everybody's tasks are meant.
    ///
    /// # Errors
    /// 403, if it has a tenant.
    pub fn whole(&self) -> Result<(), Problem> {
        if self.tenant.is_empty() {
            return Ok(());
        }
        let why = "This is about every tenant, and the token is for one.";
        let because = format!("token {} has a tenant", self.name);
        Err(Problem::new(Code::Forbidden, why).because(because))
    }
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
    now_ms: u64,
}

impl fmt::Debug for Tokens {
    /// Names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.accepted.iter().map(|t| t.name.as_str());
        f.debug_list().entries(names).finish()
    }
}

impl Tokens {
    /// Those of a configuration, by name.
    pub fn named(accepted: Vec<Token>) -> Self {
        Self {
            accepted,
            ..Self::default()
        }
    }

    /// One token with every right and no tenant: the secret `ONCEWARD_TOKEN`. One that is unset,
    /// empty or that no request could carry leaves the API closed; [`Tokens::fault`] says why.
    pub fn single(text: Option<&str>) -> Self {
        Self::default().with_root(text)
    }

    /// The same with the secret `ONCEWARD_TOKEN`, which has every right and no tenant.
    #[must_use]
    pub fn with_root(mut self, text: Option<&str>) -> Self {
        let text = text.unwrap_or_default();
        if text.is_empty() {
            self.fault = Some("no token is set: every call is refused");
        } else if !text.bytes().all(|b| b.is_ascii_graphic()) {
            let fault = "the token holds a space, a line break or non-ASCII: every call is refused";
            self.fault = Some(fault);
        } else {
            self.accepted.push(Token {
                name: ROOT.to_owned(),
                hashes: vec![Sha256::digest(text).into()],
                scopes: Scope::ALL.to_vec(),
                tenant: String::new(),
                until_ms: None,
            });
        }
        if !self.accepted.is_empty() {
            self.fault = None;
        }
        self
    }

    /// The same at this time: tokens that are over by then open nothing.
    #[must_use]
    pub fn at(mut self, now_ms: u64) -> Self {
        self.now_ms = now_ms;
        self
    }

    /// The gate of a route.
    pub fn gate(self, access: Access) -> Gate {
        Gate {
            tokens: self,
            access,
        }
    }

    /// Names of the tokens of this tenant.
    pub fn names_of<'a>(&'a self, tenant: &'a str) -> impl Iterator<Item = &'a str> {
        let of_tenant = move |token: &&Token| token.tenant == tenant;
        let tokens = self.accepted.iter().filter(of_tenant);
        tokens.map(|token| token.name.as_str())
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
            let hashes = token.hashes.iter();
            let is_it = hashes.fold(Choice::from(0), |any, hash| any | hash.ct_eq(&given));
            if bool::from(is_it) {
                found = Some(token);
            }
        }
        let token = found.ok_or_else(|| {
            Problem::bad_token(self.fault.unwrap_or("no configured token is like this one"))
        })?;
        if token.until_ms.is_some_and(|until| until <= self.now_ms) {
            let why = format!("the time of token {} is over", token.name);
            return Err(Problem::bad_token(why));
        }
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

/// What a route asks of its caller, by the table of routes, with the tokens that are accepted.
///
/// ```
/// use onceward::http::auth::{Scope, Tokens};
/// use onceward::http::route::Access;
/// use onceward::types::Headers;
/// let headers: Headers = [("Authorization", "Bearer s3cret")].into_iter().collect();
/// let gate = |access| Tokens::single(Some("s3cret")).gate(access);
/// assert!(gate(Access::Token(Scope::Read)).caller(&headers).is_ok());
/// assert!(gate(Access::Public).caller(&headers).is_err(), "nobody is asked for there");
/// ```
#[derive(Clone, Debug)]
pub struct Gate {
    tokens: Tokens,
    access: Access,
}

impl Gate {
    /// Who calls, by the token of the request.
    ///
    /// # Errors
    /// As [`Tokens::check`]. 403 also where the table asks for no token: what needs a caller stays closed
    /// then.
    pub fn caller(&self, headers: &Headers) -> Result<Caller, Problem> {
        match self.access {
            Access::Token(scope) | Access::TokenOrOneTime(scope) => {
                self.tokens.check(headers, scope)
            }
            Access::Public | Access::Signature | Access::Ticket => {
                Err(Problem::new(Code::Forbidden, "No token opens this."))
            }
        }
    }

    /// Whether the one-time token of an address opens it as well.
    pub fn takes_one_time(&self) -> bool {
        matches!(self.access, Access::TokenOrOneTime(_))
    }

    /// What the route asks for.
    pub const fn access(&self) -> Access {
        self.access
    }

    /// The tokens that are accepted.
    pub const fn tokens(&self) -> &Tokens {
        &self.tokens
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
mod tests;
