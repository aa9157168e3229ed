//! The function of a gateway: one step, which sends a request on and records what came back.

use super::ctx::{Ctx, StepScope};
use super::fetch::{busy, dispatch, not_answered};
use super::handler::{Checked, Function, InputProblem, Raw};
use super::host::{FetchError, OutRequest, OutResponse};
use super::retry::Retry;
use super::unknown::OnUnknown;
use crate::config::{ForwardKey, Gateway, WhenUnknown};
use crate::http::code::Code;
use crate::http::gateway::{KEY, METHOD, TARGET, address};
use crate::http::headers::{size, storable};
use crate::http::problem::Problem;
use crate::limits;
use crate::types::{Answer, Failure, Headers, Input, TaskId};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// The one step of such a function.
const STEP: &str = "forward";

impl From<Gateway> for Function {
    /// The function under the gateway's [`Gateway::function_name`]. Its input is the request as
    /// `http::gateway` admits it.
    fn from(gateway: Gateway) -> Self {
        let (name, policy) = (gateway.function_name(), gateway.policy());
        let gateway = Rc::new(gateway);
        let checked = Rc::clone(&gateway);
        Self::new(&name, move |ctx: Ctx, input: Input| {
            forward(ctx, Rc::clone(&gateway), input)
        })
        .policy_of(policy)
        .checked_by(move |input| match request(&checked, input) {
            Ok(_) => Ok(Checked::default()),
            Err(detail) => Err(vec![InputProblem {
                path: String::new(),
                detail,
            }]),
        })
    }
}

/// What is recorded of the origin's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Origin {
    /// It came, and can be kept.
    Answered {
        status: u16,
        headers: Headers,
        body: Body,
    },
    /// It came, or began to, and cannot be kept: the work is done all the same.
    Unfit(String),
}

/// A body within JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body {
    Text(String),
    Base64(String),
}

impl Body {
    /// Text where that takes no more room on record than base64 does.
    fn of(bytes: Vec<u8>) -> Self {
        let encoded_bytes = bytes.len().div_ceil(3) * 4;
        match String::from_utf8(bytes) {
            Ok(text) if written_bytes(&text) <= encoded_bytes => Self::Text(text),
            Ok(text) => Self::Base64(STANDARD.encode(text)),
            Err(error) => Self::Base64(STANDARD.encode(error.as_bytes())),
        }
    }

    fn bytes(self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).map_err(|error| {
                let message = format!("the recorded body is no base64: {error}");
                Failure::terminal("outcome_mismatch", message)
            }),
        }
    }
}

/// Bytes that a text takes in a record: escaped in its outcome, and once more with it.
fn written_bytes(text: &str) -> usize {
    let each = |b: u8| match b {
        b'"' | b'\\' => 4,
        0..=0x1f => 7,
        _ => 1,
    };
    text.bytes().map(each).sum()
}

impl Origin {
    fn of(response: OutResponse) -> Self {
        let status = response.status;
        if !(200..=599).contains(&status) {
            return Self::Unfit(format!(
                "The origin answered {status}, which is no answer to a request."
            ));
        }
        Self::Answered {
            status,
            headers: kept(&response.headers),
            body: Body::of(response.body),
        }
    }

    fn too_large(limit_bytes: usize) -> Self {
        Self::Unfit(format!(
            "The origin's answer has more than {limit_bytes} bytes."
        ))
    }
}

/// The fields of an origin's answer that are kept: each that can be, as long as there is room.
fn kept(headers: &Headers) -> Headers {
    let connection = headers.iter().filter(|(name, _)| *name == "connection");
    let connection: Vec<(&str, &str)> = connection.collect();
    let mut out = Headers::default();
    for (name, value) in headers.iter() {
        // With what makes a field one of this connection.
        let one: Headers = connection.iter().copied().chain([(name, value)]).collect();
        let fits = storable(&one).is_ok_and(|stored| !stored.is_empty());
        let bytes = size(&out) + name.len() + value.len() + 4;
        if fits && bytes <= limits::MAX_HEADER_BYTES {
            out.push(name, value);
        }
    }
    out
}

