//! Keys that are used again and again: they are kept for seconds only, so that old messages, old flushes and old
//! tombstones meet new tasks of the same key.

use crate::outside;
use crate::support::{Settings as _, call, program};
use crate::town;
use crate::workers;
use crate::world::{OBJECT_SKEW_MS, World};
use onceward::types::{TaskKey, TaskKind};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How long a success is kept.
const KEPT_MS: u64 = 20_000;
/// An object's clock may be another one at the end of that time.
const SKEW_MS: u64 = 2 * OBJECT_SKEW_MS;

/// An answer of the function: the key with which it made its call.
struct Answered {
    sent: u64,
    done: u64,
    made: String,
}

/// One such key.
pub struct Reused {
    pub key: String,
    pub task_id: String,
    body: Value,
    answers: RefCell<Vec<Answered>>,
}

impl Reused {
    pub fn new(n: usize) -> Rc<Self> {
        let key = format!("r{n}");
        let url = outside::url(&format!("/shop/{}/{key}/a", 10 * n));
        let body = program([call("a", url)])
            .short()
            .set("max_attempts", 50)
            .set("retention", json!({ "succeeded": "20s" }));
        let task_id = TaskKey::new(TaskKind::Source, "lab", "", &key).task_id();
        Rc::new(Self {
            key,
            task_id: task_id.to_string(),
            body,
            answers: RefCell::default(),
        })
    }

    /// Delivers now and then, and notes the answers of the function.
    pub async fn lives(self: Rc<Self>, world: Rc<World>, who: u32, until_ms: u64) {
        let name = format!("{} sender {who}", self.task_id);
        while world.elapsed_ms() < until_ms {
            let pace = [50, 2_000, 30_000]
                [usize::try_from(world.fate.below(&name, "pace", 3)).unwrap_or(0)];
            world
                .exec
                .sleep(1 + world.fate.below(&name, "gap", pace))
                .await;
            self.deliver(&world).await;
        }
    }

    pub async fn deliver(&self, world: &Rc<World>) {
        let sent = world.elapsed_ms();
        let request = town::hook(&self.key, &self.body);
        let Some(answer) = workers::request(world, &self.task_id, request, None).await else {
            return;
        };
        let document: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let made = document["steps"]["a"]["body"]["id"]
            .as_str()
            .unwrap_or_default();
        let what = format!("delivered at {sent} ms, gets {} {made}", answer.status);
        world.tell("sender", &self.task_id, what);
        if let Some(made) = made.strip_prefix("id-") {
            self.answers.borrow_mut().push(Answered {
                sent,
                done: world.elapsed_ms(),
                made: made.to_owned(),
            });
        }
    }

    /// Judges the answers and the calls.
    pub fn judge(&self, world: &World) {
        let answers = self.answers.borrow();
        // When each one was first called for, and first answered with.
        let mut begun: BTreeMap<&str, u64> = BTreeMap::new();
        let mut ended: BTreeMap<&str, u64> = BTreeMap::new();
        for answer in answers.iter() {
            let first = ended.entry(&answer.made).or_insert(answer.done);
            *first = answer.done.min(*first);
        }
        let calls = world.outside.calls();
        let own: Vec<_> = calls
            .iter()
            .filter(|c| town::is_of(&c.target, &self.key))
            .collect();
        for call in &own {
            begun.entry(&call.key).or_insert(call.at);
            let over = ended
                .get(call.key.as_str())
                .is_some_and(|end| call.at > *end);
            self.require(world, !over, || {
                format!("{} is called for after its answer", call.key)
            });
        }
        let mut order: Vec<(u64, &str)> = begun.iter().map(|(made, at)| (*at, *made)).collect();
        order.sort_unstable();
        for pair in order.windows(2) {
            let early = pair[1].0 + SKEW_MS < pair[0].0 + KEPT_MS && ended.contains_key(pair[0].1);
            self.require(world, !early, || {
                format!(
                    "{} is begun while {} is kept: {order:?}",
                    pair[1].1, pair[0].1
                )
            });
        }
        for answer in answers.iter() {
            let first = ended[answer.made.as_str()];
            let late = answer.sent > first + KEPT_MS + SKEW_MS;
            self.require(world, !late, || {
                format!("{} is given out after its time", answer.made)
            });
            let newer = answers.iter().any(|other| {
                other.done < answer.sent
                    && begun.get(other.made.as_str()) > begun.get(answer.made.as_str())
            });
            self.require(world, !newer, || {
                format!("{} comes after a newer answer", answer.made)
            });
        }
    }

    fn require(&self, world: &World, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            world.breaks_rule(&self.task_id, what());
        }
    }

    /// How many tasks the key has had.
    pub fn lives_had(&self, world: &World) -> usize {
        let calls = world.outside.calls();
        let own = calls.iter().filter(|c| town::is_of(&c.target, &self.key));
        own.map(|call| &call.key)
            .collect::<std::collections::BTreeSet<_>>()
            .len()
    }
}
