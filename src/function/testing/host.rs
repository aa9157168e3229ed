//! The host of one slice on the bench.

use super::world::{Action, Fault, World};
use crate::function::{
    CallError, ChildBegin, ChildSays, FetchError, Host, OutRequest, OutResponse,
};
use crate::limits;
use crate::protocol::{Event, Finish, Record, Reply, Suspend};
use crate::types::{Answer, Failure, TaskId, Token};
use futures::future::LocalBoxFuture;
use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;

/// One way between a slice and the outside.
const OUTSIDE_WAY_MS: u64 = 1;
/// One way between a slice and its object. Longer than the way out, so that an effect that doesn't
/// wait for the record before it overtakes it, and a crash shows that.
const OBJECT_WAY_MS: u64 = 2;
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
        let fault = self.world.enter(action);
        if fault == Some(Fault::CrashBefore) {
            self.die::<()>().await;
        }
        fault
    }

    /// Sends a message until there is a reply.
    pub(super) async fn send(&self, action: Action, event: Event) -> Result<Reply, CallError> {
        let fault = self.enter(action).await;
        self.world.clock.sleep(OBJECT_WAY_MS).await;
        let mut reply = self.world.tell(self.id, event.clone());
        match fault {
            Some(Fault::CrashAfter) => self.die::<()>().await,
            Some(Fault::Double) => reply = self.world.tell(self.id, event),
            Some(Fault::LoseReply) => {
                self.world.clock.sleep(RESEND_MS).await;
                reply = self.world.tell(self.id, event);
            }
            Some(Fault::CrashBefore) | None => {}
        }
        self.world.clock.sleep(OBJECT_WAY_MS).await;
        match reply {
            Reply::NotFound => Err(CallError::Gone),
            reply => Ok(reply),
        }
    }

    async fn fetched(&self, request: OutRequest) -> Result<OutResponse, FetchError> {
        let fault = self.enter(Action::Fetch).await;
        self.world.clock.sleep(OUTSIDE_WAY_MS).await;
        let reaction = self.world.send_out(self.id, request);
        match fault {
            Some(Fault::CrashAfter) => self.die::<()>().await,
            Some(Fault::LoseReply) => {
                let text = "the connection broke before the response was there";
                return Err(FetchError::Network(text.to_owned()));
            }
            Some(Fault::CrashBefore | Fault::Double) | None => {}
        }
        self.world
            .clock
            .sleep(reaction.after_ms + OUTSIDE_WAY_MS)
            .await;
        reaction.result
    }
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

    fn begin_child(&self, _: ChildBegin) -> LocalBoxFuture<'static, Result<ChildSays, CallError>> {
        Box::pin(async { Ok(ChildSays::Gone) })
    }

    fn look_at_child(&self, _: TaskId) -> LocalBoxFuture<'static, Result<ChildSays, CallError>> {
        Box::pin(async { Ok(ChildSays::Gone) })
    }

    fn signal_token(&self, name: &str, n: u32) -> Option<String> {
        Some(format!("{name}-{n}"))
    }

    fn fit(&self, answer: Answer) -> Result<Answer, Failure> {
        let large = answer.body.len() > limits::MAX_ANSWER_BYTES;
        if large || !(200..=599).contains(&answer.status) {
            let text = "status 200 to 599 and a body within the limit are wanted";
            return Err(Failure::terminal("answer_invalid", text));
        }
        Ok(answer)
    }
}
