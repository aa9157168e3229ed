//! Invocations of the Worker: requests from outside, continuations, scheduled runs.

use crate::chance::Fault;
use crate::edge::SimEdge;
use crate::exec::{Event, Owner};
use crate::world::{WORKER_SKEW_MS, World, add};
use futures::channel::oneshot;
use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;
use onceward::function::{FetchError, OutRequest, OutResponse};
use onceward::limits;
use onceward::runtime::{self, Body, BodyFault, CONTINUE_PATH, Continuation, Edge, Exchange};
use onceward::types::{Answer, Headers};
use std::rc::Rc;

/// A request of somebody outside.
#[derive(Clone)]
pub struct Request {
    pub method: &'static str,
    pub target: String,
    pub headers: Headers,
    pub body: Vec<u8>,
}

struct Bytes(Vec<u8>, Edge);

impl Body for Bytes {
    fn read(&mut self, limit_bytes: usize) -> LocalBoxFuture<'_, Result<Vec<u8>, BodyFault>> {
        let body = std::mem::take(&mut self.0);
        let fits = body.len() <= limit_bytes;
        Box::pin(std::future::ready(
            fits.then_some(body).ok_or(BodyFault::TooLarge),
        ))
    }

    /// Nothing streams in here: the whole response is there at once.
    fn pass(
        &mut self,
        mut request: OutRequest,
    ) -> LocalBoxFuture<'_, Result<OutResponse, FetchError>> {
        request.body = std::mem::take(&mut self.0);
        self.1.fetch(request)
    }

    /// Nobody watches in here.
    fn stream(&mut self, _bytes: LocalBoxStream<'static, Vec<u8>>) {}
}

/// A running invocation, and what it will answer.
struct Invocation {
    owner: Rc<Owner>,
    job: u64,
    answer: oneshot::Receiver<Answer>,
}

fn invoke(
    world: &Rc<World>,
    name: &str,
    subject: &str,
    request: Request,
    inside: bool,
    event: Rc<Event>,
) -> Invocation {
    let owner = Owner::new(name, subject, world.skew_ms(subject, WORKER_SKEW_MS));
    let edge: Edge = Rc::new(SimEdge::new(world, &owner));
    let exchange = Exchange {
        method: request.method.to_owned(),
        path: request
            .target
            .split('?')
            .next()
            .unwrap_or_default()
            .to_owned(),
        target: request.target,
        headers: request.headers,
        inside,
        started_ms: edge.now_ms(),
    };
    let (done, answer) = oneshot::channel();
    let shared = Rc::clone(world);
    let run = async move {
        let mut body = Bytes(request.body, edge.clone());
        let answer = runtime::serve(&edge, &exchange, &mut body, &shared.app).await;
        let _ = done.send(answer);
    };
    let job = world.exec.spawn(&owner, event, Box::pin(run));
    Invocation { owner, job, answer }
}

/// Sends a request from outside. Nothing comes back if the connection breaks, or if the sender hangs up after
/// `patience_ms`.
pub async fn request(
    world: &Rc<World>,
    subject: &str,
    request: Request,
    patience_ms: Option<u64>,
) -> Option<Answer> {
    world.travels(subject, "request").await;
    let invocation = invoke(world, "worker", subject, request, false, Event::first());
    let Invocation { owner, job, answer } = invocation;
    let answer = match patience_ms {
        None => answer.await.ok(),
        Some(ms) => {
            world.exec.sleep(ms).await;
            // What is held by `waitUntil` goes on.
            world.exec.cancel(job);
            None
        }
    };
    world.cut_off_after(limits::PLATFORM_CUT_MS, owner);
    world.travels(subject, "answer").await;
    answer
}

/// Brings a ticket to a new invocation.
pub async fn continues(
    world: Rc<World>,
    continuation: Continuation,
    fault: Option<Fault>,
    event: Rc<Event>,
) -> Result<u16, String> {
    let subject = continuation.task_id.to_string();
    world.travels(&subject, "continue").await;
    match fault {
        Some(Fault::Fail) => return Err("the connection broke".into()),
        Some(Fault::Lose) => return Ok(202),
        Some(Fault::Stall(ms)) => world.exec.sleep(ms).await,
        Some(Fault::Double) => {
            let twin = begin(&world, &subject, &continuation, Rc::clone(&event));
            world.cut_off_after(limits::PLATFORM_CUT_MS, twin.owner);
        }
        _ => {}
    }
    add(&world.counts.hops);
    world
        .counts
        .deepest
        .set(world.counts.deepest.get().max(event.depth));
    let invocation = begin(&world, &subject, &continuation, event);
    let answer = invocation.answer.await;
    world.cut_off_after(limits::PLATFORM_CUT_MS, invocation.owner);
    answer
        .map(|answer| answer.status)
        .map_err(|_| "the invocation died".into())
}

fn begin(
    world: &Rc<World>,
    subject: &str,
    continuation: &Continuation,
    event: Rc<Event>,
) -> Invocation {
    let request = Request {
        method: "POST",
        target: CONTINUE_PATH.to_owned(),
        headers: continuation.headers.clone(),
        body: continuation.body.clone(),
    };
    invoke(world, "slice", subject, request, true, event)
}

/// One run of the scheduled jobs.
pub fn cron(world: &Rc<World>) {
    add(&world.counts.cron_runs);
    let owner = Owner::new("cron", "cron", world.skew_ms("cron", WORKER_SKEW_MS));
    let edge: Edge = Rc::new(SimEdge::new(world, &owner));
    let shared = Rc::clone(world);
    let run = async move { runtime::tick(&edge, shared.app.as_ref().ok()).await };
    world.exec.spawn(&owner, Event::first(), Box::pin(run));
}
