//! One line of the log for each delivery: what came of it, and why. It holds no key, payload, token, signature
//! or cookie, and no value of a field but the number of a repeat.

use super::ports::{Edge, Level};
use super::serve::Exchange;
use crate::http::problem::Problem;
use crate::types::{Answer, Trace};
use serde_json::{Map, Value};

/// Fields in which senders count their own repeats. They are shown, and never used to tell a duplicate: the
/// first delivery that arrives may be the sender's third.
const REPEAT_FIELDS: &[&str] = &["x-slack-retry-num", "x-shopify-retry-count", "x-retry-num"];

/// What a delivery met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Met {
    /// It was not let in, or not answered by the task.
    #[default]
    Refused,
    /// A handshake of the provider: no task.
    Handshake,
    /// Its task is new or goes on because of it.
    Began,
    /// Its task was there.
    Joined,
    /// Each item of it has a task of its own.
    Split,
    /// It was passed through to a gateway's origin: no task.
    Passed,
}

/// The line while it is being written.
#[derive(Debug)]
pub(super) struct Line {
    kind: &'static str,
    name: String,
    pub(super) met: Met,
    /// Which of the source's secrets made the signature.
    pub(super) secret: Option<usize>,
    /// Bytes of the body as it came.
    pub(super) bytes: usize,
    /// Items that it was split into.
    pub(super) items: usize,
    /// The signed bytes had come before under another key.
    pub(super) known_bytes: bool,
}

impl Line {
    pub(super) fn of(kind: &'static str, name: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            met: Met::default(),
            secret: None,
            bytes: 0,
            items: 0,
            known_bytes: false,
        }
    }

    /// Writes it. The reason of a refusal goes into it and nowhere else.
    pub(super) fn write(
        self,
        edge: &Edge,
        exchange: &Exchange,
        result: Result<Answer, Problem>,
    ) -> Result<Answer, Problem> {
        let fields = self.fields(exchange, edge.now_ms(), &result);
        self.point(edge, &fields);
        edge.log(Level::Info, "delivery", Value::Object(fields));
        result.map_err(|mut problem| {
            problem.reason = None;
            problem
        })
    }

    /// The same for analytics: name, event, kind, outcome, code; status, milliseconds, bytes, items.
    fn point(&self, edge: &Edge, fields: &Map<String, Value>) {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |name: &str| fields.get(name).and_then(Value::as_f64).unwrap_or_default();
        edge.point(
            &[
                &self.name,
                "delivery",
                self.kind,
                text("outcome"),
                text("code"),
            ],
            &[
                number("status"),
                number("ms"),
                number("bytes"),
                number("items"),
            ],
        );
    }

    fn fields(
        &self,
        exchange: &Exchange,
        now_ms: u64,
        result: &Result<Answer, Problem>,
    ) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                fields.insert(name.to_owned(), value);
            }
        };
        put(self.kind, self.name.as_str().into());
        let status = match result {
            Ok(answer) => answer.status,
            Err(problem) => problem.status(),
        };
        put("outcome", self.outcome(result).into());
        put("status", status.into());
        match result {
            Ok(answer) => {
                let own = self.met != Met::Passed;
                put("code", own.then(|| code_of(answer)).flatten().into());
                put("task_id", answer.headers.get("onceward-task-id").into());
            }
            Err(problem) => {
                put("code", problem.code.as_str().into());
                // What the sender is told holds no value either.
                let told = Some(problem.detail.as_str()).filter(|_| problem.status() < 500);
                put("reason", problem.reason.as_deref().or(told).into());
                put("task_id", problem.task_id.map(|id| id.to_string()).into());
            }
        }
        put("secret", self.secret.into());
        put("bytes", self.bytes.into());
        if self.items > 0 {
            put("items", self.items.into());
        }
        if self.known_bytes {
            put("known_bytes", true.into());
        }
        put("repeat", repeat_of(exchange).into());
        put("trace_id", trace_of(exchange).into());
        put("ms", now_ms.saturating_sub(exchange.started_ms).into());
        fields
    }

    fn outcome(&self, result: &Result<Answer, Problem>) -> &'static str {
        let Ok(answer) = result else { return "refused" };
        let replayed = answer.headers.get("idempotent-replayed").is_some();
        match self.met {
            Met::Handshake => "handshake",
            Met::Split => "split",
            Met::Passed => "passed",
            _ if replayed => "replayed",
            Met::Began if answer.status == 202 => "accepted",
            Met::Began => "ran",
            Met::Joined => "joined",
            Met::Refused => "refused",
        }
    }
}

