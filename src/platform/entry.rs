//! The Worker that this repository deploys: its configuration and the two event handlers.

use super::{App, scheduled_tick, serve};
use crate::config::{Builder, ConfigProblem, Source};
#[cfg(feature = "lab")]
use crate::config::{ForwardKey, Gateway};
use crate::function::Function;
use crate::functions;
#[cfg(feature = "lab")]
use crate::types::Policy;
use std::cell::OnceCell;
use std::rc::Rc;
use worker::{Context, Env, Request, Response, Result, ScheduleContext, ScheduledEvent, event};

/// What is deployed: a source for GitHub, one for anybody who sends an `Idempotency-Key` or
/// `X-Request-ID`, and, in a lab build, the lab.
fn configuration(env: &Env) -> std::result::Result<App, Vec<ConfigProblem>> {
    let builder = functions::all()
        .into_iter()
        .fold(Builder::<Function>::new(), Builder::function)
        .source(
            Source::github("github")
                .secret("GITHUB_WEBHOOK_SECRET")
                .runs("github-event"),
        )
        .source(Source::generic("inbox").runs("inbox"));
    #[cfg(feature = "lab")]
    let builder = lab_gateways(env)
        .into_iter()
        .fold(builder, Builder::gateway)
        .source(Source::generic("lab").runs("lab"));
    #[cfg(not(feature = "lab"))]
    let _ = env;
    builder.build()
}

/// Gateways of each kind to the service that tests run: its address is `ONCEWARD_LAB_ORIGIN`. Their
/// leases are short, so that a crash is soon noticed.
#[cfg(feature = "lab")]
fn lab_gateways(env: &Env) -> Vec<Gateway> {
    let Ok(origin) = env.var("ONCEWARD_LAB_ORIGIN") else {
        return Vec::new();
    };
    let origin = origin.to_string();
    let policy = Policy {
        slice_cut_ms: 4_000,
        slice_budget_ms: 3_000,
        lease_ms: 6_000,
        ..Policy::default()
    };
    let to = |name: &str, base: &str| {
        Gateway::to(name, &format!("{origin}{base}"))
            .policy_of(policy.clone())
            .timeout_ms(1_500)
            .respond_within_ms(1_000)
    };
    vec![
        to("lab", "").forward_headers(&["X-Shop"]),
        to("lab-keys", "").honours_keys().retry_on(&[503]),
        to("lab-passed", "").forward_key(ForwardKey::Passed),
        to("lab-base", "/echo").origin_header("authorization", "LAB_ORIGIN_KEY", "Bearer "),
        to("lab-closed", "").origin_header("authorization", "LAB_UNSET_KEY", "Bearer "),
    ]
}

thread_local! {
    static APP: OnceCell<Rc<std::result::Result<App, Vec<ConfigProblem>>>> = const { OnceCell::new() };
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, ctx: Context) -> Result<Response> {
    let app = APP.with(|app| Rc::clone(app.get_or_init(|| Rc::new(configuration(&env)))));
    serve(request, env, ctx, &app).await
}

#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _ctx: ScheduleContext) {
    scheduled_tick(&env).await;
}