/// The request that goes on, but for its key and what is made of secrets.
fn request(gateway: &Gateway, input: &Input) -> Result<OutRequest, String> {
    let part = |name: &str| {
        let value = input.headers.get(name);
        value
            .ok_or_else(|| format!("the request lacks {name}; it comes by way of its gateway only"))
    };
    let url = address(gateway.origin(), part(TARGET)?)?;
    let mut headers: Headers = input
        .headers
        .iter()
        .filter(|(name, _)| !name.starts_with(':'))
        .collect();
    if gateway.key_to_origin() == ForwardKey::Passed {
        headers.set("idempotency-key", part(KEY)?);
    }
    Ok(OutRequest {
        method: part(METHOD)?.to_owned(),
        url,
        headers,
        body: input.body.clone(),
    })
}

async fn forward(ctx: Ctx, gateway: Rc<Gateway>, input: Input) -> Result<Raw, Failure> {
    let outgoing =
        request(&gateway, &input).map_err(|why| Failure::terminal("input_invalid", why))?;
    let retry = Retry::exponential(gateway.max_tries());
    let timeout_ms = gateway.origin_timeout_ms();
    let on_unknown = match gateway.when_unknown() {
        WhenUnknown::Retry => OnUnknown::Retry,
        WhenUnknown::Fail => OnUnknown::Fail,
    };
    let sent = ctx
        .step_scoped(STEP, move |scope| {
            send(scope, Rc::clone(&gateway), outgoing.clone())
        })
        .retry(retry)
        .timeout_ms(timeout_ms)
        .on_unknown(on_unknown)
        .outcome_up_to(limits::MAX_ORIGIN_OUTCOME_BYTES)
        .await;
    match sent {
        Ok(Origin::Answered {
            status,
            headers,
            body,
        }) => Ok(Raw(Answer {
            status,
            headers,
            body: body.bytes()?,
        })),
        Ok(Origin::Unfit(why)) => {
            let detail =
                format!("{why} The request was carried out, and is not sent again under this key.");
            // It was done: whatever is kept, this is.
            let failure = Failure::terminal("origin_answer_unfit", why).with_unknown_effect();
            Err(answered(
                failure,
                Code::OriginAnswerUnfit,
                &detail,
                ctx.task_id(),
            ))
        }
        Err(failure) => Err(not_sent(failure, ctx.task_id())),
    }
}

/// One try.
async fn send(
    scope: StepScope,
    gateway: Rc<Gateway>,
    mut request: OutRequest,
) -> Result<Origin, Failure> {
    let lookup = |name: &str| scope.secret(name);
    for header in gateway.origin_headers() {
        // Nothing was sent; somebody has to set the secret first.
        let value = header.value(&lookup);
        let value = value.map_err(|why| Failure::retryable("secret_unusable", why))?;
        request.headers.set(&header.name, value);
    }
    let derived = gateway.derived_key_header();
    let key_header = (gateway.key_to_origin() == ForwardKey::Derived).then_some(derived.as_str());
    match dispatch(&scope, request, key_header).await {
        Ok(response) if gateway.retries(response.status) && !scope.is_last_try() => {
            Err(busy(&response, scope.clock_ms()))
        }
        Ok(response) => Ok(Origin::of(response)),
        Err(FetchError::TooLarge { limit_bytes }) => Ok(Origin::too_large(limit_bytes)),
        Err(error) => Err(not_answered(error)),
    }
}

/// What the task fails with: for good where it is not to be sent again, else as it is.
fn not_sent(failure: Failure, task_id: TaskId) -> Failure {
    match failure.code.as_str() {
        "outcome_unknown" => answered(
            failure,
            Code::OriginUnknown,
            "The origin gave no answer in time, or the connection to it broke. Whether it carried the request out is unknown; it is not sent again under this key.",
            task_id,
        ),
        "target_refused" => answered(
            failure,
            Code::OriginUnreachable,
            "The origin's address may not be called. Nothing was sent.",
            task_id,
        ),
        _ => failure,
    }
}

fn answered(failure: Failure, code: Code, detail: &str, task_id: TaskId) -> Failure {
    let code_word = code.as_str().to_owned();
    let answer = Problem::new(code, detail).task(task_id).to_answer();
    Failure {
        code: code_word,
        ..failure
    }
    .with_answer(answer)
}

#[cfg(test)]
#[path = "gateway_tests.rs"]
mod tests;