/// The code of an answer that is an error of ours.
fn code_of(answer: &Answer) -> Option<String> {
    let ours = answer.headers.get("content-type") == Some("application/problem+json")
        && answer.headers.get("idempotent-replayed").is_none();
    if !ours {
        return None;
    }
    let document: Value = serde_json::from_slice(&answer.body).ok()?;
    let code = document.get("code")?.as_str()?;
    let code: crate::http::code::Code = code.parse().ok()?;
    Some(code.as_str().to_owned())
}

/// The trace that the sender says it belongs to.
fn trace_of(exchange: &Exchange) -> Option<String> {
    Trace::read(exchange.headers.get("traceparent"), None).map(|trace| trace.id)
}

/// How often the sender says that it has tried before: digits only, so that no value of another kind gets here.
fn repeat_of(exchange: &Exchange) -> Option<u32> {
    let mut fields = REPEAT_FIELDS.iter();
    let text = fields.find_map(|name| exchange.headers.get(name))?;
    let digits = text.len() <= 6 && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::code::Code;
    use serde_json::json;

    fn exchange(fields: &[(&str, &str)]) -> Exchange {
        Exchange {
            method: "POST".into(),
            path: "/hooks/a".into(),
            target: "/hooks/a?SEC-1".into(),
            headers: fields.iter().copied().collect(),
            inside: false,
            started_ms: 5,
        }
    }

    fn line(met: Met) -> Line {
        Line {
            met,
            bytes: 3,
            ..Line::of("source", "a")
        }
    }

    fn shown(line: &Line, exchange: &Exchange, result: &Result<Answer, Problem>) -> Value {
        Value::Object(line.fields(exchange, 12, result))
    }

    #[test]
    fn a_refusal_says_why_and_shows_no_value() {
        let sent = exchange(&[("authorization", "SEC-2"), ("cookie", "SEC-3")]);
        let refused = Err(Problem::bad_signature("x-sig is missing"));
        let got = shown(&line(Met::Refused), &sent, &refused);
        let want = json!({
            "source": "a", "outcome": "refused", "status": 401, "code": "unauthorized",
            "reason": "x-sig is missing", "bytes": 3, "ms": 7,
        });
        assert_eq!(got, want);
    }

    #[test]
    fn outcomes_are_told_apart() {
        let mut replay = Answer::json(200, &json!({}));
        replay.headers.push("idempotent-replayed", "true");
        let plain = |status| Answer::json(status, &json!({}));
        for (met, answer, want) in [
            (Met::Began, plain(200), "ran"),
            (Met::Began, plain(202), "accepted"),
            (Met::Joined, plain(202), "joined"),
            (Met::Joined, replay, "replayed"),
            (Met::Handshake, plain(200), "handshake"),
            (Met::Split, plain(202), "split"),
            (Met::Passed, plain(404), "passed"),
            (Met::Refused, plain(503), "refused"),
        ] {
            let got = shown(&line(met), &exchange(&[]), &Ok(answer));
            assert_eq!(got["outcome"], want);
        }
    }

    #[test]
    fn an_error_of_ours_has_its_code_and_a_stored_one_has_none() {
        let ours = Problem::new(Code::KeyReused, "x").to_answer();
        let mut stored = ours.clone();
        let got = shown(&line(Met::Joined), &exchange(&[]), &Ok(ours));
        assert_eq!(got["code"], "key_reused");
        stored.headers.push("idempotent-replayed", "true");
        let got = shown(&line(Met::Joined), &exchange(&[]), &Ok(stored));
        assert!(got.get("code").is_none());
    }

    #[test]
    fn senders_repeats_are_shown_if_they_are_numbers() {
        for (value, want) in [("2", json!(2)), ("SEC-4", Value::Null), ("", Value::Null)] {
            let sent = exchange(&[("x-slack-retry-num", value)]);
            let got = shown(&line(Met::Began), &sent, &Ok(Answer::json(200, &json!({}))));
            assert_eq!(got.get("repeat").cloned().unwrap_or_default(), want);
        }
    }
}
