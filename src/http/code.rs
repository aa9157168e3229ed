//! Every error that a client can get, each with a page of its own.

use std::fmt;
use std::str::FromStr;

/// A stable word for one kind of error. Codes are never renamed or given another meaning.
///
/// ```
/// use onceward::http::code::Code;
/// assert_eq!("key_reused".parse(), Ok(Code::KeyReused));
/// assert_eq!(Code::KeyReused.status(), 422);
/// assert!(Code::KeyReused.page().starts_with("# key_reused"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// No field holds a key.
    KeyMissing,
    /// The field holds no key.
    KeyMalformed,
    /// The function can't read its input.
    InputInvalid,
    /// Token or signature doesn't hold.
    Unauthorized,
    /// The token holds, but lacks the right.
    Forbidden,
    /// Unknown route, source or function.
    NotFound,
    /// Unknown task.
    TaskNotFound,
    /// The task ended without an answer.
    NoAnswer,
    /// Input and journal of the task are no longer kept.
    PayloadDropped,
    /// The route takes other methods.
    MethodNotAllowed,
    /// The task has not ended.
    TaskInProgress,
    /// The task was cancelled.
    TaskCancelled,
    /// The task has ended.
    TaskEnded,
    /// The flow takes nothing.
    FlowDisabled,
    /// Somebody else has changed it meanwhile.
    PreconditionFailed,
    /// The flow does not hold together.
    FlowInvalid,
    /// The key's task has expired, and the key is not new yet.
    KeyExpired,
    /// Body above the limit.
    BodyTooLarge,
    /// The body has a type that is not taken.
    UnsupportedMediaType,
    /// The body has a coding that is not taken.
    UnsupportedEncoding,
    /// More deliveries than the source takes.
    RateLimited,
    /// Header fields above the limit.
    HeadersTooLarge,
    /// Same key, other request.
    KeyReused,
    /// The function failed.
    TaskFailed,
    /// The origin of a gateway cannot be reached.
    OriginUnreachable,
    /// Its answer cannot be kept.
    OriginAnswerUnfit,
    /// It gave none: whether it did its work is unknown.
    OriginUnknown,
    /// The deployment is not set up right.
    Misconfigured,
    /// A fault that may pass.
    Unavailable,
    /// Too much at once.
    Overloaded,
}

