//! Errors as problem documents (RFC 9457).
//!
//! `type` is the relative reference `/errors/{code}`, which the deployment itself serves as a page;
//! RFC 9457 resolves it against the address of the request.

use super::code::Code;
use super::flows::diagnostic;
use crate::flow::diagnostic::Diagnostic;
use crate::types::{Answer, Headers, TaskId};
use serde_json::{Map, Value, json};

/// The challenge of routes that take a token.
const BEARER: &str = "Bearer realm=\"onceward\"";
/// The challenge of routes that take a signature. RFC 9110 wants one with every 401.
const SIGNATURE: &str = "Webhook-Signature realm=\"onceward\"";
/// What every 401 says, whatever its cause: a caller who has to guess learns nothing.
const UNAUTHORIZED: &str = "The token or signature of this request does not hold.";

/// One of several causes of the same problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What was got and what was wanted.
    pub detail: String,
    /// Where in the input: a JSON pointer, or a path like `steps[2].retry`.
    pub pointer: String,
}

/// An error on its way to the client.
///
/// ```
/// use onceward::http::{code::Code, problem::Problem};
/// let answer = Problem::new(Code::KeyReused, "This key was used with another body.").to_answer();
/// assert_eq!(answer.status, 422);
/// assert_eq!(answer.headers.get("content-type"), Some("application/problem+json"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which kind.
    pub code: Code,
    /// What helps the client to fix this occurrence. No payload, key, secret or internal name.
    pub detail: String,
    /// The task that it is about.
    pub task_id: Option<TaskId>,
    /// Reference to this occurrence, such as a request id.
    pub instance: Option<String>,
    /// Seconds until it makes sense to send again.
    pub retry_after_s: Option<u64>,
    /// Several causes of one kind.
    pub errors: Vec<Cause>,
    /// What is wrong with a flow, in the place of `errors`.
    pub diagnostics: Vec<Diagnostic>,
    /// For the log, never for the client: why exactly.
    pub reason: Option<String>,
    /// The page that says what this route does with keys.
    pub policy: Option<String>,
    /// A status of the route's own, instead of that of the code.
    own_status: Option<u16>,
    /// More fields of the answer, such as `Allow`.
    headers: Headers,
}

