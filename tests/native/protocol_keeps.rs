//! What is kept of a task for later deliveries, and what its key means after that.

use crate::protocol_fixture::{
    Object, T0, answer, begin, claimed, done, is_unchanged, policy, retryable, succeeded, terminal,
    token,
};
use onceward::protocol::{
    Begin, Effect, Event, Next, NotUndone, Reply, Retry, State, Verdict, Version, next_due_ms,
};
use onceward::types::{AfterExpiry, Failure, Keeps, Policy};

const HOUR: u64 = 3_600_000;

fn deliver(object: &mut Object, ms: u64, op: &str, policy: &Policy) -> Reply {
    let begin = Begin {
        policy: policy.clone(),
        ..begin(op)
    };
    object.at(ms, Event::Begin(Box::new(begin))).reply
}

/// A task under this policy that has ended so.
fn ended(policy: &Policy, verdict: Verdict) -> Object {
    let mut object = Object::default();
    deliver(&mut object, T0, "op-1", policy);
    let proof = {
        let lease = object.task().lease.clone().expect("a lease");
        onceward::protocol::Proof {
            fence: lease.fence,
            token: lease.token,
        }
    };
    object.finish(T0 + 100, "op-finish", &proof, verdict);
    object.flushed(T0 + 200);
    object
}

fn keeping(keeps: Keeps) -> Policy {
    Policy { keeps, ..policy() }
}

fn failed(status: u16) -> Verdict {
    Verdict::Failed(Failure::terminal("no", "no").with_answer(answer(status)))
}

/// Input and journal can go before the answer does.
#[test]
fn payload_is_dropped_early_and_the_answer_stays() {
    let policy = Policy {
        retention_payload_ms: Some(HOUR),
        ..policy()
    };
    let mut object = ended(&policy, succeeded());
    let end = object.task().finished_ms.expect("over");
    assert_eq!(next_due_ms(object.task()), end + HOUR);
    assert!(object.alarm.is_some_and(|at| at <= end + HOUR));
    object.at(end + HOUR - 1, Event::AlarmFired);
    assert!(!object.task().stripped);
    let out = object.at(end + HOUR, Event::AlarmFired);
    assert!(object.task().stripped && out.effects.contains(&Effect::Strip));
    assert!(object.journal().is_empty() && object.input().is_empty());
    // The alarm is that of the end of retention now, and duplicates are answered as before.
    assert_eq!(object.alarm, object.task().expires_ms);
    let reply = deliver(&mut object, end + HOUR + 1, "op-2", &policy);
    let Reply::Stands(standing) = reply else {
        panic!("{reply:?}")
    };
    assert!(standing.answer.is_some() && standing.summary.stripped);
    // What it did is no longer known: it is not said to be undone.
    assert!(matches!(
        object.undo(end + HOUR + 2, "u").reply,
        Reply::Ended(_)
    ));
    assert!(object.task().undone.is_none());
}

#[test]
fn what_may_still_go_on_keeps_its_payload() {
    let policy = Policy {
        retention_payload_ms: Some(1),
        max_attempts: 1,
        ..policy()
    };
    let mut object = ended(&policy, retryable());
    assert_eq!(object.task().state, State::Failed { resumable: true });
    let end = object.task().finished_ms.expect("over");
    object.at(end + HOUR, Event::AlarmFired);
    assert!(!object.task().stripped);
}

#[test]
fn a_failed_task_without_payload_takes_another_input() {
    let policy = Policy {
        retention_payload_ms: Some(HOUR),
        ..policy()
    };
    let mut object = ended(&policy, terminal());
    let end = object.task().finished_ms.expect("over");
    object.at(end + HOUR, Event::AlarmFired);
    let retry = |op: &str, input: Option<&[u8]>| Retry {
        op: op.into(),
        input: input.map(<[u8]>::to_vec),
        ..Retry::default()
    };
    let refused = object.retry(end + HOUR + 1, retry("a", None));
    assert!(
        matches!(refused.reply, Reply::Ended(_)),
        "{:?}",
        refused.reply
    );
    let taken = object.retry(end + HOUR + 2, retry("b", Some(b"2")));
    assert!(
        matches!(taken.reply, Reply::Planned(_)),
        "{:?}",
        taken.reply
    );
    assert!(!object.task().stripped);
    assert_eq!(object.input(), b"2");
}

