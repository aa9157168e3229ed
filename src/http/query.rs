//! The parameters of an address.

use super::code::Code;
use super::problem::{Cause, Problem};

/// Name and value of each parameter of a path with its query, decoded, in order.
///
/// ```
/// use onceward::http::query::parameters;
/// assert_eq!(parameters("/a?b=1&c=%20"), [("b".into(), "1".into()), ("c".into(), " ".into())]);
/// assert!(parameters("/a").is_empty());
/// ```
pub fn parameters(target: &str) -> Vec<(String, String)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

/// A parameter that there is none of, with those that there are.
pub fn unknown(name: String, known: &str) -> Cause {
    Cause {
        detail: format!("no such parameter; there is {known}"),
        pointer: name,
    }
}

/// Says everything that is wrong with a query.
///
/// # Errors
/// 400, if anything is.
pub fn settled(wrong: Vec<Cause>) -> Result<(), Problem> {
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Problem::new(
        Code::InputInvalid,
        "The query has problems; `errors` lists them.",
    )
    .errors(wrong))
}
