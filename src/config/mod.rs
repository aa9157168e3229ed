//! Ring 2: what one deployment consists of: functions, and the sources that run them.
//!
//! ```
//! use onceward::config::{Builder, Source};
//! use onceward::function::{Ctx, Function};
//! use onceward::types::Failure;
//!
//! async fn greet(_: Ctx, name: String) -> Result<String, Failure> { Ok(format!("hello {name}")) }
//!
//! let app = Builder::new()
//!     .function(Function::new("greet", greet))
//!     .source(Source::generic("inbox").runs("greet"))
//!     .build()
//!     .unwrap();
//! assert_eq!(app.source("inbox").unwrap().function(), "greet");
//! ```

mod app;
mod declared;
mod endpoint;
mod flows;
mod gateway;
mod label;
mod problem;
mod rate;
mod secret;
mod source;
mod source_check;
mod tenant;
mod tokens;

pub use app::{App, Builder, Functions};
pub use endpoint::{Endpoint, Endpoints};
pub use flows::{Bundled, Flows};
pub use gateway::{ForwardKey, Gateway, METHODS, OriginHeader, WhenUnknown};
pub use label::{Label, Labels, is_label_name};
pub use problem::ConfigProblem;
pub use rate::{Per, RateLimit};
pub use secret::SecretName;
pub use source::Source;
pub use tenant::Tenant;

use crate::function::Function;
use crate::http::profile::CallRules;
use crate::types::Policy;

/// Longest name of a source or function in an address.
pub const MAX_ROUTE_NAME_CHARS: usize = 64;

/// What the configuration has to know of a function.
pub trait Named {
    /// Its name.
    fn name(&self) -> &str;
    /// How it wants to be run.
    fn policy(&self) -> &Policy;
    /// What its callers are promised.
    fn rules(&self) -> CallRules {
        CallRules::default()
    }
    /// What its tasks can be found by.
    fn labels(&self) -> Labels {
        Labels::default()
    }
}

impl Named for Function {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn policy(&self) -> &Policy {
        Self::policy(self)
    }

    fn rules(&self) -> CallRules {
        Self::rules(self).clone()
    }

    fn labels(&self) -> Labels {
        Self::labels(self).clone()
    }
}

/// True for a name that can stand in an address without being encoded: `[a-z0-9][a-z0-9_-]{0,63}`.
///
/// ```
/// use onceward::config::is_route_name;
/// assert!(is_route_name("github-event"));
/// assert!(!is_route_name("GitHub") && !is_route_name("-a") && !is_route_name("a%2eb"));
/// ```
pub fn is_route_name(name: &str) -> bool {
    let starts_well = name
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
    starts_well && plain && name.len() <= MAX_ROUTE_NAME_CHARS
}
