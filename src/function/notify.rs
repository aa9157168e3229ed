//! The function that tells an operator's endpoint: a Standard-Webhooks-signed POST, tried over days.

use super::ctx::{Ctx, StepScope};
use super::fetch::{busy, dispatch, not_answered};
use super::handler::Function;
use super::host::OutRequest;
use super::retry::Retry;
use crate::config::{Endpoint, Endpoints};
use crate::types::{Failure, Headers, Policy};
use crate::webhook::sender;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::rc::Rc;

/// Its name. No address has it.
pub const NOTIFY: &str = "onceward.notify";
/// The one step of it.
const STEP: &str = "send";
/// How long an endpoint may take (Standard Webhooks: 15 to 30 s).
const TIMEOUT_MS: u64 = 15_000;
/// 0 s, 5 s, 30 s, 3 min, 18 min, 2 h, 11 h, then once a day: ten tries over four days, with jitter.
const SCHEDULE: Retry = Retry {
    max_attempts: 10,
    initial_ms: 5_000,
    factor: 6.0,
    max_ms: 24 * 3_600_000,
    jitter: 0.2,
    max_elapsed_ms: None,
};

/// What is to be sent, and where to.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Notification {
    /// Name of the endpoint.
    pub endpoint: String,
    /// The same over all tries: receivers tell repeats by it.
    pub id: String,
    /// When there was something to tell, in milliseconds since 1970.
    #[serde(default)]
    pub at_ms: u64,
    /// The message: `type`, `timestamp`, `data`.
    pub message: Value,
}

/// The function, for these endpoints.
pub fn notify(endpoints: Rc<Endpoints>) -> Function {
    let policy = Policy {
        quiet: true,
        ..Policy::default()
    };
    Function::new(NOTIFY, move |ctx: Ctx, notification: Notification| {
        tell(ctx, Rc::clone(&endpoints), notification)
    })
    .policy_of(policy)
}

impl From<Endpoints> for Function {
    fn from(endpoints: Endpoints) -> Self {
        notify(Rc::new(endpoints))
    }
}

async fn tell(ctx: Ctx, endpoints: Rc<Endpoints>, sent: Notification) -> Result<Value, Failure> {
    let name = sent.endpoint.clone();
    let endpoint = endpoints.get(&name).cloned().map(Rc::new);
    let endpoint = endpoint.ok_or_else(|| {
        Failure::terminal(
            "endpoint_gone",
            format!("no endpoint is named {name:?} any more"),
        )
    })?;
    let sent = Rc::new(sent);
    let status: Option<u16> = ctx
        .step_scoped(STEP, move |scope| {
            send(scope, Rc::clone(&endpoint), Rc::clone(&sent))
        })
        .retry(SCHEDULE)
        .timeout_ms(TIMEOUT_MS)
        .await?;
    Ok(match status {
        Some(status) => json!({ "endpoint": name, "status": status }),
        None => json!({ "endpoint": name, "skipped": "disabled" }),
    })
}

/// One try: the status of a success, which is any 2xx. Redirects are not followed; 410 ends it for good, and the
/// endpoint with it. What came up while the endpoint was disabled is nothing that it wants: `None`. What came up
/// before has failed, and can be tried again.
async fn send(
    scope: StepScope,
    endpoint: Rc<Endpoint>,
    sent: Rc<Notification>,
) -> Result<Option<u16>, Failure> {
    if let Some(since_ms) = scope.disabled_since(&endpoint.name).await {
        if sent.at_ms > since_ms {
            return Ok(None);
        }
        let why = format!("endpoint {} is disabled: it said 410 (Gone)", endpoint.name);
        return Err(Failure::terminal("endpoint_disabled", why));
    }
    let request = signed(&scope, &endpoint, &sent)?;
    match dispatch(&scope, request, None).await {
        Ok(response) if (200..300).contains(&response.status) => Ok(Some(response.status)),
        Ok(response) if response.status == 410 => {
            scope.disable(&endpoint.name).await;
            let why = format!(
                "endpoint {} answered 410 (Gone), and is disabled",
                endpoint.name
            );
            Err(Failure::terminal("endpoint_disabled", why))
        }
        Ok(response) => Err(busy(&response, scope.clock_ms())),
        Err(error) => Err(not_answered(error)),
    }
}

/// The id stays the same over all tries; the time is that of this one.
fn signed(
    scope: &StepScope,
    endpoint: &Endpoint,
    sent: &Notification,
) -> Result<OutRequest, Failure> {
    let body = sent.message.to_string().into_bytes();
    let now_ms = scope.clock_ms();
    let held = endpoint
        .secrets
        .iter()
        .filter(|s| s.until_ms.is_none_or(|until| now_ms < until));
    let mut secrets = Vec::new();
    for secret in held {
        let missing = || {
            Failure::retryable(
                "secret_unusable",
                format!("secret {} is not set", secret.name),
            )
        };
        secrets.push((
            &secret.name,
            scope.secret(&secret.name).ok_or_else(missing)?,
        ));
    }
    if secrets.is_empty() {
        return Err(Failure::retryable(
            "secret_unusable",
            "every secret of the endpoint is over",
        ));
    }
    let texts: Vec<&str> = secrets.iter().map(|(_, text)| text.as_str()).collect();
    let at_s = now_ms / 1_000;
    let signature = sender::sign(&sent.id, at_s, &body, &texts).map_err(|(at, fault)| {
        Failure::retryable(
            "secret_unusable",
            format!("secret {} {fault}", secrets[at].0),
        )
    })?;
    let mut headers = Headers::default();
    headers.push("content-type", "application/json");
    headers.push("user-agent", "onceward");
    headers.push("webhook-id", sent.id.as_str());
    headers.push("webhook-timestamp", at_s.to_string());
    headers.push("webhook-signature", signature);
    Ok(OutRequest {
        method: "POST".to_owned(),
        url: endpoint.url.clone(),
        headers,
        body,
    })
}
