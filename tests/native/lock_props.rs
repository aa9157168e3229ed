//! The deciders of keys and locks against models of them.

use onceward::flow::kv::{self, KvCall, KvOp, KvReply, KvType, KvWhen, Stored, check};
use onceward::flow::lock::{Asker, Lock, LockCall, LockOp, LockReply, decide};
use onceward::limits;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, Copy, Debug)]
enum Act {
    /// Of this task, in this generation of it.
    Acquire(u8, u64),
    Release(u8, u64),
    /// The task is found to be over.
    Gone(u8),
    /// The oldest letter was heard.
    Heard,
    /// Holders at once, from now on.
    Limit(u32),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let task = 0..12_u8;
    let act = prop_oneof![
        6 => (task.clone(), prop_oneof![9 => Just(1_u64), 1 => Just(2)]).prop_map(|(t, g)| Act::Acquire(t, g)),
        4 => (task.clone(), prop_oneof![9 => Just(1_u64), 1 => Just(2)]).prop_map(|(t, g)| Act::Release(t, g)),
        1 => task.prop_map(Act::Gone),
        2 => Just(Act::Heard),
        1 => (1..4_u32).prop_map(Act::Limit),
    ];
    prop::collection::vec(act, 1..120)
}

fn call(task: u8, generation: u64, op: LockOp) -> LockCall {
    LockCall {
        name: "one".into(),
        task_id: task.to_string(),
        generation,
        mark: format!("m{task}"),
        op,
    }
}

/// Who holds it and who waits, by a plain list in the order of asking.
#[derive(Default)]
struct Model {
    order: VecDeque<Asker>,
    limit: usize,
    held: BTreeSet<String>,
}

fn name(asker: &Asker) -> String {
    format!("{}@{}", asker.task_id, asker.generation)
}

impl Model {
    fn drop_where(&mut self, who: impl Fn(&Asker) -> bool) {
        let held = &mut self.held;
        self.order.retain(|asker| {
            let goes = who(asker);
            if goes {
                held.remove(&name(asker));
            }
            !goes
        });
    }

    /// Whoever holds it keeps it; what is free goes to those who asked first.
    fn settle(&mut self) {
        for asker in &self.order {
            if self.held.len() < self.limit {
                self.held.insert(name(asker));
            }
        }
    }

    fn waiting(&self) -> Vec<&Asker> {
        let waits = self.order.iter();
        waits.filter(|a| !self.held.contains(&name(a))).collect()
    }
}

const QUEUE: u32 = 6;

proptest! {
    #[test]
    fn a_lock_is_fair_bounded_and_forgets_nobody(acts in acts()) {
        let (mut lock, mut model) = (None::<Lock>, Model { limit: 1, ..Model::default() });
        let mut limit = 1;
        let mut told: BTreeSet<u64> = BTreeSet::new();
        for (at, act) in acts.into_iter().enumerate() {
            // The clock stands still, and steps back now and then.
            let now_ms = 1_000 - u64::from(at % 7 == 0) * 500;
            match act {
                Act::Limit(n) => limit = n,
                Act::Acquire(task, generation) => {
                    let op = LockOp::Acquire { limit, queue: QUEUE };
                    let call = call(task, generation, op);
                    let asker = Asker::of(&call);
                    let before = lock.clone();
                    let decided = decide(lock.take(), &call, now_ms);
                    prop_assert_eq!(decided.changed, before.clone().unwrap_or_default() != decided.lock);
                    let later = model.order.iter().any(|a| a.task_id == asker.task_id && a.generation > generation);
                    if later {
                        prop_assert_eq!(before, Some(decided.lock.clone()));
                    } else {
                        model.limit = limit as usize;
                        model.drop_where(|a| a.task_id == asker.task_id && a.generation < generation);
                        model.settle();
                        let known = model.order.contains(&asker);
                        let full = model.held.len() >= model.limit && model.waiting().len() >= QUEUE as usize;
                        if !known && !full {
                            model.order.push_back(asker.clone());
                            model.settle();
                        }
                        let ahead = model.waiting().iter().position(|a| **a == asker);
                        let wanted = match ahead {
                            Some(ahead) => LockReply::Queued { ahead: u32::try_from(ahead).unwrap() },
                            None if model.held.contains(&name(&asker)) => LockReply::Granted,
                            None => LockReply::Full,
                        };
                        prop_assert_eq!(&decided.reply, &wanted);
                        // Asking again changes nothing.
                        let again = decide(Some(decided.lock.clone()), &call, now_ms + 1);
                        prop_assert_eq!(&again.reply, &wanted);
                        prop_assert!(!again.changed);
                    }
                    lock = Some(decided.lock);
                }
                Act::Release(task, generation) => {
                    let call = call(task, generation, LockOp::Release);
                    let asker = Asker::of(&call);
                    let decided = decide(lock.take(), &call, now_ms);
                    prop_assert_eq!(decided.reply, LockReply::Released);
                    model.drop_where(|a| *a == asker);
                    model.settle();
                    lock = Some(decided.lock);
                }
                Act::Gone(task) => {
                    let asker = Asker::of(&call(task, 1, LockOp::Release));
                    if let Some(lock) = &mut lock {
                        lock.gone(&asker, now_ms);
                        model.drop_where(|a| *a == asker);
                        model.settle();
                    }
                }
                Act::Heard => {
                    if let Some(lock) = &mut lock && let Some(letter) = lock.letters.first() {
                        let n = letter.n;
                        lock.heard(n);
                    }
                }
            }
            let Some(now) = lock.take().filter(|lock| !lock.is_empty()) else {
                prop_assert!(model.order.is_empty());
                continue;
            };
            // Never more than there may be, but for those who came when there might be more.
            let holders: BTreeSet<String> = now.holders.iter().map(name).collect();
            prop_assert_eq!(&holders, &model.held);
            prop_assert_eq!(holders.len(), now.holders.len());
            let waiting: Vec<Asker> = model.waiting().into_iter().cloned().collect();
            prop_assert_eq!(Vec::from(now.queue.clone()), waiting);
            prop_assert!(now.queue.is_empty() || now.holders.len() >= now.limit as usize);
            for letter in &now.letters {
                prop_assert!(now.holders.contains(&letter.to), "only holders are told");
            }
            let fresh: Vec<u64> = now.letters.iter().map(|l| l.n).filter(|n| told.insert(*n)).collect();
            prop_assert!(fresh.is_sorted());
            lock = Some(now);
        }
    }
}

