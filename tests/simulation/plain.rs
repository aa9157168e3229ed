//! Short lives in which nothing goes wrong, or one thing, and what they may cost then. A lease lasts longer here than a
//! life may take: whatever has to wait for its end breaks a rule. Among many faults nobody could say what is too slow.

use crate::chance::{Fate, Fault};
use crate::history::{Effect, Reply};
use crate::outside;
use crate::support::{
    Settings as _, call, child, child_id, fail, program, repeat, signal, sleep, value,
};
use crate::workers::{self, Request};
use crate::world::{TOKEN, World};
use onceward::types::{Headers, TaskId, TaskKey, TaskKind};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

const KEY: &str = "plain";
/// A second delivery comes so much later.
const BESIDE_MS: u64 = 20;

type Strikes = fn(&str, u32) -> Option<Fault>;
type Answers = Rc<RefCell<Vec<(u64, Reply)>>>;

struct Life {
    world: Rc<World>,
    body: Value,
    /// When each delivery was answered, and how.
    answers: Answers,
    wrong: Vec<String>,
}

fn id() -> TaskId {
    TaskKey::new(TaskKind::Function, "lab", "", KEY).task_id()
}

/// Three calls, each in a slice of its own.
fn three() -> Value {
    let calls = ["a", "b", "c"].map(step);
    program(calls).set("steps_per_slice", 1)
}

fn step(name: &str) -> Value {
    call(name, outside::url(&format!("/shop/20/{KEY}/{name}")))
}

impl Life {
    fn new(seed: u64, strikes: Strikes, body: &Value) -> Self {
        let fate = Fate::new(seed, 0, BTreeSet::new());
        fate.strikes_only(strikes);
        fate.calms();
        Self {
            world: World::new(fate, None),
            body: body.clone().set("lease", "15m").set("respond_within", "5s"),
            answers: Answers::default(),
            wrong: Vec::new(),
        }
    }

    fn request(&self) -> Request {
        let mut headers = Headers::default();
        headers.push("idempotency-key", KEY);
        headers.push("authorization", format!("Bearer {TOKEN}"));
        headers.push("content-type", "application/json");
        Request {
            method: "POST",
            target: "/v1/functions/lab".into(),
            headers,
            body: self.body.to_string().into_bytes(),
        }
    }

    /// Delivers, and lets this much time pass.
    fn delivers(&self, patience_ms: Option<u64>, passes_ms: u64) {
        self.sends(self.request(), patience_ms, passes_ms);
    }

    fn sends(&self, request: Request, patience_ms: Option<u64>, passes_ms: u64) {
        let (world, answers) = (Rc::clone(&self.world), Rc::clone(&self.answers));
        let job = async move {
            let answer = workers::request(&world, &id().to_string(), request, patience_ms).await;
            let Some(answer) = answer else { return };
            let headers = answer.headers.iter();
            let reply = Reply {
                status: answer.status,
                headers: headers.map(|(n, v)| (n.into(), v.into())).collect(),
                body: answer.body,
            };
            answers.borrow_mut().push((world.elapsed_ms(), reply));
        };
        let event = crate::exec::Event::first();
        let network = &self.world.network;
        self.world.exec.spawn(network, event, Box::pin(job));
        self.passes(passes_ms);
    }

    fn passes(&self, ms: u64) {
        self.world.exec.run_until(self.world.now_ms() + ms);
    }

    fn require(&mut self, holds: bool, what: &str, shown: &dyn std::fmt::Debug) {
        if !holds {
            self.wrong.push(format!("{what}: {shown:?}"));
        }
    }

    /// The n-th answer came by then, and says whether it is a repeat.
    fn answered(&mut self, n: usize, by_ms: u64, repeat: bool) {
        let found = self.answers.borrow().get(n).cloned();
        let shown = found.as_ref().map(|(at, r)| (*at, r.status));
        let own = found.is_some_and(|(at, reply)| {
            let says = reply.header("idempotent-replayed") == Some("true");
            at <= by_ms && reply.status == 200 && says == repeat
        });
        let what = format!("answer {n} is the function's by {by_ms} ms, a repeat: {repeat}");
        self.require(own, &what, &shown);
    }

    /// It has succeeded, D1 knows it, and each step was called once.
    fn ends(mut self, calls: usize) -> Vec<String> {
        let row = self.world.database.row(&id().to_string());
        let state = row.map(|row| row.state);
        self.require(state.as_deref() == Some("succeeded"), "D1 knows", &state);
        let called = self.world.outside.calls();
        let mut targets: Vec<&str> = called.iter().map(|c| c.target.as_str()).collect();
        targets.sort_unstable();
        let all = targets.len();
        targets.dedup();
        let once = all == calls && targets.len() == calls;
        self.require(once, "each step is called once", &(all, &targets));
        let broken = self.world.broken.borrow().clone();
        self.require(broken.is_empty(), "a rule of the simulation", &broken);
        self.wrong
    }
}

