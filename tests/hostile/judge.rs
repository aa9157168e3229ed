//! Whether an answer is one that the contract declares.

use crate::shot::Shot;
use crate::support::{Answer, SECRET, TOKEN, root};
use onceward::http::code::Code;
use onceward::http::route::{FlowAct, Route, route};
use std::collections::BTreeSet;

/// What no answer may hold: secrets, and where or how the code was built.
const INSIDE: [&str; 10] = [
    SECRET,
    TOKEN,
    "panicked",
    ".rs:",
    "wasm",
    "node_modules",
    "/src/",
    "at async",
    "SQLITE",
    "RuntimeError",
];

/// Who answered, for the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    Worker,
    /// The HTTP server in front of it: the request was none.
    Server,
}

/// Which codes a route may answer with; its good statuses besides.
struct Declared {
    good: &'static [u16],
    codes: &'static [Code],
    /// The function's own answer may have any status.
    own: bool,
}

const REFUSED: &[Code] = &[
    Code::KeyMissing,
    Code::KeyMalformed,
    Code::InputInvalid,
    Code::Unauthorized,
    Code::NotFound,
    Code::BodyTooLarge,
    Code::UnsupportedEncoding,
    Code::HeadersTooLarge,
    Code::KeyReused,
    Code::Unavailable,
    Code::Overloaded,
];
const CALLED: &[Code] = &[
    Code::KeyMissing,
    Code::KeyMalformed,
    Code::InputInvalid,
    Code::Unauthorized,
    Code::NotFound,
    Code::BodyTooLarge,
    Code::UnsupportedEncoding,
    Code::HeadersTooLarge,
    Code::KeyReused,
    Code::TaskInProgress,
    Code::TaskCancelled,
    Code::TaskFailed,
    Code::Unavailable,
    Code::Overloaded,
];
const LOOKED: &[Code] = &[
    Code::InputInvalid,
    Code::Unauthorized,
    Code::TaskNotFound,
    Code::PayloadDropped,
];
const STEERED: &[Code] = &[
    Code::KeyMalformed,
    Code::InputInvalid,
    Code::Unauthorized,
    Code::TaskNotFound,
    Code::TaskInProgress,
    Code::TaskEnded,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
];
const SIGNALLED: &[Code] = &[
    Code::KeyMissing,
    Code::KeyMalformed,
    Code::InputInvalid,
    Code::Unauthorized,
    Code::TaskNotFound,
    Code::TaskEnded,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::KeyReused,
    Code::Overloaded,
];

/// `GET /v1/tasks/{id}/answer`.
const ANSWERED: &[Code] = &[
    Code::InputInvalid,
    Code::Unauthorized,
    Code::TaskNotFound,
    Code::NoAnswer,
    Code::PayloadDropped,
    Code::TaskInProgress,
];

/// What operators do with flows.
const OF_FLOWS: &[Code] = &[
    Code::InputInvalid,
    Code::Unauthorized,
    Code::NotFound,
    Code::PreconditionFailed,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::FlowInvalid,
];

/// `POST /v1/erase`.
const ERASED: &[Code] = &[
    Code::InputInvalid,
    Code::Unauthorized,
    Code::TaskNotFound,
    Code::TaskInProgress,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
];

fn declared(route: &Route) -> Declared {
    let of = |good, codes| Declared {
        good,
        codes,
        own: false,
    };
    match route {
        Route::Hook { .. } | Route::TenantHook { .. } => Declared {
            good: &[200, 202],
            codes: REFUSED,
            own: true,
        },
        Route::Call { .. }
        | Route::Flow {
            act: FlowAct::Execute,
            ..
        } => Declared {
            good: &[200, 202],
            codes: CALLED,
            own: true,
        },
        // None is configured here.
        Route::EnableEndpoint { .. } => of(
            &[],
            &[Code::InputInvalid, Code::Unauthorized, Code::NotFound],
        ),
        Route::Endpoints
        | Route::Metrics
        | Route::ListTasks
        | Route::Stats
        | Route::ListAudit
        | Route::SetFaults => of(&[200], &[Code::InputInvalid, Code::Unauthorized]),
        Route::ShowTask { .. } | Route::ShowJournal { .. } => of(&[200, 304], LOOKED),
        // Nothing asks for a stream: it would not end.
        Route::TaskEvents { .. } | Route::Events => of(&[], LOOKED),
        Route::ShowAnswer { .. } => of(&[200], ANSWERED),
        Route::ShowInput { .. } => of(&[200], LOOKED),
        Route::Erase => of(&[200], ERASED),
        Route::ForgetTask { .. } => of(
            &[204],
            &[
                Code::InputInvalid,
                Code::Unauthorized,
                Code::TaskNotFound,
                Code::TaskInProgress,
            ],
        ),
        Route::Bulk { .. } => of(
            &[200, 202],
            &[
                Code::KeyMalformed,
                Code::InputInvalid,
                Code::Unauthorized,
                Code::KeyReused,
            ],
        ),
        Route::Signal { .. } => of(&[202], SIGNALLED),
        Route::CancelTask { .. } | Route::RetryTask { .. } | Route::UndoTask { .. } => {
            of(&[200, 202], STEERED)
        }
        Route::Flow { .. } | Route::ListFlows => of(&[200, 201, 204], OF_FLOWS),
        Route::Explain { .. } => of(
            &[200],
            &[
                Code::InputInvalid,
                Code::Unauthorized,
                Code::NotFound,
                Code::BodyTooLarge,
            ],
        ),
        // No gateway is configured here, and nobody guesses the key of a flow.
        Route::Proxy { .. } | Route::FlowHook { .. } | Route::Continue => {
            of(&[], &[Code::NotFound])
        }
        Route::Preflight { .. } => of(&[204], &[]),
        Route::PolicyPage { .. } => of(&[200], &[Code::NotFound]),
        Route::OpenApi | Route::FlowSchema => of(&[200, 304], &[]),
        Route::Health
        | Route::ErrorPage { .. }
        | Route::ErrorIndex
        | Route::Policies
        | Route::PolicyIndex
        | Route::ShowFaults
        | Route::ShowCounters => of(&[200], &[]),
    }
}

