//! `payment`: charges once, ships, and gives the money back if that fails. Large amounts wait for a
//! person.
//!
//! It talks to a service that moves money and goods, at the address `api` of its input. Every POST
//! carries the derived key of its step as `Idempotency-Key`, the same on every try.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST {api}/charges` | order, amount, currency | 2xx with an `id`; 402: the card was declined |
//! | `GET {api}/charges/{key}` | | 2xx with the `id` of the charge that was made under this key; 404: none was |
//! | `POST {api}/refunds` | charge | 2xx |
//! | `POST {api}/approvals` | order, amount, currency, url | 2xx; later somebody posts `{"approved": true}` to `url` |
//! | `POST {api}/reservations` | order | 2xx with an `id` |
//! | `POST {api}/releases` | reservation | 2xx |
//! | `POST {api}/shipments` | order, reservation | 2xx with an `id` |

use crate::function::{
    Answer, Checked, Ctx, Failure, Fetched, Function, Headers, Input, InputProblem, OnUnknown,
    OutRequest, Policy, Raw, Retry, StepScope, Undo, from_json,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

const APPROVAL_MS: u64 = 2 * 24 * 3_600_000;

/// What is ordered, and where it is paid and shipped.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Purchase {
    order: String,
    /// In the smallest unit of the currency.
    amount: u64,
    /// Three lower-case letters.
    currency: String,
    /// Address of the service that moves money and goods.
    api: String,
    /// Larger amounts wait for a person; without it none does.
    approval_above: Option<u64>,
}

/// What the service has made: a charge, a reservation, a shipment.
#[derive(Serialize, Deserialize)]
struct Made {
    id: String,
}

#[derive(Deserialize)]
struct Approval {
    approved: bool,
}

pub(super) fn function() -> Function {
    Function::new("payment", payment)
        .checked_by(check)
        .undo_unknown("refund", refund)
        .undo("release", release)
        // Its steps are short, so a slice may be as well: a crash is noticed after 20 s, not 75.
        .policy_of(Policy {
            slice_budget_ms: 12_000,
            slice_cut_ms: 15_000,
            lease_ms: 20_000,
            ..Policy::default()
        })
}

async fn payment(ctx: Ctx, purchase: Purchase) -> Result<Raw, Failure> {
    let charge = charge(&ctx, &purchase).await?;
    if purchase
        .approval_above
        .is_some_and(|most| purchase.amount > most)
    {
        approval(&ctx, &purchase).await?;
    }
    let reservation = reserve(&ctx, &purchase).await?;
    let shipment = ship(&ctx, &purchase, &reservation).await?;
    let receipt = json!({
        "order": purchase.order,
        "charge": charge.id,
        "reservation": reservation.id,
        "shipment": shipment.id,
    });
    Ok(Raw(Answer::json(201, &receipt)))
}

/// A charge is never made twice, even by a service that ignores its key: where no answer came back,
/// the service is asked first.
async fn charge(ctx: &Ctx, purchase: &Purchase) -> Result<Made, Failure> {
    let wanted = json!({
        "order": purchase.order, "amount": purchase.amount, "currency": purchase.currency,
    });
    let request = post(&purchase.api, "charges", &wanted);
    let api = purchase.api.clone();
    ctx.step_scoped("charge", move |scope| {
        let request = request.clone();
        async move { charged(scope.send(request).await?) }
    })
    .timeout_ms(10_000)
    .retry(Retry::exponential(5))
    .on_unknown(OnUnknown::probe(move |scope: StepScope| {
        let api = api.clone();
        async move { find_charge(&scope, &api, &scope.key().to_string()).await }
    }))
    .undo("refund", &purchase.api)
    .await
}

fn charged(answer: Fetched) -> Result<Made, Failure> {
    match answer.status {
        200..=299 => made(answer),
        402 => Err(refused(402, "card_declined", "the card was declined")),
        429 => Err(Failure::retryable("busy", "the service has no time")),
        // The money may have moved before the service broke.
        408 | 500..=599 => {
            let why = format!("the service answered {}", answer.status);
            Err(Failure::retryable("service_broken", why).with_unknown_effect())
        }
        status => {
            let why = format!("the service answered {status} to a charge");
            Err(Failure::terminal("charge_refused", why))
        }
    }
}

/// The charge that was made under a key, if one was.
async fn find_charge(scope: &StepScope, api: &str, key: &str) -> Result<Option<Made>, Failure> {
    let answer = scope.send(get(api, &format!("charges/{key}"))).await?;
    match answer.status {
        200..=299 => made(answer).map(Some),
        404 => Ok(None),
        status => {
            let why = format!("the service answered {status} when asked for a charge");
            Err(Failure::retryable("service_broken", why))
        }
    }
}

/// Gives the money back. Where it is unknown whether it was taken, the service is asked.
async fn refund(scope: StepScope, undo: Undo<String, Made>) -> Result<(), Failure> {
    let api = undo.input;
    let charge = match undo.outcome {
        Some(charge) => Some(charge),
        None => find_charge(&scope, &api, &undo.key).await?,
    };
    if let Some(charge) = charge {
        let request = post(&api, "refunds", &json!({ "charge": charge.id }));
        scope.fetch(request).await?;
    }
    Ok(())
}