impl Problem {
    /// A problem of this kind, to be retried as its kind is.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            task_id: None,
            instance: None,
            retry_after_s: code.retry_after_s(),
            errors: Vec::new(),
            diagnostics: Vec::new(),
            reason: None,
            policy: None,
            own_status: None,
            headers: Headers::default(),
        }
    }

    /// A token that is missing, wrong or sent twice.
    pub fn bad_token(reason: impl Into<String>) -> Self {
        Self::new(Code::Unauthorized, UNAUTHORIZED)
            .header("www-authenticate", BEARER)
            .because(reason)
    }

    /// A signature that is missing, wrong or malformed. The same body as for a token.
    pub fn bad_signature(reason: impl Into<String>) -> Self {
        Self::new(Code::Unauthorized, UNAUTHORIZED)
            .header("www-authenticate", SIGNATURE)
            .because(reason)
    }

    /// A method that the route doesn't take, with those that it does.
    pub fn method_not_allowed(allow: &str) -> Self {
        Self::new(
            Code::MethodNotAllowed,
            format!("This address takes {allow}."),
        )
        .header("allow", allow)
    }

    /// A body of a type that isn't taken, with those that are (RFC 9110, 15.5.16).
    pub fn unsupported_media_type(accepts: &str) -> Self {
        Self::new(
            Code::UnsupportedMediaType,
            format!("Content-Type: wanted {accepts}."),
        )
        .header("accept-post", accepts)
    }

    /// Too many requests of one sender (RFC 6585, 4), with the seconds until there is room again.
    pub fn rate_limited(retry_after_s: u64) -> Self {
        Self::new(
            Code::RateLimited,
            "More requests came than this source takes in this time. Nothing of this one was accepted.",
        )
        .retry_after(retry_after_s)
    }

    /// Sets another status than that of the code.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.own_status = Some(status);
        self
    }

    /// Names the page of the route's policy, if it is a problem about keys.
    #[must_use]
    pub fn policy(mut self, address: impl Into<String>) -> Self {
        let address = address.into();
        // Flows have no such page.
        if self.code.is_about_keys() && !address.is_empty() {
            self.policy = Some(address);
        }
        self
    }

    /// Names the task.
    #[must_use]
    pub fn task(mut self, id: TaskId) -> Self {
        self.task_id = Some(id);
        self
    }

    /// Names this occurrence.
    #[must_use]
    pub fn instance(mut self, reference: impl Into<String>) -> Self {
        self.instance = Some(reference.into());
        self
    }

    /// Says when to send again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Lists causes.
    #[must_use]
    pub fn errors(mut self, causes: Vec<Cause>) -> Self {
        self.errors = causes;
        self
    }

    /// Lists what is wrong with a flow, each with its place in the text.
    #[must_use]
    pub fn diagnostics(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        self.diagnostics = diagnostics;
        self
    }

    /// Adds the reason for the log.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Adds a field to the answer.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.set(name, value);
        self
    }

    /// The document.
    pub fn document(&self) -> Value {
        let mut out = Map::new();
        out.insert("type".to_owned(), self.code.reference().into());
        out.insert("title".to_owned(), self.code.title().into());
        out.insert("status".to_owned(), self.status().into());
        out.insert("detail".to_owned(), self.detail.as_str().into());
        // About a task, the task is the occurrence.
        let of_task = self.task_id.map(|id| format!("/v1/tasks/{id}"));
        if let Some(instance) = self.instance.clone().or(of_task) {
            out.insert("instance".to_owned(), instance.into());
        }
        out.insert("code".to_owned(), self.code.as_str().into());
        if let Some(id) = self.task_id {
            out.insert("task_id".to_owned(), id.to_string().into());
        }
        if let Some(policy) = &self.policy {
            out.insert("policy".to_owned(), policy.as_str().into());
        }
        let cause = |c: &Cause| json!({"detail": c.detail, "pointer": c.pointer});
        let of_flow = self.diagnostics.iter().map(diagnostic);
        let errors: Vec<Value> = self.errors.iter().map(cause).chain(of_flow).collect();
        if !errors.is_empty() {
            out.insert("errors".to_owned(), errors.into());
        }
        Value::Object(out)
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        self.own_status.unwrap_or(self.code.status())
    }

    /// Pages for people: of the code, and of the route's policy.
    fn link(&self) -> String {
        let page = |address: &str| format!("<{address}>; rel=\"describedby\"; type=\"text/html\"");
        let policy = self.policy.iter().map(|policy| page(policy));
        let pages: Vec<String> = std::iter::once(page(&self.code.reference()))
            .chain(policy)
            .collect();
        pages.join(", ")
    }

    /// Names this occurrence, if nothing does yet.
    #[must_use]
    pub fn occurred(mut self, uuid: &str) -> Self {
        if self.instance.is_none() && self.task_id.is_none() {
            self.instance = Some(format!("urn:uuid:{uuid}"));
        }
        self
    }

    /// The answer. Never to be cached: a 404 or 405 may be right a minute later.
    pub fn to_answer(&self) -> Answer {
        let mut answer = Answer::json(self.status(), &self.document());
        let headers = &mut answer.headers;
        headers.set("content-type", "application/problem+json");
        headers.push("content-language", "en");
        headers.push("cache-control", "no-store");
        headers.push("link", self.link());
        if let Some(seconds) = self.retry_after_s {
            headers.push("retry-after", seconds.to_string());
        }
        if let Some(id) = self.task_id {
            headers.push("onceward-task-id", id.to_string());
        }
        for (name, value) in self.headers.iter() {
            headers.set(name, value);
        }
        answer
    }
}