#[derive(Clone, Debug)]
enum Change {
    Get,
    Set(u8, Option<u64>, KvWhen),
    Delete,
    /// The last call once more, as after a crash.
    Again,
    Wait(u64),
    /// The alarm drops what is over.
    Ring,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let when = prop_oneof![
        3 => Just(KvWhen::Always),
        3 => Just(KvWhen::Missing),
        2 => (1..9_u64).prop_map(KvWhen::Version),
    ];
    let ttl = prop_oneof![Just(None), (1..50_u64).prop_map(Some)];
    let change = prop_oneof![
        2 => Just(Change::Get),
        5 => (any::<u8>(), ttl, when).prop_map(|(v, t, w)| Change::Set(v, t, w)),
        2 => Just(Change::Delete),
        3 => Just(Change::Again),
        3 => (0..40_u64).prop_map(Change::Wait),
        2 => Just(Change::Ring),
    ];
    prop::collection::vec(change, 1..80)
}

proptest! {
    #[test]
    fn a_key_does_what_a_plain_map_would(changes in changes()) {
        let mut stored: Option<Stored> = None;
        // Value, end, version.
        let mut model: Option<(u8, Option<u64>, u64)> = None;
        let (mut now_ms, mut version, mut changed_ms) = (1_000_u64, 0_u64, 0_u64);
        let mut last: Option<(KvCall, KvReply)> = None;
        let mut done: BTreeMap<String, KvReply> = BTreeMap::new();
        for (n, change) in changes.into_iter().enumerate() {
            model = model.filter(|(_, end, _)| end.is_none_or(|end| now_ms < end));
            let op = match change {
                Change::Wait(ms) => {
                    now_ms += ms;
                    continue;
                }
                Change::Ring => {
                    stored = stored.clone().and_then(|s| s.expired(now_ms)).or(stored);
                    continue;
                }
                Change::Again => {
                    let Some((call, reply)) = &last else { continue };
                    let (next, again) = kv::decide(stored.as_ref(), call, now_ms);
                    if done.contains_key(&call.mark) {
                        prop_assert!(next.is_none());
                        prop_assert_eq!(&again, reply);
                    }
                    continue;
                }
                Change::Get => KvOp::Get,
                Change::Delete => KvOp::Delete,
                Change::Set(value, ttl_ms, when) => KvOp::Set {
                    value: value.into(), kind: KvType::Number, ttl_ms, when,
                },
            };
            let call = KvCall { namespace: "n".into(), key: "k".into(), op, mark: format!("m{n}") };
            let (next, reply) = kv::decide(stored.as_ref(), &call, now_ms);
            let there = model;
            let wanted = match &call.op {
                KvOp::Get => KvReply::Found(stored.as_ref().and_then(|s| s.live(now_ms)).cloned()),
                KvOp::Delete => {
                    if model.take().is_some() {
                        version += 1;
                        done.insert(call.mark.clone(), reply.clone());
                    }
                    KvReply::Deleted(there.is_some())
                }
                KvOp::Set { value, ttl_ms, when, .. } => {
                    let may = match when {
                        KvWhen::Always => true,
                        KvWhen::Missing => there.is_none(),
                        KvWhen::Version(v) => there.is_some_and(|(_, _, version)| version == *v),
                    };
                    if may {
                        version += 1;
                        let value = u8::try_from(value.as_u64().unwrap()).unwrap();
                        model = Some((value, ttl_ms.map(|ms| now_ms + ms), version));
                        done.insert(call.mark.clone(), reply.clone());
                        KvReply::Set { version }
                    } else {
                        KvReply::Refused(stored.as_ref().and_then(|s| s.live(now_ms)).cloned())
                    }
                }
            };
            prop_assert_eq!(&reply, &wanted);
            let live = |s: &Stored| s.live(now_ms).map(|e| (e.value.as_u64(), e.expires_at_ms, e.version));
            if let Some(next) = next {
                prop_assert_eq!(next.version, version);
                prop_assert!(next.changed_ms > changed_ms, "D1 tells the newer one by it");
                changed_ms = next.changed_ms;
                stored = Some(next);
            }
            let there = stored.as_ref().and_then(live);
            prop_assert_eq!(there, model.map(|(v, end, version)| (Some(u64::from(v)), end, version)));
            last = Some((call, reply));
        }
    }
}