/// Judges one answer; says who gave it.
pub fn judge(shot: &Shot, answer: &Answer) -> Result<By, String> {
    leaks_nothing(shot, answer)?;
    let ours = answer.field("Access-Control-Expose-Headers").is_some();
    if !ours {
        return server(shot, answer);
    }
    let (status, is_problem) = (answer.status, problem(shot, answer)?);
    let Some(path) = path(shot) else {
        let refused = shot.broken.is_some() && is_problem.is_some();
        return refused
            .then_some(By::Worker)
            .ok_or_else(|| "a target that is none was served".into());
    };
    let code = is_problem.and_then(|code| code.parse::<Code>().ok());
    match route(&shot.method, &path) {
        Err(wanted) => {
            let right = code == Some(wanted.code) || shot.broken.is_some();
            right
                .then_some(By::Worker)
                .ok_or_else(|| format!("wanted {}", wanted.code))
        }
        Ok(route) => {
            let declared = declared(&route);
            let own = declared.own && answer.field("Idempotency-Expires").is_some();
            let good = match code {
                Some(code) => declared.codes.contains(&code),
                None => own || declared.good.contains(&status),
            };
            good.then_some(By::Worker)
                .ok_or_else(|| format!("not declared for {route:?}"))
        }
    }
}

/// The HTTP server answers what is no request, and says nothing of ours.
fn server(shot: &Shot, answer: &Answer) -> Result<By, String> {
    if shot.broken.is_none() {
        return Err("a good request did not reach the Worker".into());
    }
    // workerd itself has nothing to say to CONNECT but 500; it reaches no Worker.
    let plain = matches!(answer.status, 400..=499 | 501 | 505)
        || (shot.method == "CONNECT" && answer.text() == "Internal Server Error");
    plain
        .then_some(By::Server)
        .ok_or_else(|| "the server itself failed".into())
}

/// The path as the Worker sees it.
fn path(shot: &Shot) -> Option<String> {
    // As it was sent: nothing is decoded or cleaned, on either side.
    let whole = if shot.target.starts_with('/') {
        &shot.target[..]
    } else {
        let (_, rest) = shot.target.split_once("://")?;
        &rest[rest.find(['/', '?', '#'])?..]
    };
    whole.split(['?', '#']).next().map(str::to_owned)
}

/// Whether it is a problem document, and then a whole one; its code.
fn problem(shot: &Shot, answer: &Answer) -> Result<Option<String>, String> {
    // A function may give its own answer any type.
    if answer.status < 400 || answer.field("Content-Type") != Some("application/problem+json") {
        let own = answer.field("Idempotency-Expires").is_some();
        let fine = answer.status < 400 || own;
        return fine
            .then_some(None)
            .ok_or_else(|| "an error without a problem document".into());
    }
    promised(answer)?;
    if shot.method == "HEAD" {
        // Its link names the code, since it has no body.
        let link = answer.field("Link").unwrap_or_default();
        let code = link
            .strip_prefix("</errors/")
            .and_then(|rest| rest.split('>').next());
        return Ok(code.map(str::to_owned));
    }
    let document = answer.json();
    let code = document["code"].as_str().unwrap_or_default().to_owned();
    let kind = format!("/errors/{code}");
    let whole = document["type"] == kind.as_str()
        && document["status"] == answer.status
        && document["title"].is_string()
        && document["detail"].is_string();
    if !whole {
        return Err("a problem document that is not whole".into());
    }
    let page = root().join("docs/errors").join(format!("{code}.md"));
    if !page.exists() {
        return Err(format!("{code} has no page"));
    }
    Ok(Some(code))
}

/// Fields that come with a status.
fn promised(answer: &Answer) -> Result<(), String> {
    let wanted: &[&str] = match answer.status {
        401 => &["WWW-Authenticate"],
        405 => &["Allow"],
        503 => &["Retry-After"],
        _ => &[],
    };
    let missing: BTreeSet<_> = wanted
        .iter()
        .filter(|name| answer.field(name).is_none())
        .collect();
    missing
        .is_empty()
        .then_some(())
        .ok_or_else(|| format!("without {missing:?}"))
}

fn leaks_nothing(shot: &Shot, answer: &Answer) -> Result<(), String> {
    let mut text = answer.text();
    for (name, value) in &answer.fields {
        text.push_str(name);
        text.push_str(value);
    }
    let sent = shot.bytes();
    let sent = String::from_utf8_lossy(&sent);
    let secret = [SECRET, TOKEN].iter().any(|word| text.contains(word));
    // The pages of errors and what a request said itself may have such a word.
    let given = shot.target.starts_with("/errors");
    let inside = INSIDE
        .iter()
        .find(|word| text.contains(**word) && !sent.contains(**word));
    match inside {
        Some(word) if secret || !given => Err(format!("it tells {word:?}")),
        _ if secret => Err("it tells a secret".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