/// Asks a person, and waits. The address works once, and needs no API token.
async fn approval(ctx: &Ctx, purchase: &Purchase) -> Result<(), Failure> {
    let wanted = json!({
        "order": purchase.order, "amount": purchase.amount, "currency": purchase.currency,
        "url": ctx.signal_url("approval"),
    });
    let request = post(&purchase.api, "approvals", &wanted);
    ctx.fetch("ask for approval", request).await?;
    let said = ctx.wait_for_signal::<Approval>("approval");
    match said.timeout_ms(APPROVAL_MS).await {
        Ok(Approval { approved: true }) => Ok(()),
        Ok(Approval { approved: false }) => {
            Err(refused(409, "not_approved", "the payment was not approved"))
        }
        Err(failure) if failure.code == "signal_timeout" => {
            let why = "nobody approved the payment in time";
            Err(refused(409, "approval_timeout", why))
        }
        Err(failure) => Err(failure),
    }
}

async fn reserve(ctx: &Ctx, purchase: &Purchase) -> Result<Made, Failure> {
    let request = post(
        &purchase.api,
        "reservations",
        &json!({ "order": purchase.order }),
    );
    let reserved = ctx.fetch("reserve", request).undo("release", &purchase.api);
    made(reserved.await?)
}

async fn release(scope: StepScope, undo: Undo<String, Fetched>) -> Result<(), Failure> {
    if let Some(reserved) = undo.outcome {
        let id = made(reserved)?.id;
        let request = post(&undo.input, "releases", &json!({ "reservation": id }));
        scope.fetch(request).await?;
    }
    Ok(())
}

/// A failure here ends the task once its tries are used up; the goods are released and the money is
/// given back then, in this order.
async fn ship(ctx: &Ctx, purchase: &Purchase, reservation: &Made) -> Result<Made, Failure> {
    let wanted = json!({ "order": purchase.order, "reservation": reservation.id });
    let sent = ctx
        .fetch("ship", post(&purchase.api, "shipments", &wanted))
        .retry(Retry::exponential(5))
        .await;
    let answer = problem(409, "not_shipped", "the goods cannot be shipped");
    made(sent.map_err(|failure| failure.with_answer(answer))?)
}

fn get(api: &str, path: &str) -> OutRequest {
    OutRequest {
        method: "GET".to_owned(),
        url: format!("{}/{path}", api.trim_end_matches('/')),
        headers: Headers::default(),
        body: Vec::new(),
    }
}

fn post(api: &str, path: &str, body: &Value) -> OutRequest {
    OutRequest {
        method: "POST".to_owned(),
        headers: [("content-type", "application/json")].into_iter().collect(),
        body: body.to_string().into_bytes(),
        ..get(api, path)
    }
}

/// What the service has made. An answer that does not say leaves it unknown.
fn made(answer: Fetched) -> Result<Made, Failure> {
    serde_json::from_value(answer.body).map_err(|error| {
        let why = format!("the service answered {}: {error}", answer.status);
        Failure::terminal("answer_unclear", why).with_unknown_effect()
    })
}

/// Trying again cannot help; the caller gets this answer.
fn refused(status: u16, code: &str, why: &str) -> Failure {
    Failure::terminal(code, why).with_answer(problem(status, code, why))
}

fn problem(status: u16, code: &str, why: &str) -> Answer {
    Answer::json(status, &json!({ "error": code, "message": why }))
}

/// Looks at an input before anything is written: the caller gets every problem at once.
fn check(input: &Input) -> Result<Checked, Vec<InputProblem>> {
    let wrong = |path: &str, detail: String| InputProblem {
        path: path.to_owned(),
        detail,
    };
    let purchase: Purchase = from_json(&input.body)
        .map_err(|problem| vec![wrong("", format!("not an order: {}", problem.detail))])?;
    let mut problems = Vec::new();
    if purchase.order.is_empty() {
        problems.push(wrong(
            "order",
            "got \"\", wanted the number of an order".to_owned(),
        ));
    }
    if purchase.amount == 0 {
        problems.push(wrong("amount", "got 0, wanted at least 1".to_owned()));
    }
    let currency = purchase.currency.as_bytes();
    if currency.len() != 3 || !currency.iter().all(u8::is_ascii_lowercase) {
        let got = &purchase.currency;
        let detail = format!("got {got:?}, wanted three lower-case letters like \"eur\"");
        problems.push(wrong("currency", detail));
    }
    if !is_base_url(&purchase.api) {
        let got = &purchase.api;
        let detail = format!("got {got:?}, wanted an address like \"https://shop.example/v1\"");
        problems.push(wrong("api", detail));
    }
    if problems.is_empty() {
        return Ok(Checked::default());
    }
    Err(problems)
}

/// An address that paths can be added to.
fn is_base_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    })
}