#[test]
fn a_repeat_is_known_over_the_changes_of_others() {
    let set = |mark: &str| KvCall {
        namespace: "n".into(),
        key: "k".into(),
        op: KvOp::Set {
            value: mark.into(),
            kind: KvType::String,
            ttl_ms: None,
            when: KvWhen::Always,
        },
        mark: mark.into(),
    };
    let mut stored = kv::decide(None, &set("first"), 1).0;
    for n in 0..15 {
        stored = kv::decide(stored.as_ref(), &set(&format!("other-{n}")), 2).0;
        assert_eq!(
            kv::decide(stored.as_ref(), &set("first"), 3),
            (None, KvReply::Set { version: 1 })
        );
    }
    // A deletion is no setting, whatever its mark.
    let delete = KvCall {
        op: KvOp::Delete,
        ..set("first")
    };
    let (next, reply) = kv::decide(stored.as_ref(), &delete, 4);
    assert_eq!(reply, KvReply::Deleted(true));
    let next = next.unwrap();
    assert_eq!(
        kv::decide(Some(&next), &delete, 5),
        (None, KvReply::Deleted(true))
    );
    // Its version goes on, as long as there is a trace.
    assert_eq!(next.due_ms(), Some(4 + limits::KV_TRACE_MS));
    let (_, reply) = kv::decide(Some(&next), &set("new"), 6);
    assert_eq!(reply, KvReply::Set { version: 18 });
}

#[test]
fn what_no_object_takes_is_refused_before() {
    let call = |value: serde_json::Value, ttl_ms| KvCall {
        namespace: "shop.orders".into(),
        key: "k".into(),
        op: KvOp::Set {
            value,
            kind: KvType::Json,
            ttl_ms,
            when: KvWhen::Always,
        },
        mark: String::new(),
    };
    let long = "x".repeat(limits::MAX_KV_VALUE_BYTES - 2);
    assert_eq!(check(&call(long.clone().into(), None)), Ok(()));
    let over = check(&call(format!("{long}y").into(), None)).unwrap_err();
    assert!(over.contains("131073"), "{over}");
    assert_eq!(check(&call(1.into(), Some(limits::MAX_KV_TTL_MS))), Ok(()));
    for ttl_ms in [0, limits::MAX_KV_TTL_MS + 1] {
        assert!(check(&call(1.into(), Some(ttl_ms))).is_err());
    }
    for namespace in ["", "a b", "/"] {
        let wrong = KvCall {
            namespace: namespace.into(),
            ..call(1.into(), None)
        };
        assert!(check(&wrong).unwrap_err().contains("namespace"));
    }
}

#[test]
fn messages_of_another_release_are_read() {
    let call: LockCall = serde_json::from_str(
        r#"{"name":"n","task_id":"t","op":{"acquire":{"limit":1,"queue":2,"new":3}},"more":1}"#,
    )
    .unwrap();
    assert_eq!((call.generation, call.mark.as_str()), (0, ""));
    let lock: Lock = serde_json::from_str(r#"{"name":"n","limit":1,"more":true}"#).unwrap();
    assert!(lock.is_empty());
    let call: KvCall =
        serde_json::from_str(r#"{"namespace":"n","key":"k","op":"get","more":1}"#).unwrap();
    assert_eq!(call.op, KvOp::Get);
    let stored: Stored =
        serde_json::from_str(r#"{"namespace":"n","key":"k","version":3,"more":1}"#).unwrap();
    assert!(stored.live(1).is_none());
}
