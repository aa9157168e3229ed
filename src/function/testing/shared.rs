//! What tasks of a bench share: keys with their values, and locks. They decide as they do in production; what is
//! owed to a task comes by an errand.

use super::bench::Bench;
use super::host::OBJECT_WAY_MS;
use super::world::{Start, World};
use crate::flow::kv::{self, KvCall, KvEntry, KvReply};
use crate::flow::lock::{self, Asker, Letter, Lock, LockCall, LockReply};
use crate::function::has_let_go;
use crate::limits;
use crate::protocol::{Event, Outcome, Reply, Signal, Summary, lock_signal};
use crate::types::TaskId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Keys by namespace and name, locks by name.
#[derive(Default)]
pub(super) struct Shared {
    keys: RefCell<BTreeMap<(String, String), kv::Stored>>,
    locks: RefCell<BTreeMap<String, Lock>>,
}

/// A letter under way.
const SENT: u64 = u64::MAX;

impl World {
    pub(super) fn kv(&self, call: &KvCall) -> KvReply {
        let mut keys = self.shared.keys.borrow_mut();
        let name = (call.namespace.clone(), call.key.clone());
        let (next, reply) = kv::decide(keys.get(&name), call, self.clock.now_ms());
        if let Some(next) = next {
            keys.insert(name, next);
        }
        reply
    }

    /// Keys of a namespace that begin with this.
    pub(super) fn kv_keys(&self, namespace: &str, prefix: &str) -> Vec<String> {
        let now_ms = self.clock.now_ms();
        let keys = self.shared.keys.borrow();
        let there = keys.iter().filter(|((space, key), stored)| {
            space == namespace && key.starts_with(prefix) && stored.live(now_ms).is_some()
        });
        let most = limits::MAX_KV_KEYS as usize;
        there.map(|((_, key), _)| key.clone()).take(most).collect()
    }

    pub(super) fn lock(&self, call: &LockCall) -> LockReply {
        let now_ms = self.clock.now_ms();
        let before = self.shared.locks.borrow_mut().remove(&call.name);
        let decided = lock::decide(before, call, now_ms);
        self.keep_lock(decided.lock);
        // Whoever holds it may have ended before anybody waited for it.
        self.look_at_locks();
        decided.reply
    }

    /// Keeps a lock that is not empty, and sends the letters that it owes.
    fn keep_lock(&self, mut lock: Lock) {
        if lock.is_empty() {
            self.shared.locks.borrow_mut().remove(&lock.name);
            return;
        }
        for letter in lock.letters.iter_mut().filter(|l| l.next_ms != SENT) {
            letter.next_ms = SENT;
            let start = Start::Letter(lock.name.clone(), letter.clone());
            self.starts.borrow_mut().push(start);
        }
        let name = lock.name.clone();
        self.shared.locks.borrow_mut().insert(name, lock);
    }

    /// Changes a lock, if there still is one of this name.
    fn change_lock(&self, name: &str, change: impl FnOnce(&mut Lock)) {
        let lock = self.shared.locks.borrow_mut().remove(name);
        if let Some(mut lock) = lock {
            change(&mut lock);
            self.keep_lock(lock);
        }
    }

    /// Frees what tasks hold that have let go, where somebody waits for it. In production the lock looks from
    /// time to time; here it sees everything.
    pub(super) fn look_at_locks(&self) {
        let gone: Vec<(String, Asker)> = {
            let locks = self.shared.locks.borrow();
            let awaited = locks.values().filter(|lock| !lock.queue.is_empty());
            let holders = awaited.flat_map(|lock| lock.holders.iter().map(|h| (&lock.name, h)));
            let gone = holders.filter(|(_, holder)| self.is_gone(holder));
            gone.map(|(name, holder)| (name.clone(), holder.clone()))
                .collect()
        };
        let now_ms = self.clock.now_ms();
        for (name, asker) in gone {
            self.change_lock(&name, |lock| {
                lock.gone(&asker, now_ms);
            });
        }
    }

