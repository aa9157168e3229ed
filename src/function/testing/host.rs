//! The host of one slice on the bench.

use super::action::{Action, Fault, Reaction};
use super::world::World;
use crate::flow::kv::{KvCall, KvReply};
use crate::flow::lock::{LockCall, LockReply};
use crate::function::bulk::BulkPage;
use crate::function::flow::{FlowRef, listens, prepare};
use crate::function::{
    CallError, ChildBegin, ChildSays, FetchError, Host, OutRequest, OutResponse, outcome_of,
};
use crate::http::bulk::Report;
use crate::http::headers;
use crate::protocol::{Begin, Event, Finish, Record, Reply, Standing, Suspend};
use crate::types::{Answer, Failure, TaskId, Token};
use futures::future::LocalBoxFuture;
use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;

/// One way between a slice and the outside.
const OUTSIDE_WAY_MS: u64 = 1;
/// One way between a slice and an object, or two objects. Longer than the way out, so that an effect that doesn't
/// wait for the record before it overtakes it, and a crash shows that.
pub(super) const OBJECT_WAY_MS: u64 = 2;
/// How much later an answer comes from a side that is slow: less than any timeout.
const SLOW_MS: u64 = 1_500;
/// A message without a reply is sent again after this.
const RESEND_MS: u64 = 500;

#[derive(Clone)]
pub(super) struct TestHost {
    world: Rc<World>,
    id: TaskId,
    dead: Rc<Cell<bool>>,
}

impl TestHost {
    pub(super) fn new(world: &Rc<World>, id: TaskId) -> Self {
        Self {
            world: Rc::clone(world),
            id,
            dead: Rc::default(),
        }
    }

    /// True once the slice has crashed: it is not to be run on.
    pub(super) fn is_dead(&self) -> bool {
        self.dead.get()
    }

    async fn die<T>(&self) -> T {
        self.dead.set(true);
        pending().await
    }

    /// Counts an action of a slice that lives, and lets it die if that is planned.
    async fn enter(&self, action: Action) -> Option<Fault> {
        if self.is_dead() {
            pending::<()>().await;
        }
        let fault = self.world.enter(self.id, action);
        if fault == Some(Fault::CrashBefore) {
            self.die::<()>().await;
        }
        fault
    }

    /// Does something at an object: there, there once more if that is how it is disturbed, and back.
    async fn at_object<T>(&self, action: Action, act: impl Fn(&World) -> T) -> T {
        let fault = self.enter(action).await;
        self.world.clock.sleep(OBJECT_WAY_MS).await;
        let mut reply = act(&self.world);
        match fault {
            Some(Fault::CrashAfter) => self.die::<()>().await,
            Some(Fault::Double) => reply = act(&self.world),
            Some(Fault::LoseReply) => {
                self.world.clock.sleep(RESEND_MS).await;
                reply = act(&self.world);
            }
            Some(Fault::CrashBefore | Fault::Slow | Fault::Busy) | None => {}
        }
        self.world.clock.sleep(OBJECT_WAY_MS).await;
        reply
    }

    /// Sends a message until there is a reply.
    pub(super) async fn send(&self, action: Action, event: Event) -> Result<Reply, CallError> {
        let tell = |world: &World| world.tell(self.id, event.clone());
        match self.at_object(action, tell).await {
            Reply::NotFound => Err(CallError::Gone),
            reply => Ok(reply),
        }
    }

