//! The platform of a simulation: what an invocation sends, with what can go wrong with it.

use crate::chance::{Fault, Odds};
use crate::exec::{Event, Owner};
use crate::objects::{self, shelf};
use crate::previous;
use crate::workers;
use crate::world::{TOKEN, World, add};
use futures::channel::oneshot;
use onceward::config::Endpoints;
use onceward::function::{FetchError, OutRequest, OutResponse};
use onceward::http::object_call::{Call, Frame, Reply};
use onceward::runtime::{Broken, Continuation, Later, Level, Platform, Rows, Tally};
use onceward::store::d1::Statement;
use onceward::types::{Database, Policy, Token};
use serde_json::Value;
use std::future::Future;
use std::rc::Rc;

const MESSAGE: Odds = &[
    (Fault::CrashBefore, 40),
    (Fault::CrashAfter, 60),
    (Fault::Fail, 60),
    (Fault::ApplyThenFail, 80),
    (Fault::Stall(3_000), 60),
    (Fault::Double, 80),
    (Fault::Overloaded, 20),
    (Fault::Reset, 60),
];
const D1: Odds = &[
    (Fault::CrashBefore, 100),
    (Fault::CrashAfter, 100),
    (Fault::Fail, 300),
    (Fault::ApplyThenFail, 200),
    (Fault::Stall(12_000), 150),
    (Fault::Stall(40_000), 150),
];
const CONTINUE: Odds = &[
    (Fault::CrashBefore, 150),
    (Fault::CrashAfter, 150),
    (Fault::Fail, 150),
    (Fault::Lose, 300),
    (Fault::Double, 300),
    (Fault::Stall(5_000), 150),
];
const FETCH: Odds = &[
    (Fault::CrashBefore, 100),
    (Fault::CrashAfter, 150),
    (Fault::Fail, 100),
    (Fault::ApplyThenFail, 100),
    (Fault::Stall(4_000), 80),
];

/// What one invocation, or one instance of an object, has at hand.
pub struct SimEdge {
    world: Rc<World>,
    owner: Rc<Owner>,
}

impl SimEdge {
    pub fn new(world: &Rc<World>, owner: &Rc<Owner>) -> Self {
        Self {
            world: Rc::clone(world),
            owner: Rc::clone(owner),
        }
    }

    /// Carries out an effect that the network brings about: it comes to pass although whoever wanted it is
    /// gone. With a crash before it, it doesn't; with one after it, nobody hears of it.
    fn effect<T: 'static>(
        &self,
        fault: Option<Fault>,
        what: &'static str,
        effect: impl Future<Output = T> + 'static,
    ) -> Later<T> {
        let (world, owner) = (Rc::clone(&self.world), Rc::clone(&self.owner));
        Box::pin(async move {
            if fault == Some(Fault::CrashBefore) {
                world.dies(&owner, &format!("dies before {what}")).await;
            }
            let (done, ended) = oneshot::channel();
            world.carry(Box::pin(async move {
                // Whoever wanted it may be gone.
                let _ = done.send(effect.await);
            }));
            let ended = ended.await.expect("the network never dies");
            if fault == Some(Fault::CrashAfter) {
                world.dies(&owner, &format!("dies after {what}")).await;
            }
            ended
        })
    }

    fn refused<T: 'static>(&self, limit: String, error: impl Fn(String) -> T) -> Later<T> {
        self.world.over_limit(&self.owner, &limit);
        Box::pin(std::future::ready(error(limit)))
    }
}

