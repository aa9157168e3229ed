//! The Worker that this repository deploys: its configuration and the two event handlers.

use super::{App, scheduled_tick, serve};
use crate::config::{Builder, ConfigProblem, Source};
use crate::function::Function;
use crate::functions;
use std::rc::Rc;
use worker::{Context, Env, Request, Response, Result, ScheduleContext, ScheduledEvent, event};

/// What is deployed: a source for GitHub, one for anybody who sends an `Idempotency-Key` or
/// `X-Request-ID`, and, in a lab build, the lab.
fn configuration() -> std::result::Result<App, Vec<ConfigProblem>> {
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
    let builder = builder.source(Source::generic("lab").runs("lab"));
    builder.build()
}

thread_local! {
    static APP: Rc<std::result::Result<App, Vec<ConfigProblem>>> = Rc::new(configuration());
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, ctx: Context) -> Result<Response> {
    let app = APP.with(Rc::clone);
    serve(request, env, ctx, &app).await
}

#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _ctx: ScheduleContext) {
    scheduled_tick(&env).await;
}