/// Nothing goes wrong. A second sender waits beside the first one, a third comes later.
pub fn nothing_goes_wrong(seed: u64) -> Vec<String> {
    let mut life = Life::new(seed, |_, _| None, &three());
    life.delivers(None, BESIDE_MS);
    life.delivers(None, 2_000);
    let (messages, rung) = (
        life.world.counts.messages.get(),
        life.world.counts.alarms.get(),
    );
    life.delivers(None, 200);
    // Two and the look of the first one, three claims or records, suspensions, the end.
    life.require(messages <= 14, "few messages", &messages);
    life.require(rung == 0, "no alarm", &rung);
    let hops = life.world.counts.hops.get();
    life.require(hops == 2, "a continuation for each further slice", &hops);
    let again = life.world.counts.messages.get() - messages;
    life.require(again == 1, "a repeat costs one message", &again);
    let mut answers = life.answers.borrow().clone();
    answers.truncate(2);
    let repeats = answers
        .iter()
        .filter(|(_, r)| r.header("idempotent-replayed").is_some());
    let (repeats, last) = (
        repeats.count(),
        answers.last().map_or(u64::MAX, |(at, _)| *at),
    );
    life.require(repeats == 1, "one of two is a repeat", &repeats);
    life.require(last <= 700, "whoever waits is told at once", &last);
    life.answered(2, 2_200 + BESIDE_MS, true);
    life.ends(3)
}

/// Whatever is sent to the object fails once: its reply, the message, or the write that it wants.
pub fn each_message_fails_once(seed: u64) -> Vec<String> {
    let strikes: [Strikes; 3] = [
        |point, nth| is_message(point, nth).then_some(Fault::ApplyThenFail),
        |point, nth| is_message(point, nth).then_some(Fault::Fail),
        // What the first slice has to say. Of a beginning that fails its sender hears at once, of a claim the alarm.
        |point, nth| (point == "commit" && nth == 2).then_some(Fault::Fail),
    ];
    let lives = strikes.into_iter().flat_map(|strikes| {
        let mut life = Life::new(seed, strikes, &three());
        life.delivers(None, 8_000);
        life.answered(0, 3_500, false);
        life.ends(3)
    });
    lives.collect()
}

fn is_message(point: &str, nth: u32) -> bool {
    let kinds = ["begin", "claim", "record", "suspend", "finish", "look"];
    kinds.contains(&point) && nth % 2 == 1
}

/// The sender is gone while the first step is under way.
pub fn the_sender_hangs_up(seed: u64) -> Vec<String> {
    let life = Life::new(seed, |_, _| None, &three().set("steps_per_slice", 3));
    life.delivers(Some(30), 2_000);
    life.ends(3)
}

/// D1 fails when it is told of the end: the alarm makes it good, and soon.
pub fn the_database_fails_once(seed: u64) -> Vec<String> {
    let strikes: Strikes = |point, nth| (point == "d1" && nth == 1).then_some(Fault::Fail);
    let mut life = Life::new(seed, strikes, &three().set("steps_per_slice", 3));
    life.delivers(None, 10_000);
    life.answered(0, 700, false);
    life.ends(3)
}

/// A continuation is lost without a word: the alarm mints another ticket.
pub fn a_continuation_is_lost(seed: u64) -> Vec<String> {
    let strikes: Strikes = |point, nth| (point == "continue" && nth == 1).then_some(Fault::Lose);
    let life = Life::new(seed, strikes, &three());
    life.delivers(None, 15_000);
    life.ends(3)
}

/// A journal of more than one page: what lies on the second one, the call `z`, is not done again.
pub fn a_journal_has_two_pages(seed: u64) -> Vec<String> {
    let many = repeat("many", 520, &value("a", 1));
    let body = program([step("z"), many, sleep("nap", "3s"), step("zz")]);
    let life = Life::new(seed, |_, _| None, &body);
    life.delivers(None, 20_000);
    life.ends(2)
}

/// A step takes longer than senders wait: they hear in time that it goes on.
pub fn a_step_takes_long(seed: u64) -> Vec<String> {
    let slow = call("slow", outside::url(&format!("/shop/8000/{KEY}/slow")));
    let mut life = Life::new(seed, |_, _| None, &program([slow]));
    life.delivers(None, BESIDE_MS);
    life.delivers(None, 10_000);
    let answers = life.answers.borrow().clone();
    let mut told: Vec<_> = answers.iter().map(|(at, r)| (*at, r.status)).collect();
    told.sort_by_key(|(_, status)| *status);
    let in_time = told.iter().all(|(at, _)| *at <= 5_500);
    let right = matches!(told.as_slice(), [(_, 202), (_, 409)]) && in_time;
    life.require(right, "nobody waits longer than he wanted", &told);
    life.ends(1)
}