impl Code {
    /// Every code, by status.
    pub const ALL: &'static [Self] = &[
        Self::KeyMissing,
        Self::KeyMalformed,
        Self::InputInvalid,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::TaskNotFound,
        Self::NoAnswer,
        Self::PayloadDropped,
        Self::MethodNotAllowed,
        Self::TaskInProgress,
        Self::TaskCancelled,
        Self::TaskEnded,
        Self::FlowDisabled,
        Self::KeyExpired,
        Self::PreconditionFailed,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::UnsupportedEncoding,
        Self::KeyReused,
        Self::FlowInvalid,
        Self::RateLimited,
        Self::HeadersTooLarge,
        Self::TaskFailed,
        Self::Misconfigured,
        Self::OriginUnreachable,
        Self::OriginAnswerUnfit,
        Self::Unavailable,
        Self::Overloaded,
        Self::OriginUnknown,
    ];

    const fn row(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::KeyMissing => ("key_missing", 400, "Idempotency key is missing"),
            Self::KeyMalformed => ("key_malformed", 400, "Idempotency key is malformed"),
            Self::InputInvalid => ("input_invalid", 400, "The input is not valid"),
            Self::Unauthorized => ("unauthorized", 401, "Not authenticated"),
            Self::Forbidden => ("forbidden", 403, "The token lacks this right"),
            Self::NotFound => ("not_found", 404, "Nothing is served here"),
            Self::TaskNotFound => ("task_not_found", 404, "No such task"),
            Self::PayloadDropped => (
                "payload_dropped",
                410,
                "Input and journal are no longer kept",
            ),
            Self::NoAnswer => ("no_answer", 404, "The task has no answer"),
            Self::MethodNotAllowed => ("method_not_allowed", 405, "Method is not allowed here"),
            Self::TaskInProgress => ("task_in_progress", 409, "The task is still in progress"),
            Self::TaskCancelled => ("task_cancelled", 409, "The task was cancelled"),
            Self::TaskEnded => ("task_ended", 409, "The task has ended"),
            Self::FlowDisabled => ("flow_disabled", 409, "The flow is disabled"),
            Self::PreconditionFailed => {
                ("precondition_failed", 412, "It has been changed meanwhile")
            }
            Self::FlowInvalid => ("flow_invalid", 422, "The flow does not hold together"),
            Self::KeyExpired => ("key_expired", 410, "Idempotency key is used up"),
            Self::BodyTooLarge => ("body_too_large", 413, "The body is too large"),
            Self::UnsupportedMediaType => (
                "unsupported_media_type",
                415,
                "The body has a type that is not taken here",
            ),
            Self::UnsupportedEncoding => (
                "unsupported_encoding",
                415,
                "The body has a coding that is not taken here",
            ),
            Self::RateLimited => ("rate_limited", 429, "Too many requests"),
            Self::HeadersTooLarge => ("headers_too_large", 431, "Header fields are too large"),
            Self::KeyReused => ("key_reused", 422, "Idempotency key is already used"),
            Self::TaskFailed => ("task_failed", 500, "The function failed"),
            Self::Misconfigured => ("misconfigured", 500, "The service is misconfigured"),
            Self::OriginUnreachable => ("origin_unreachable", 502, "The origin can't be reached"),
            Self::OriginAnswerUnfit => (
                "origin_answer_unfit",
                502,
                "The origin's answer can't be kept",
            ),
            Self::OriginUnknown => ("origin_unknown", 504, "The origin gave no answer"),
            Self::Unavailable => ("unavailable", 503, "The service is unavailable"),
            Self::Overloaded => ("overloaded", 503, "The service is overloaded"),
        }
    }

    /// The word, as in documents, addresses and logs.
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The status that goes with it.
    pub const fn status(self) -> u16 {
        self.row().1
    }

    /// The title, the same for every occurrence.
    pub const fn title(self) -> &'static str {
        self.row().2
    }

    /// Reference to its page, and its problem `type`: relative, so that it resolves at whichever host
    /// the deployment has.
    pub fn reference(self) -> String {
        format!("/errors/{}", self.as_str())
    }

    /// True if the page of the route's policy helps: it says what keys it takes and for how long.
    pub const fn is_about_keys(self) -> bool {
        matches!(
            self,
            Self::KeyMissing
                | Self::KeyMalformed
                | Self::KeyReused
                | Self::KeyExpired
                | Self::TaskInProgress
        )
    }

    /// Seconds until it makes sense to send again, where that is known beforehand. Short where
    /// somebody else is at work, long where a person has to act.
    pub const fn retry_after_s(self) -> Option<u64> {
        match self {
            Self::TaskInProgress => Some(2),
            Self::Unavailable => Some(5),
            Self::Overloaded | Self::RateLimited => Some(10),
            Self::Misconfigured => Some(60),
            _ => None,
        }
    }

    /// The text of its page: what happened, how to fix it, usual causes, whether to send again.
    pub const fn page(self) -> &'static str {
        match self {
            Self::KeyMissing => include_str!("../../docs/errors/key_missing.md"),
            Self::KeyMalformed => include_str!("../../docs/errors/key_malformed.md"),
            Self::InputInvalid => include_str!("../../docs/errors/input_invalid.md"),
            Self::Unauthorized => include_str!("../../docs/errors/unauthorized.md"),
            Self::Forbidden => include_str!("../../docs/errors/forbidden.md"),
            Self::NotFound => include_str!("../../docs/errors/not_found.md"),
            Self::TaskNotFound => include_str!("../../docs/errors/task_not_found.md"),
            Self::PayloadDropped => include_str!("../../docs/errors/payload_dropped.md"),
            Self::NoAnswer => include_str!("../../docs/errors/no_answer.md"),
            Self::MethodNotAllowed => include_str!("../../docs/errors/method_not_allowed.md"),
            Self::TaskInProgress => include_str!("../../docs/errors/task_in_progress.md"),
            Self::TaskCancelled => include_str!("../../docs/errors/task_cancelled.md"),
            Self::TaskEnded => include_str!("../../docs/errors/task_ended.md"),
            Self::FlowDisabled => include_str!("../../docs/errors/flow_disabled.md"),
            Self::PreconditionFailed => include_str!("../../docs/errors/precondition_failed.md"),
            Self::FlowInvalid => include_str!("../../docs/errors/flow_invalid.md"),
            Self::KeyExpired => include_str!("../../docs/errors/key_expired.md"),
            Self::BodyTooLarge => include_str!("../../docs/errors/body_too_large.md"),
            Self::UnsupportedMediaType => {
                include_str!("../../docs/errors/unsupported_media_type.md")
            }
            Self::UnsupportedEncoding => {
                include_str!("../../docs/errors/unsupported_encoding.md")
            }
            Self::RateLimited => include_str!("../../docs/errors/rate_limited.md"),
            Self::HeadersTooLarge => include_str!("../../docs/errors/headers_too_large.md"),
            Self::KeyReused => include_str!("../../docs/errors/key_reused.md"),
            Self::TaskFailed => include_str!("../../docs/errors/task_failed.md"),
            Self::Misconfigured => include_str!("../../docs/errors/misconfigured.md"),
            Self::OriginUnreachable => include_str!("../../docs/errors/origin_unreachable.md"),
            Self::OriginAnswerUnfit => include_str!("../../docs/errors/origin_answer_unfit.md"),
            Self::OriginUnknown => include_str!("../../docs/errors/origin_unknown.md"),
            Self::Unavailable => include_str!("../../docs/errors/unavailable.md"),
            Self::Overloaded => include_str!("../../docs/errors/overloaded.md"),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No code has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode;

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == text)
            .ok_or(UnknownCode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors")
    }

    #[test]
    fn codes_and_pages_match_one_to_one() {
        let pages: BTreeSet<String> = fs::read_dir(folder())
            .expect("docs/errors")
            .map(|entry| {
                entry
                    .expect("entry")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .filter(|name| name != "README.md")
            .collect();
        let codes: BTreeSet<String> = Code::ALL.iter().map(|c| format!("{c}.md")).collect();
        assert_eq!(pages, codes);
        assert_eq!(codes.len(), Code::ALL.len(), "a name is used twice");
    }

    #[test]
    fn every_page_says_what_it_must_and_is_in_the_index() {
        let index = fs::read_to_string(folder().join("README.md")).expect("index");
        for code in Code::ALL {
            let page = code.page();
            let file = fs::read_to_string(folder().join(format!("{code}.md"))).expect("page");
            assert_eq!(page, file, "{code} shows the page of another code");
            let head = format!("# {code}\n\nStatus {}: {}.\n", code.status(), code.title());
            assert!(page.starts_with(&head), "{code}: wanted {head:?}");
            for part in [
                "## What happened",
                "## How to fix it",
                "## Usual causes",
                "## Safe to send again?",
            ] {
                assert!(page.contains(part), "{code}: {part} is missing");
            }
            let verdict = page
                .split("## Safe to send again?\n\n")
                .nth(1)
                .expect("verdict");
            assert!(
                verdict.starts_with("Yes") || verdict.starts_with("No"),
                "{code}: {verdict}"
            );
            let start = format!(
                "| [{code}]({code}.md) | {} | {} | ",
                code.status(),
                code.title()
            );
            let line = index.lines().find(|line| line.starts_with(&start));
            let line = line.unwrap_or_else(|| panic!("docs/errors/README.md lacks: {start}"));
            // Cause, what to do, and the same verdict as the page.
            let cells: Vec<&str> = line[start.len()..]
                .trim_end_matches(" |")
                .split(" | ")
                .collect();
            let again = if verdict.starts_with("Yes") {
                "yes"
            } else {
                "no"
            };
            assert!(
                matches!(cells.as_slice(), [cause, fix, last] if !cause.is_empty() && !fix.is_empty() && *last == again),
                "docs/errors/README.md: wanted cause | what to do | {again}: {line}"
            );
        }
    }

    #[test]
    fn codes_are_read_exactly() {
        for code in Code::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
        for text in ["", "KEY_MISSING", "key-missing", "key_missing ", "nope"] {
            assert_eq!(text.parse::<Code>(), Err(UnknownCode), "{text:?}");
        }
    }
}