/// Says everything that is wrong with a body.
///
/// # Errors
/// 400, if anything is.
pub fn settled_body(wrong: Vec<Cause>) -> Result<(), Problem> {
    if wrong.is_empty() {
        return Ok(());
    }
    let detail = "The body has problems; `errors` lists them.";
    Err(Problem::new(Code::InputInvalid, detail).errors(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{TaskKey, TaskKind};

    fn body(answer: &Answer) -> String {
        String::from_utf8(answer.body.clone()).expect("UTF-8")
    }

    #[test]
    fn every_code_becomes_a_whole_document() {
        for code in Code::ALL {
            let answer = Problem::new(*code, "d").to_answer();
            assert_eq!(answer.status, code.status());
            let want = json!({
                "type": format!("/errors/{code}"),
                "title": code.title(),
                "status": code.status(),
                "detail": "d",
                "code": code.as_str(),
            });
            assert_eq!(body(&answer), want.to_string());
            let get = |name| answer.headers.get(name).map(str::to_owned);
            assert_eq!(
                get("content-type").as_deref(),
                Some("application/problem+json")
            );
            assert_eq!(get("content-language").as_deref(), Some("en"));
            assert_eq!(get("cache-control").as_deref(), Some("no-store"));
            assert_eq!(
                get("link"),
                Some(format!(
                    "</errors/{code}>; rel=\"describedby\"; type=\"text/html\""
                ))
            );
            assert_eq!(
                get("retry-after"),
                code.retry_after_s().map(|s| s.to_string())
            );
        }
        let promised = [
            Code::Misconfigured,
            Code::Unavailable,
            Code::Overloaded,
            Code::TaskInProgress,
            Code::RateLimited,
        ];
        assert!(promised.iter().all(|code| code.retry_after_s().is_some()));
    }

    #[test]
    fn optional_members_come_in_a_fixed_order() {
        let id = TaskKey::new(TaskKind::Source, "a", "", "k").task_id();
        let problem = Problem::new(Code::InputInvalid, "two faults")
            .task(id)
            .instance("urn:uuid:1")
            .retry_after(7)
            .because("SEC-1")
            .errors(vec![Cause {
                detail: "wanted a number".into(),
                pointer: "/n".into(),
            }]);
        let answer = problem.to_answer();
        assert_eq!(
            body(&answer),
            format!(
                "{{\"type\":\"/errors/input_invalid\",\"title\":\"The input is not valid\",\
                 \"status\":400,\"detail\":\"two faults\",\"instance\":\"urn:uuid:1\",\
                 \"code\":\"input_invalid\",\"task_id\":\"{id}\",\
                 \"errors\":[{{\"detail\":\"wanted a number\",\"pointer\":\"/n\"}}]}}"
            )
        );
        assert_eq!(answer.headers.get("retry-after"), Some("7"));
        assert_eq!(
            answer.headers.get("onceward-task-id"),
            Some(id.to_string().as_str())
        );
    }

    #[test]
    fn every_401_has_one_body_and_a_challenge() {
        let token = Problem::bad_token("no Authorization").to_answer();
        let signature = Problem::bad_signature("Mismatch").to_answer();
        assert_eq!(token.status, 401);
        assert_eq!(token.body, signature.body);
        assert!(!body(&token).contains("Mismatch") && !body(&token).contains("no Auth"));
        assert_eq!(
            token.headers.get("www-authenticate"),
            Some("Bearer realm=\"onceward\"")
        );
        let challenge = signature.headers.get("www-authenticate");
        assert_eq!(challenge, Some("Webhook-Signature realm=\"onceward\""));
    }

    #[test]
    fn a_route_may_have_a_status_and_a_policy_of_its_own() {
        let problem = Problem::new(Code::KeyReused, "d").with_status(400);
        let problem = problem.policy("/policy/functions/echo");
        let answer = problem.to_answer();
        assert_eq!(answer.status, 400);
        let document: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(document["status"], 400);
        assert_eq!(document["code"], "key_reused");
        assert_eq!(document["policy"], "/policy/functions/echo");
        let want = "</errors/key_reused>; rel=\"describedby\"; type=\"text/html\", \
            </policy/functions/echo>; rel=\"describedby\"; type=\"text/html\"";
        assert_eq!(answer.headers.get("link"), Some(want));
        // What is not about keys has nothing to look up there.
        assert_eq!(Problem::new(Code::NotFound, "d").policy("/p").policy, None);
    }

    #[test]
    fn what_is_not_taken_says_what_is() {
        let answer = Problem::unsupported_media_type("application/json").to_answer();
        assert_eq!(answer.status, 415);
        assert_eq!(answer.headers.get("accept-post"), Some("application/json"));
        let answer = Problem::rate_limited(7).to_answer();
        assert_eq!(answer.status, 429);
        assert_eq!(answer.headers.get("retry-after"), Some("7"));
    }

    #[test]
    fn a_405_names_the_methods() {
        let answer = Problem::method_not_allowed("GET, HEAD, OPTIONS").to_answer();
        assert_eq!(answer.status, 405);
        assert_eq!(answer.headers.get("allow"), Some("GET, HEAD, OPTIONS"));
    }
}