/// One message to an object, there and back.
async fn message(
    world: Rc<World>,
    call: Call,
    fault: Option<Fault>,
    event: Rc<Event>,
) -> Result<Reply, Broken> {
    let (to, subject) = (call.task_id, call.task_id.to_string());
    let mut bytes = call.to_frame().encode();
    if previous::speaks(&world, &subject) {
        bytes = previous::older(&bytes);
    }
    world.travels(&subject, "message").await;
    let cut_off = world.is_cut_off(&subject);
    let is_lost = cut_off && world.fate.below(&subject, "lost on the way there", 2) == 0;
    match fault {
        _ if is_lost => return Err(Broken::Failed("nobody is there".into())),
        Some(Fault::Fail) => return Err(Broken::Failed("the connection broke".into())),
        Some(Fault::Overloaded) => return Err(Broken::Overloaded),
        Some(Fault::Stall(ms)) => world.exec.sleep(ms).await,
        Some(Fault::Reset) => shelf(&world, to).reset(&world, "is reset"),
        Some(Fault::Double) => {
            let (again, twin, context) = (bytes.clone(), Rc::clone(&world), Rc::clone(&event));
            world.carry(Box::pin(async move {
                let late = twin.fate.below(&to.to_string(), "twin", 9_000);
                twin.exec.sleep(late).await;
                drop(objects::deliver(&twin, to, &again, context).await);
            }));
        }
        _ => {}
    }
    let mut reply = objects::deliver(&world, to, &bytes, event).await?;
    if cut_off || fault == Some(Fault::ApplyThenFail) {
        return Err(Broken::Failed(
            "the connection broke on the way back".into(),
        ));
    }
    if previous::speaks(&world, &subject) {
        reply = previous::newer(&reply);
    }
    world.travels(&subject, "reply").await;
    Frame::decode(&reply)
        .ok_or_else(|| "cut off".to_owned())
        .and_then(Reply::from_frame)
        .map_err(Broken::Failed)
}

async fn statements(
    world: Rc<World>,
    subject: String,
    statements: Vec<Statement>,
    fault: Option<Fault>,
) -> Result<Vec<Rows>, String> {
    world.travels(&subject, "d1").await;
    let failed = || Err("D1_ERROR: Network connection lost.".to_owned());
    match (fault, world.is_d1_out()) {
        (Some(Fault::Fail), _) | (_, true) => return failed(),
        (Some(Fault::Stall(ms)), _) => world.exec.sleep(ms).await,
        _ => {}
    }
    add(&world.counts.d1_calls);
    let rows = world.database.batch(&statements);
    if fault == Some(Fault::ApplyThenFail) {
        return failed();
    }
    world.travels(&subject, "d1 reply").await;
    rows
}

async fn call_outside(
    world: Rc<World>,
    subject: String,
    request: OutRequest,
    fault: Option<Fault>,
    done: oneshot::Sender<Result<OutResponse, FetchError>>,
) {
    let network = || FetchError::Network("the connection broke".into());
    world
        .exec
        .sleep(1 + world.fate.below(&subject, "fetch way", 20))
        .await;
    if fault == Some(Fault::Fail) {
        let _ = done.send(Err(network()));
        return;
    }
    let reply = world.outside.arrives(&request, world.elapsed_ms());
    let stalled = match fault {
        Some(Fault::Stall(ms)) => ms,
        _ => 0,
    };
    world.exec.sleep(reply.after_ms + stalled).await;
    // Whoever gets no answer does not know whether it was done.
    let hung_up = done.is_canceled() || fault == Some(Fault::ApplyThenFail);
    world.outside.ends(reply.index, world.elapsed_ms(), hung_up);
    let _ = done.send(match reply.response {
        Some(response) if !hung_up => Ok(response),
        _ => Err(network()),
    });
}

impl Platform for SimEdge {
    fn now_ms(&self) -> u64 {
        self.world.clock_ms(&self.owner)
    }

    fn sleep(&self, ms: u64) -> Later<()> {
        Box::pin(self.world.exec.sleep(ms))
    }

    fn token(&self) -> Token {
        Token::new(self.world.draw())
    }

    fn jitter(&self) -> u32 {
        let dice = self.world.fate.below(&self.owner.subject, "jitter", 1_001);
        u32::try_from(dice).unwrap_or(0)
    }