    fn is_gone(&self, asker: &Asker) -> bool {
        let task = TaskId::parse(&asker.task_id).and_then(|id| self.task(id));
        task.is_none_or(|task| has_let_go(&Summary::of(&task), asker.generation))
    }

    /// Whom a task waits for that waits for this letter. `None`: for nobody, it has the lock.
    pub(super) fn holders_before(&self, letter: &str) -> Option<Vec<TaskId>> {
        let locks = self.shared.locks.borrow();
        let waits = |lock: &&Lock| lock.queue.iter().any(|a| lock_signal(&a.mark) == letter);
        let lock = locks.values().find(waits)?;
        let holders = lock.holders.iter();
        Some(holders.filter_map(|h| TaskId::parse(&h.task_id)).collect())
    }
}

/// Takes a letter to the task that holds the lock now.
pub(super) async fn bring(world: Rc<World>, name: String, letter: Letter) {
    world.clock.sleep(OBJECT_WAY_MS).await;
    let asker = &letter.to;
    let signal = Signal {
        name: lock_signal(&asker.mark),
        id: format!("{name}:{}:{}", asker.mark, letter.n),
        outcome: Outcome::Value("null".to_owned()),
        generation: Some(asker.generation),
        known: None,
    };
    let reply = match TaskId::parse(&asker.task_id) {
        Some(id) => world.tell(id, Event::Signal(Box::new(signal))),
        None => Reply::NotFound,
    };
    let now_ms = world.clock.now_ms();
    world.change_lock(&name, |lock| match reply {
        Reply::Signalled { .. } => lock.heard(letter.n),
        _ => {
            lock.gone(&letter.to, now_ms);
        }
    });
}

impl Bench {
    /// What is there under a key of the key-value store.
    pub fn kv(&self, namespace: &str, key: &str) -> Option<KvEntry> {
        let keys = self.world.shared.keys.borrow();
        let stored = keys.get(&(namespace.to_owned(), key.to_owned()))?;
        stored.live(self.now_ms()).cloned()
    }

    /// Calls the object of a key, as a flow would that no task of the bench runs.
    pub fn kv_call(&mut self, call: &KvCall) -> KvReply {
        self.world.kv(call)
    }

    /// Ids of the tasks that hold a lock, and of those that wait for it, in order.
    pub fn lock_of(&self, name: &str) -> (Vec<String>, Vec<String>) {
        let locks = self.world.shared.locks.borrow();
        let id = |asker: &Asker| asker.task_id.clone();
        locks.get(name).map_or_else(Default::default, |lock| {
            let holders = lock.holders.iter().map(id).collect();
            (holders, lock.queue.iter().map(id).collect())
        })
    }
}

impl Bench {
    /// Puts a value under a key.
    pub(super) fn put_kv(&self, namespace: &str, key: &str, value: serde_json::Value) {
        let call = KvCall {
            namespace: namespace.to_owned(),
            key: key.to_owned(),
            op: kv::KvOp::Set {
                value,
                kind: kv::KvType::Json,
                ttl_ms: None,
                when: kv::KvWhen::Always,
            },
            mark: self.world.token().as_str().to_owned(),
        };
        self.world.kv(&call);
    }

    /// What stands under a key.
    pub(super) fn get_kv(&self, namespace: &str, key: &str) -> Option<serde_json::Value> {
        let call = KvCall {
            namespace: namespace.to_owned(),
            key: key.to_owned(),
            op: kv::KvOp::Get,
            mark: String::new(),
        };
        match self.world.kv(&call) {
            KvReply::Found(entry) => entry.map(|entry| entry.value),
            KvReply::Set { .. } | KvReply::Refused(_) | KvReply::Deleted(_) => None,
        }
    }

    /// All keys with their values.
    pub(super) fn all_kv(&self) -> Vec<(String, String, serde_json::Value)> {
        let names: Vec<(String, String)> =
            self.world.shared.keys.borrow().keys().cloned().collect();
        let value = |(space, key): (String, String)| {
            let value = self.get_kv(&space, &key)?;
            Some((space, key, value))
        };
        names.into_iter().filter_map(value).collect()
    }
}
