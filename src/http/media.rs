//! Types of bodies (RFC 9110, 8.3 and 15.5.16): what a route takes, and what came.

use super::problem::Problem;
use crate::types::Headers;
use crate::webhook::single;

/// What routes take that read JSON.
const JSON: &str = "application/json";
/// What curl and HTML forms say of a body unless they are told otherwise.
const FORM: &str = "application/x-www-form-urlencoded";

/// Refuses a body of a type that is not on the list, or of none. An empty list takes every type.
/// Parameters don't count. An entry is `type/subtype`,
/// `type/*` or `*/*`; `application/json` takes `application/anything+json` as well.
///
/// # Errors
/// 415 with `Accept-Post`.
///
/// ```
/// use onceward::{http::media::check, types::Headers};
/// let json = ["application/json".to_owned()];
/// let with = |kind: &str| [("Content-Type", kind)].into_iter().collect::<Headers>();
/// assert!(check(&with("application/cloudevents+json; charset=utf-8"), &json).is_ok());
/// assert_eq!(check(&with("text/xml"), &json).unwrap_err().to_answer().status, 415);
/// assert!(check(&with("text/xml"), &[]).is_ok());
/// assert!(check(&Headers::default(), &json).is_err());
/// ```
pub fn check(headers: &Headers, accepts: &[String]) -> Result<(), Problem> {
    if accepts.is_empty() {
        return Ok(());
    }
    let refused = || Problem::unsupported_media_type(&accepts.join(", "));
    let kind = single(headers, "content-type").map_err(|_| refused())?;
    let kind = essence(kind.unwrap_or_default());
    let taken = accepts.iter().any(|range| takes(range, &kind));
    taken.then_some(()).ok_or_else(refused)
}

/// Refuses a body that is said to be something else than JSON. One that is empty, or of which nothing is
/// said, is left to whoever reads it; one that curl calls a form is taken if it is JSON after all.
///
/// # Errors
/// 415 with `Accept-Post`.
///
/// ```
/// use onceward::{http::media::json, types::Headers};
/// let form: Headers = [("Content-Type", "application/x-www-form-urlencoded")].into_iter().collect();
/// assert!(json(&form, b"{\"ok\": true}").is_ok());
/// assert!(json(&form, b"ok=true").is_err());
/// assert!(json(&form, b"").is_ok());
/// ```
pub fn json(headers: &Headers, body: &[u8]) -> Result<(), Problem> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let kind = single(headers, "content-type").ok().flatten();
    if headers.get("content-type").is_none() {
        return Ok(());
    }
    let is_form = kind.is_some_and(|kind| essence(kind) == FORM);
    if is_form && serde_json::from_slice::<serde_json::Value>(body).is_ok() {
        return Ok(());
    }
    check(headers, &[JSON.to_owned()])
}

/// What is wrong with a list of types, each as one sentence.
pub fn problems(accepts: &[String]) -> Vec<String> {
    let token = |text: &str| text == "*" || super::headers::is_token(text);
    let is_range = |range: &String| {
        range
            .split_once('/')
            .is_some_and(|(kind, sub)| token(kind) && token(sub) && (kind != "*" || sub == "*"))
    };
    accepts
        .iter()
        .filter(|range| !is_range(range))
        .map(|range| format!("accepts {range:?}: wanted a media type like \"application/json\""))
        .collect()
}

/// `type/subtype` in lower case, without parameters.
fn essence(kind: &str) -> String {
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

fn takes(range: &str, kind: &str) -> bool {
    let range = range.to_ascii_lowercase();
    match range.split_once('/') {
        Some(("*", "*")) => true,
        Some((wanted, "*")) => kind
            .split_once('/')
            .is_some_and(|(given, _)| given == wanted),
        _ if range == JSON => {
            kind == JSON || (kind.starts_with("application/") && kind.ends_with("+json"))
        }
        _ => kind == range,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(kind: &str) -> Headers {
        [("Content-Type", kind)].into_iter().collect()
    }

    fn list(ranges: &[&str]) -> Vec<String> {
        ranges.iter().map(|range| (*range).to_owned()).collect()
    }

    #[test]
    fn types_are_compared_as_rfc_9110_says() {
        let cases: &[(&[&str], &str, bool)] = &[
            (
                &["application/json"],
                "Application/JSON;charset=utf-8",
                true,
            ),
            (&["application/json"], "application/problem+json", true),
            (&["application/json"], "text/json", false),
            (&["application/json"], "image/svg+json", false),
            (&["application/json"], "application/jsonp", false),
            (&["application/json"], "", false),
            (&["application/json", "text/xml"], " text/xml ", true),
            (&["text/*"], "text/plain", true),
            (&["text/*"], "text", false),
            (&["text/*"], "application/text", false),
            (&["*/*"], "anything/goes", true),
            (&["image/png", "text/CSV"], "text/csv", true),
        ];
        for (ranges, kind, want) in cases {
            let got = check(&with(kind), &list(ranges)).is_ok();
            assert_eq!(got, *want, "{ranges:?} {kind}");
        }
        assert!(check(&Headers::default(), &list(&["text/csv"])).is_err());
        let twice: Headers = [("content-type", "text/csv"), ("content-type", "text/csv")]
            .into_iter()
            .collect();
        assert!(check(&twice, &list(&["text/csv"])).is_err());
    }

    #[test]
    fn a_refusal_lists_what_is_taken() {
        let problem = check(&with("a/b"), &list(&["text/csv", "image/*"])).expect_err("refused");
        let answer = problem.to_answer();
        assert_eq!(answer.headers.get("accept-post"), Some("text/csv, image/*"));
        assert!(!problem.detail.contains("a/b"));
    }

    #[test]
    fn json_is_known_by_its_name_or_by_itself() {
        assert!(json(&Headers::default(), b"{}").is_ok());
        assert!(json(&with("text/plain"), b" \n").is_ok());
        assert!(json(&with("text/plain"), b"{}").is_err());
        assert!(json(&with(FORM), b"[1]").is_ok());
        assert!(json(&with(FORM), b"a=1").is_err());
        assert!(json(&with("application/merge-patch+json"), b"{}").is_ok());
    }

    #[test]
    fn lists_that_name_no_types_are_faults() {
        assert!(problems(&list(&["a/b", "text/*", "*/*"])).is_empty());
        for wrong in ["", "json", "*/json", "a b/c", "a/"] {
            assert_eq!(problems(&list(&[wrong])).len(), 1, "{wrong}");
        }
    }
}