fn parent(own: &Value) -> Value {
    let own = own.clone().set("lease", "15m");
    program([child("own", "plain-child", &own)])
}

/// A parent hears of the end of its child, and does not have to look for it; also if it could not be reached for a while.
pub fn a_child_ends(seed: u64) -> Vec<String> {
    let strikes: [(Strikes, u64); 2] = [
        (|_, _| None, 2_000),
        (
            |point, nth| (point == "signal" && nth <= 16).then_some(Fault::Fail),
            20_000,
        ),
    ];
    let lives = strikes.into_iter().flat_map(|(strikes, ms)| {
        let life = Life::new(seed, strikes, &parent(&three()));
        life.delivers(None, ms);
        life.ends(3)
    });
    lives.collect()
}

/// A parent is cancelled, and cannot reach its child for a while.
pub fn a_child_is_cancelled(seed: u64) -> Vec<String> {
    let strikes: Strikes = |point, nth| (point == "abandon" && nth <= 16).then_some(Fault::Fail);
    let own = program([signal("never")]);
    let mut life = Life::new(seed, strikes, &parent(&own));
    life.delivers(None, 2_000);
    let request = Request {
        target: format!("/v1/tasks/{}/cancel", id()),
        body: Vec::new(),
        ..life.request()
    };
    life.sends(request, None, 20_000);
    let row = life.world.database.row(&child_id("plain-child"));
    let state = row.map(|row| row.state);
    let heard = state.as_deref() == Some("cancelled");
    life.require(heard, "a child hears of it", &state);
    life.wrong
}

/// Children of children of children: their slices start each other up to the platform's limit, and not beyond.
pub fn a_family_is_deep(seed: u64) -> Vec<String> {
    let mut body = program([step("deepest")]);
    for n in 0..12 {
        body = program([child("own", &format!("plain-{n}"), &body)]);
    }
    let life = Life::new(seed, |_, _| None, &body);
    life.delivers(None, 120_000);
    life.ends(1)
}

/// One attempt fails, and the next delivery goes on with what is recorded.
pub fn a_failure_is_resumed(seed: u64) -> Vec<String> {
    let refused = call("c", outside::url(&format!("/seq/503,200/{KEY}/c")));
    let body = program([step("a"), refused]).set("max_attempts", 1);
    let mut life = Life::new(seed, |_, _| None, &body);
    life.delivers(None, 2_000);
    life.delivers(None, 2_000);
    life.answered(1, 4_000, false);
    let calls = life.world.outside.calls();
    let (a, all) = (step_calls(&calls, "/a"), calls.len());
    life.require(
        (a, all) == (1, 3),
        "what is recorded is not done again",
        &(a, all),
    );
    life.wrong
}

fn step_calls(calls: &[Effect], name: &str) -> usize {
    calls
        .iter()
        .filter(|call| call.target.ends_with(name))
        .count()
}

/// A key is refused for some time after its task, and new then.
pub fn a_key_is_used_up(seed: u64) -> Vec<String> {
    let body = three().set("retention", json!({"succeeded": "2s", "gone": "20s"}));
    let mut life = Life::new(seed, |_, _| None, &body);
    life.delivers(None, 1_500);
    life.answered(0, 1_000, false);
    life.passes(2_500);
    life.delivers(None, 500);
    let told = life.answers.borrow().get(1).cloned();
    let code = told.map(|(_, r)| (r.status, String::from_utf8_lossy(&r.body).into_owned()));
    let refused = code
        .as_ref()
        .is_some_and(|(status, body)| *status == 410 && body.contains("key_expired"));
    life.require(refused, "an expired key is gone", &code);
    let calls = life.world.outside.calls().len();
    life.require(calls == 3, "nothing is run for that", &calls);
    life.passes(25_000);
    life.delivers(None, 2_000);
    life.answered(2, 60_000, false);
    let calls = life.world.outside.calls().len();
    life.require(calls == 6, "then it is new", &calls);
    life.wrong
}

/// A failure that is not kept is run again by the next delivery; one that is kept is not.
pub fn a_failure_is_not_kept(seed: u64) -> Vec<String> {
    let lives = [("all", 1), ("success", 2)]
        .into_iter()
        .flat_map(|(keeps, runs)| {
            let body = program([step("a"), fail("terminal")]).set("keeps", keeps);
            let mut life = Life::new(seed, |_, _| None, &body);
            life.delivers(None, 2_000);
            life.delivers(None, 2_000);
            let calls = life.world.outside.calls().len();
            life.require(calls == runs, "runs of what failed", &(keeps, calls));
            let answers = life.answers.borrow().clone();
            let told: Vec<_> = answers.iter().map(|(_, r)| r.status).collect();
            life.require(told == [500, 500], "the failure is told", &told);
            life.wrong
        });
    lives.collect()
}