    async fn child_begun(&self, begin: ChildBegin) -> Result<ChildSays, CallError> {
        let refused = |why: String| ChildSays::Refused(Failure::terminal("child_refused", why));
        let Some(function) = self.world.function(&begin.function) else {
            return Ok(refused(format!("no function {:?}", begin.function)));
        };
        let checked = match function.check(&begin.input) {
            Ok(checked) => checked,
            Err(problems) => return Ok(refused(format!("its input is refused: {problems:?}"))),
        };
        let child = begin.key.task_id();
        let event = Event::Begin(Box::new(Begin {
            op: self.world.token(),
            key: begin.key,
            function: begin.function,
            policy: checked.policy.unwrap_or_else(|| function.policy().clone()),
            fingerprint: begin.fingerprint,
            parts: Vec::new(),
            input: begin.input,
            claims: false,
            hop: begin.hop,
            parent: begin.parent,
            lineage: begin.lineage,
            about: begin.about,
        }));
        let tell = |world: &World| world.tell(child, event.clone());
        match self.at_object(Action::Begin, tell).await {
            Reply::Stands(standing) => Ok(says(&standing)),
            Reply::KeyCollision | Reply::KeyReused { .. } => {
                Ok(refused("its key is another task's".to_owned()))
            }
            Reply::Expired => Ok(refused("its key is used up".to_owned())),
            other => Err(CallError::Unreachable(format!("{other:?}"))),
        }
    }

    async fn child_seen(&self, id: TaskId) -> ChildSays {
        let look = |world: &World| world.standing(id);
        let standing = self.at_object(Action::Look, look).await;
        standing.map_or(ChildSays::Gone, |standing| says(&standing))
    }

    async fn fetched(&self, request: OutRequest) -> Result<OutResponse, FetchError> {
        let fault = self.enter(Action::Fetch).await;
        self.world.clock.sleep(OUTSIDE_WAY_MS).await;
        let mut reaction = match fault {
            Some(Fault::Busy) => Reaction::status(503),
            _ => self.world.send_out(self.id, request),
        };
        match fault {
            Some(Fault::Slow) => reaction = reaction.later_ms(SLOW_MS),
            Some(Fault::CrashAfter) => self.die::<()>().await,
            Some(Fault::LoseReply) => {
                let text = "the connection broke before the response was there";
                return Err(FetchError::Network(text.to_owned()));
            }
            Some(Fault::CrashBefore | Fault::Double | Fault::Busy) | None => {}
        }
        self.world
            .clock
            .sleep(reaction.after_ms + OUTSIDE_WAY_MS)
            .await;
        reaction.result
    }
}

fn says(standing: &Standing) -> ChildSays {
    outcome_of(standing).map_or(ChildSays::Moving, ChildSays::Ended)
}

impl Host for TestHost {
    fn now_ms(&self) -> u64 {
        self.world.clock.now_ms()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        Box::pin(self.world.clock.sleep(ms))
    }

    fn token(&self) -> Token {
        self.world.token()
    }

    fn jitter(&self) -> u32 {
        1_000
    }