#[test]
fn what_is_not_kept_frees_the_key() {
    let bare = || Verdict::Failed(Failure::terminal("no", "no"));
    // Nobody knows whether it was done: it must not be done once more by itself.
    let unsure = || {
        let failure = Failure::terminal("no", "no").with_unknown_effect();
        Verdict::Failed(failure.with_answer(answer(504)))
    };
    for (keeps, verdict, kept) in [
        (Keeps::All, failed(503), true),
        (Keeps::All, bare(), true),
        (Keeps::Below500, unsure(), true),
        (Keeps::Success, unsure(), true),
        (Keeps::Below500, succeeded(), true),
        (Keeps::Below500, Verdict::Succeeded(answer(500)), false),
        (Keeps::Below500, failed(499), true),
        (Keeps::Below500, failed(500), false),
        (Keeps::Below500, bare(), false),
        (Keeps::Success, Verdict::Succeeded(answer(299)), true),
        (Keeps::Success, Verdict::Succeeded(answer(404)), false),
        (Keeps::Success, failed(402), false),
    ] {
        let policy = keeping(keeps);
        let mut object = ended(&policy, verdict.clone());
        let first = object.task().clone();
        // Whoever sends the very same message once more is told how it ended.
        let again = deliver(&mut object, T0 + 300, "op-1", &policy);
        assert!(matches!(again, Reply::Stands(_)), "{keeps:?} {verdict:?}");
        let reply = deliver(&mut object, T0 + 400, "op-2", &policy);
        match reply {
            Reply::Claimed(next) => {
                assert!(!kept, "{keeps:?} {verdict:?}");
                assert_eq!(next.generation, first.generation.max(T0 + 400));
                assert!(next.generation > first.generation && !next.resumed);
                assert_ne!(next.key_generation, first.key_generation);
                assert!(object.effects.contains(&Effect::DropPayload));
                assert_eq!(object.task().answer, None);
            }
            Reply::Stands(_) => assert!(kept, "{keeps:?} {verdict:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_free_key_is_free_for_any_request() {
    let policy = keeping(Keeps::Below500);
    let mut object = ended(&policy, failed(500));
    let other = Begin {
        policy: policy.clone(),
        fingerprint: Some("print-2".to_owned()),
        ..begin("op-2")
    };
    let out = object.at(T0 + 400, Event::Begin(Box::new(other)));
    claimed(&out);
    assert_eq!(object.task().fingerprint.as_deref(), Some("print-2"));
}

#[test]
fn what_is_not_undone_or_was_cancelled_is_kept() {
    let policy = keeping(Keeps::Success);
    let mut object = Object::default();
    deliver(&mut object, T0, "op-1", &policy);
    object.cancel(T0 + 100, "op-cancel");
    object.alarm(T0 + HOUR);
    let at = object.task().updated_ms;
    assert_eq!(object.task().state, State::Cancelled);
    let reply = deliver(&mut object, at + 1, "op-2", &policy);
    assert!(matches!(reply, Reply::Stands(_)), "cancelled is cancelled");

    for left in [false, true] {
        let mut object = Object::default();
        deliver(&mut object, T0, "op-1", &policy);
        let lease = object.task().lease.clone().expect("a lease");
        let proof = onceward::protocol::Proof {
            fence: lease.fence,
            token: lease.token,
        };
        object.record(T0 + 50, &proof, vec![done("charge")]);
        object.finish(T0 + 100, "op-finish", &proof, terminal());
        let undoer = object.claimed(T0 + 200, "op-claim");
        let rest = NotUndone {
            step: None,
            code: "refused".to_owned(),
            message: "no".to_owned(),
        };
        let verdict = Verdict::Undone(Vec::from_iter(left.then_some(rest)));
        object.finish(T0 + 300, "op-undone", &undoer.proof, verdict);
        let reply = deliver(&mut object, T0 + 400, "op-2", &policy);
        let anew = matches!(reply, Reply::Claimed(_));
        assert_eq!(anew, !left, "what is left must not be done once more");
    }
}

/// Parts of both deliveries are compared by name.
#[test]
fn a_refusal_names_what_differs() {
    let part = |name: &str, hash: &str| (name.to_owned(), hash.to_owned());
    let kept = vec![
        part("method", "1"),
        part("target", "2"),
        part("/a", "3"),
        part("/b", "4"),
    ];
    for (parts, want) in [
        (kept.clone(), &["bytes"][..]),
        (Vec::new(), &[]),
        (
            vec![
                part("method", "1"),
                part("target", "2"),
                part("/a", "0"),
                part("/b", "4"),
            ],
            &["/a"],
        ),
        (
            vec![part("method", "0"), part("target", "2"), part("/a", "3")],
            &["method", "/b"],
        ),
        (
            vec![part("method", "1"), part("target", "2"), part("", "9")],
            &["", "/a", "/b"],
        ),
    ] {
        let mut object = Object::default();
        let first = Begin {
            parts: kept.clone(),
            ..begin("op-1")
        };
        object.at(T0, Event::Begin(Box::new(first)));
        let other = Begin {
            fingerprint: Some("print-2".to_owned()),
            parts,
            ..begin("op-2")
        };
        let out = object.at(T0 + 1, Event::Begin(Box::new(other)));
        let Reply::KeyReused { differs } = &out.reply else {
            panic!("{:?}", out.reply);
        };
        assert_eq!(differs, want);
        assert!(is_unchanged(&out));
    }
}

fn tombstone(object: &Object) -> Version {
    let version = object.task().version;
    Version {
        n: version.n + 1,
        ..version
    }
}

#[test]
fn a_used_up_key_is_refused_and_then_new() {
    let policy = Policy {
        after_expiry: AfterExpiry::Gone { tombstone_ms: HOUR },
        ..policy()
    };
    let mut object = ended(&policy, succeeded());
    let expires = object.task().expires_ms.expect("an end");
    let reply = deliver(&mut object, expires - 1, "op-2", &policy);
    assert!(matches!(reply, Reply::Stands(_)));
    // At once, whether or not the alarm has rung; but not to the delivery that began it.
    assert_eq!(
        deliver(&mut object, expires, "op-2", &policy),
        Reply::Expired
    );
    let again = deliver(&mut object, expires, "op-1", &policy);
    assert!(matches!(again, Reply::Stands(_)));

    object.alarm(expires);
    let out = object.at(expires + 10, Event::TombstoneAcked(tombstone(&object)));
    assert!(
        out.effects.contains(&Effect::DropPayload),
        "{:?}",
        out.effects
    );
    let task = object.task();
    assert_eq!(task.state, State::Forgotten);
    assert!(task.answer.is_none() && task.fingerprint.is_none());
    assert_eq!(next_due_ms(task), expires + HOUR);
    assert_eq!(object.alarm, Some(expires + HOUR));
    for op in ["op-1", "op-2"] {
        let reply = deliver(&mut object, expires + HOUR - 1, op, &policy);
        assert_eq!(reply, Reply::Expired);
    }
    let mut new = object.clone();
    let reply = deliver(&mut new, expires + HOUR, "op-3", &policy);
    assert!(matches!(reply, Reply::Claimed(_)), "new at the very moment");

    let out = object.alarm(expires + HOUR);
    let placed = tombstone(&object);
    assert!(out.effects.contains(&Effect::Forget { version: placed }));
    let out = object.at(expires + HOUR, Event::TombstoneAcked(placed));
    assert_eq!(out.next, Next::Gone);
}

/// D1 can't be reached for longer than the key is refused: then it is new, and forgotten when D1 is back.
#[test]
fn a_used_up_key_outlives_no_outage() {
    let policy = Policy {
        after_expiry: AfterExpiry::Gone { tombstone_ms: HOUR },
        ..policy()
    };
    let mut object = ended(&policy, succeeded());
    let expires = object.task().expires_ms.expect("an end");
    object.alarm(expires);
    let sent = tombstone(&object);
    let failed = Event::TombstoneFailed { sent, holds: None };
    let out = object.at(expires + 10, failed);
    assert!(out.effects.contains(&Effect::DropPayload));
    assert_eq!(
        deliver(&mut object, expires + 20, "op-2", &policy),
        Reply::Expired
    );
    // It is tried again; once it is there, only the key is left to be kept.
    let due = next_due_ms(object.task());
    assert!(due < expires + HOUR);
    object.alarm(due);
    object.at(due + 1, Event::TombstoneAcked(sent));
    assert_eq!(next_due_ms(object.task()), expires + HOUR);
    assert_eq!(
        deliver(&mut object, due + 2, "op-2", &policy),
        Reply::Expired
    );
}

#[test]
fn an_operator_makes_a_used_up_key_new() {
    let policy = Policy {
        after_expiry: AfterExpiry::Gone { tombstone_ms: HOUR },
        ..policy()
    };
    for stripped in [false, true] {
        let mut object = ended(&policy, succeeded());
        let expires = object.task().expires_ms.expect("an end");
        if stripped {
            object.alarm(expires);
            object.at(expires + 10, Event::TombstoneAcked(tombstone(&object)));
        }
        let out = object.at(expires + 20, Event::Delete);
        assert_eq!(out.reply, Reply::Done, "stripped: {stripped}");
        let again = object.at(expires + 30, Event::Delete);
        assert_eq!(again.reply, Reply::NotFound);
        let reply = deliver(&mut object, expires + 40, "op-2", &policy);
        assert!(matches!(reply, Reply::Claimed(_)), "stripped: {stripped}");
    }
}

/// The hash stays a text of its own, which an object of before compares as ever.
#[test]
fn messages_are_read_by_objects_of_before() {
    let sent = Begin {
        parts: vec![("/a".to_owned(), "0a1b2c3d".to_owned())],
        ..begin("op-1")
    };
    let mut message = serde_json::to_value(&sent).expect("JSON");
    assert_eq!(message["fingerprint"], "print-1");
    assert_eq!(message["parts"][0][0], "/a");
    let members = message.as_object_mut().expect("an object");
    members.remove("parts");
    let old: Begin = serde_json::from_value(message).expect("a message of before");
    assert!(old.parts.is_empty());
    let mut object = Object::default();
    object.at(T0, Event::Begin(Box::new(old)));
    let other = Begin {
        fingerprint: Some("print-2".to_owned()),
        op: token("op-2"),
        ..sent
    };
    let out = object.at(T0 + 1, Event::Begin(Box::new(other)));
    let unknown = Reply::KeyReused {
        differs: Vec::new(),
    };
    assert_eq!(
        out.reply, unknown,
        "what a task of before was made of is not known"
    );
}

/// A row of before says nothing of all this, and means what it meant.
#[test]
fn rows_without_these_fields_are_as_before() {
    let text = serde_json::to_string(&policy()).expect("JSON");
    assert!(
        !text.contains("keeps") && !text.contains("after_expiry"),
        "{text}"
    );
    let read: Policy = serde_json::from_str(&text).expect("a policy");
    assert_eq!(
        (read.keeps, read.after_expiry),
        (Keeps::All, AfterExpiry::New)
    );
    let strict = crate::protocol_world::strict();
    let text = serde_json::to_string(&strict).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Policy>(&text).expect("a policy"),
        strict
    );
}