    fn send(&self, call: &Call) -> Later<Result<Reply, Broken>> {
        let event = self.world.exec.event();
        if let Err(limit) = event.sends_inside() {
            return self.refused(limit, |e| Err(Broken::Failed(e)));
        }
        let (subject, point) = (call.task_id.to_string(), call.ask.name());
        let fault = self.world.strikes(&self.owner, &subject, point, MESSAGE);
        let world = Rc::clone(&self.world);
        self.effect(
            fault,
            point,
            message(world, call.clone(), fault, event.caused()),
        )
    }

    fn go_on(&self, continuation: Continuation) -> Later<Result<u16, String>> {
        let event = self.world.exec.event();
        if let Err(limit) = event.invokes() {
            return self.refused(limit, Err);
        }
        let subject = continuation.task_id.to_string();
        let fault = self
            .world
            .strikes(&self.owner, &subject, "continue", CONTINUE);
        let world = Rc::clone(&self.world);
        let caused = event.caused();
        self.effect(
            fault,
            "continue",
            workers::continues(world, continuation, fault, caused),
        )
    }

    fn databases(&self) -> u16 {
        1
    }

    fn d1(&self, _database: Database, wanted: Vec<Statement>) -> Later<Result<Vec<Rows>, String>> {
        if let Err(limit) = self.world.exec.event().sends_inside() {
            return self.refused(limit, Err);
        }
        let subject = self.owner.subject.clone();
        let fault = self.world.strikes(&self.owner, &subject, "d1", D1);
        let world = Rc::clone(&self.world);
        self.effect(fault, "d1", statements(world, subject, wanted, fault))
    }

    fn fetch(&self, request: OutRequest) -> Later<Result<OutResponse, FetchError>> {
        let event = self.world.exec.event();
        if let Err(limit) = event.sends_outside() {
            return self.refused(limit, |e| Err(FetchError::Network(e)));
        }
        let (world, owner) = (Rc::clone(&self.world), Rc::clone(&self.owner));
        let subject = owner.subject.clone();
        let fault = world.strikes(&owner, &subject, "fetch", FETCH);
        Box::pin(async move {
            if fault == Some(Fault::CrashBefore) {
                world.dies(&owner, "dies before it calls").await;
            }
            let (done, answered) = oneshot::channel();
            let call = call_outside(Rc::clone(&world), subject, request, fault, done);
            world.carry(Box::pin(call));
            let answered = answered.await.expect("the network never dies");
            if fault == Some(Fault::CrashAfter) {
                world.dies(&owner, "dies after its call").await;
            }
            answered
        })
    }

    fn wait_until(&self, work: Later<()>) {
        let event = self.world.exec.event();
        self.world.exec.spawn(&self.owner, event, work);
    }

    fn secret(&self, name: &str) -> Option<String> {
        (name == onceward::runtime::TOKEN).then(|| TOKEN.to_owned())
    }

    fn admits(&self, _limiter: &str, _key: &str) -> Later<Result<bool, String>> {
        Box::pin(async { Ok(true) })
    }

    fn log(&self, level: Level, event: &str, fields: Value) {
        let subject = fields["task_id"]
            .as_str()
            .unwrap_or(&self.owner.subject)
            .to_owned();
        let what = format!("{level:?} {event} {fields}");
        self.world.tell(&self.owner.name, &subject, what);
    }

    fn cut_ms(&self, policy: &Policy) -> Option<u64> {
        Some(policy.slice_cut_ms)
    }

    fn endpoints(&self) -> Rc<Endpoints> {
        Rc::clone(&self.world.endpoints)
    }

    fn tally(&self) -> &Tally {
        &self.world.tally
    }

    fn point(&self, _texts: &[&str], _numbers: &[f64]) {}

    fn count(&self, _what: &'static str, _by: u64) {}

    fn faults(&self, _wish: Option<&Value>) -> Result<Value, Vec<String>> {
        Ok(Value::Null)
    }

    fn counters(&self) -> Value {
        Value::Null
    }
}