    fn fetch(
        &self,
        request: OutRequest,
    ) -> LocalBoxFuture<'static, Result<OutResponse, FetchError>> {
        let host = self.clone();
        Box::pin(async move { host.fetched(request).await })
    }

    fn record(&self, record: Record) -> LocalBoxFuture<'static, Result<Reply, CallError>> {
        let host = self.clone();
        let event = Event::Record(Box::new(record));
        Box::pin(async move { host.send(Action::Record, event).await })
    }

    fn suspend(&self, suspend: Suspend) -> LocalBoxFuture<'static, Result<Reply, CallError>> {
        let host = self.clone();
        let event = Event::Suspend(Box::new(suspend));
        Box::pin(async move { host.send(Action::Suspend, event).await })
    }

    fn finish(&self, finish: Finish) -> LocalBoxFuture<'static, Result<Reply, CallError>> {
        let host = self.clone();
        let event = Event::Finish(Box::new(finish));
        Box::pin(async move { host.send(Action::Finish, event).await })
    }

    fn begin_child(
        &self,
        begin: ChildBegin,
    ) -> LocalBoxFuture<'static, Result<ChildSays, CallError>> {
        let host = self.clone();
        Box::pin(async move { host.child_begun(begin).await })
    }

    fn look_at_child(
        &self,
        task_id: TaskId,
    ) -> LocalBoxFuture<'static, Result<ChildSays, CallError>> {
        let host = self.clone();
        Box::pin(async move { Ok(host.child_seen(task_id).await) })
    }

    fn signal_token(&self, name: &str, n: u32) -> Option<String> {
        Some(format!("{name}-{n}"))
    }

    fn bulk(&self, page: BulkPage) -> LocalBoxFuture<'static, Result<Report, Failure>> {
        let report = self.world.reports.borrow().get(&page.after).cloned();
        self.world.pages.borrow_mut().push(page);
        let none = || Failure::terminal("list_unavailable", "no report was given of this page");
        Box::pin(std::future::ready(report.ok_or_else(none)))
    }

    fn disabled_since(&self, endpoint: &str) -> LocalBoxFuture<'static, Option<u64>> {
        let since_ms = self.world.disabled.borrow().get(endpoint).copied();
        Box::pin(std::future::ready(since_ms))
    }

    fn disable(&self, endpoint: &str) -> LocalBoxFuture<'static, ()> {
        let mut disabled = self.world.disabled.borrow_mut();
        disabled.entry(endpoint.to_owned()).or_insert(self.now_ms());
        Box::pin(std::future::ready(()))
    }

    fn flow_text(&self, digest: String) -> LocalBoxFuture<'static, Result<String, Failure>> {
        let text = self.world.flow_texts.borrow().get(&digest).cloned();
        let missing = move || Failure::terminal("flow_not_found", format!("no text {digest}"));
        Box::pin(std::future::ready(text.ok_or_else(missing)))
    }

    fn flow_current(
        &self,
        namespace: String,
        id: String,
    ) -> LocalBoxFuture<'static, Result<FlowRef, Failure>> {
        let message = format!("there is no flow {namespace}/{id}");
        let found = self.world.flows.borrow().get(&(namespace, id)).cloned();
        let found = found.ok_or_else(|| Failure::terminal("flow_not_found", message));
        Box::pin(std::future::ready(found))
    }

    fn flow_listeners(&self) -> LocalBoxFuture<'static, Result<Vec<FlowRef>, Failure>> {
        let flows = self.world.flows.borrow();
        let texts = self.world.flow_texts.borrow();
        let listens = |of: &&FlowRef| {
            let text = texts.get(&of.digest);
            let flow = text.and_then(|text| prepare(text).ok());
            flow.is_some_and(|flow| !flow.disabled && listens(&flow))
        };
        let found: Vec<FlowRef> = flows.values().filter(listens).cloned().collect();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn kv(&self, call: KvCall) -> LocalBoxFuture<'static, Result<KvReply, CallError>> {
        let host = self.clone();
        Box::pin(async move {
            let ask = |world: &World| world.kv(&call);
            Ok(host.at_object(Action::Kv, ask).await)
        })
    }

    fn kv_keys(
        &self,
        namespace: &str,
        prefix: &str,
    ) -> LocalBoxFuture<'static, Result<Vec<String>, CallError>> {
        let host = self.clone();
        let (namespace, prefix) = (namespace.to_owned(), prefix.to_owned());
        Box::pin(async move {
            let list = |world: &World| world.kv_keys(&namespace, &prefix);
            Ok(host.at_object(Action::Kv, list).await)
        })
    }

    fn lock(&self, call: LockCall) -> LocalBoxFuture<'static, Result<LockReply, CallError>> {
        let host = self.clone();
        Box::pin(async move {
            let ask = |world: &World| world.lock(&call);
            Ok(host.at_object(Action::Lock, ask).await)
        })
    }

    fn secret(&self, name: &str) -> Option<String> {
        self.world.secrets.borrow().get(name).cloned()
    }

    fn fit(&self, answer: Answer) -> Result<Answer, Failure> {
        // The very check that a deployment makes.
        headers::fit(answer).map_err(|why| Failure::terminal("answer_invalid", why))
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
