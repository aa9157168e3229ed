//! The Worker that this repository deploys: its configuration and the two event handlers.

use super::{App, GATEWAYS, NOTIFY, SOURCES, TOKENS, scheduled_tick, serve, variable};
use crate::config::{Builder, ConfigProblem, Source};
use crate::function::Function;
use crate::function::bulk::bulk;
use crate::function::flow::flow;
use crate::functions;
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
        .source(Source::generic("inbox").runs("inbox"))
        .declared(variable(env, SOURCES).as_ref())
        .declared_gateways(variable(env, GATEWAYS).as_ref())
        .own(bulk())
        .own(flow())
        .notified(variable(env, NOTIFY).as_ref())
        .declared_tokens(variable(env, TOKENS).as_ref());
    let builder = functions::flows()
        .iter()
        .fold(builder, |builder, text| builder.flow(text));
    #[cfg(feature = "lab")]
    let builder = super::lab::sources()
        .into_iter()
        .fold(builder, Builder::source);
    #[cfg(feature = "lab")]
    let builder = super::lab::gateways(env)
        .into_iter()
        .fold(builder, Builder::gateway);
    builder.build()
}

/// Made at the first request of an instance: variables stay the same for as long as it lives.
type Configured = Rc<std::result::Result<App, Vec<ConfigProblem>>>;

thread_local! {
    static APP: OnceCell<Configured> = const { OnceCell::new() };
}

fn configured(env: &Env) -> Configured {
    APP.with(|app| Rc::clone(app.get_or_init(|| Rc::new(configuration(env)))))
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, ctx: Context) -> Result<Response> {
    let app = configured(&env);
    serve(request, env, ctx, &app).await
}

#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _ctx: ScheduleContext) {
    scheduled_tick(&env, &configured(&env)).await;
}
