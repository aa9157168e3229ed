//! Faults that the machine must bear, one story each: crashes, lost and doubled messages, late
//! holders, clocks, failures.

use crate::protocol_fixture::{
    LEASE, Object, T0, alarms, answer, begin, claimed, failing, is_unchanged, policy, retryable,
    step, succeeded, terminal, token, value,
};
use onceward::limits;
use onceward::protocol::{Effect, Event, Outcome, Reply, State, Verdict, Waiting, next_due_ms};
use onceward::types::Failure;

fn state(object: &Object) -> &State {
    &object.task().state
}

#[test]
fn a_lost_reply_never_costs_a_lease() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let out = object.begin(T0 + 5_000, "a");
    assert!(is_unchanged(&out) && out.effects.is_empty());
    assert_eq!(claimed(&out), first);
    assert!(!first.resumed);

    object.suspend(T0 + 10_000, "s", &first, true);
    let ticket = object.task().ticket.clone().expect("a ticket").token;
    let second = claimed(&object.claim(T0 + 10_001, "b", &ticket));
    let out = object.claim(T0 + 10_002, "b", &ticket);
    assert_eq!(claimed(&out), second, "fence, hop and `resumed` are kept");
    assert_eq!((second.hop, second.resumed), (1, true));
    let out = object.claim(T0 + 10_003, "c", &ticket);
    assert_eq!(out.reply, Reply::Refused, "a ticket is claimed once");
}

#[test]
fn a_suspension_sent_again_gives_the_same_ticket_until_it_is_claimed() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let once = object.suspend(T0 + 1, "s", &first, true);
    let again = object.suspend(T0 + 2, "s", &first, true);
    assert_eq!(once.reply, again.reply);
    assert!(is_unchanged(&again) && again.effects.is_empty());
    object.claimed(T0 + 3, "b");
    let late = object.suspend(T0 + 4, "s", &first, true);
    let stop = Reply::Suspended {
        ticket: None,
        hop: 0,
    };
    assert_eq!(late.reply, stop);
}

#[test]
fn a_finish_sent_again_changes_nothing() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let once = object.finish(T0 + 1, "f", &first.proof, succeeded());
    let again = object.finish(T0 + 2, "f", &first.proof, succeeded());
    assert_eq!(once.reply, again.reply);
    assert!(is_unchanged(&again) && again.effects.is_empty());
}

#[test]
fn a_late_holder_is_heard_until_the_next_claim() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.alarm(T0 + LEASE);
    assert_eq!(state(&object), &State::Suspended(Waiting::Ready));
    let ticket = object.task().ticket.clone().expect("a ticket").token;

    let mut unclaimed = object.clone();
    let out = unclaimed.finish(T0 + LEASE + 1, "f", &first.proof, succeeded());
    assert!(matches!(out.reply, Reply::Stands(_)));
    assert_eq!(state(&unclaimed), &State::Succeeded);
    let out = unclaimed.claim(T0 + LEASE + 2, "b", &ticket);
    assert_eq!(out.reply, Reply::Refused, "a finish voids the ticket");

    object.claimed(T0 + LEASE + 1, "b");
    let out = object.finish(T0 + LEASE + 2, "f", &first.proof, succeeded());
    assert!(matches!(out.reply, Reply::Stale(_)) && is_unchanged(&out));
    let out = object.record(T0 + LEASE + 2, &first.proof, vec![value("x")]);
    assert!(matches!(out.reply, Reply::Stale(_)) && out.effects.is_empty());
}

#[test]
fn a_late_finish_of_a_task_failed_by_lost_leases_brings_it_back() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let (ms, proof) = object.lose_all(T0, &first);
    assert_eq!(state(&object), &State::Failed { resumable: true });
    object.flushed(ms);

    let mut failing = object.clone();
    failing.finish_with(ms + 1, "f", &proof, vec![value("x")], retryable());
    let task = failing.task();
    assert!(matches!(
        task.state,
        State::Suspended(Waiting::BackingOff { .. })
    ));
    assert_eq!((task.finished_ms, task.expires_ms), (None, None));
    assert!(
        task.outbox.next_ms <= ms + 1 + LEASE,
        "the flush is guarded"
    );

    let out = object.finish(ms + 1, "f", &proof, succeeded());
    assert!(matches!(out.reply, Reply::Stands(_)));
    assert_eq!(state(&object), &State::Succeeded);
    // The alarm was at retention end, a month away: no guard for a flush.
    assert!(object.task().outbox.next_ms <= ms + 1 + LEASE);
}

#[test]
fn what_is_final_stays_even_if_its_last_holder_comes_back() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.task.as_mut().expect("a task").revivals = limits::MAX_REVIVALS;
    let (ms, proof) = object.lose_all(T0, &first);
    assert_eq!(state(&object), &State::Failed { resumable: false });
    let out = object.finish(ms + 1, "f", &proof, succeeded());
    assert!(matches!(out.reply, Reply::Stale(_)) && is_unchanged(&out));
    let out = object.record(ms + 1, &proof, vec![value("x")]);
    assert!(matches!(out.reply, Reply::Stale(_)) && out.effects.is_empty());
}

#[test]
fn an_expired_task_takes_nothing_and_its_key_is_new() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let (_, proof) = object.lose_all(T0, &first);
    let expires = object.task().expires_ms.expect("an expiry");
    let fence = object.task().fence;
    let epoch = object.task().version.epoch;

    let mut before = object.clone();
    let revived = before.begun(expires - 1, "b");
    assert!(
        revived.resumed,
        "one millisecond earlier it is the same task"
    );

    let out = object.finish(expires, "f", &proof, succeeded());
    assert!(matches!(out.reply, Reply::Stale(_)) && is_unchanged(&out));
    let out = object.begin(expires, "b");
    let new = claimed(&out);
    assert!(!new.resumed && new.attempt == 1);
    assert_eq!(new.proof.fence, fence + 1, "fences go on");
    assert_eq!(new.generation, expires);
    assert!(object.task().version.epoch > epoch);
    let drop = out.effects.iter().position(|e| *e == Effect::DropPayload);
    let input = out
        .effects
        .iter()
        .position(|e| matches!(e, Effect::PutInput(_)));
    assert!(drop.expect("dropped") < input.expect("put"));
}

#[test]
fn a_suspension_after_the_end_of_the_lease_is_worth_nothing() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let mut early = object.clone();
    let out = early.suspend(T0 + LEASE - 1, "s", &first, true);
    assert!(matches!(out.reply, Reply::Suspended { .. }));
    let out = object.suspend(T0 + LEASE, "s", &first, true);
    assert!(matches!(out.reply, Reply::Stale(_)) && is_unchanged(&out));
}

#[test]
fn a_clock_that_steps_back_revives_no_lease() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.alarm(T0 + LEASE);
    let out = object.suspend(T0 + 1, "s", &first, true);
    assert!(matches!(out.reply, Reply::Stale(_)));
    let second = object.claimed(T0 + 2, "b");
    assert_eq!(second.proof.fence, 2);
    let lease = object.task().lease.as_ref().expect("a lease");
    assert_eq!(lease.ends_ms, T0 + LEASE + LEASE);
}

#[test]
fn a_doubled_begin_revives_nothing() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.task.as_mut().expect("a task").attempts = policy().max_attempts;
    object.finish(T0 + 1, "f", &first.proof, retryable());
    assert_eq!(state(&object), &State::Failed { resumable: true });
    let out = object.begin(T0 + 2, "a");
    assert!(is_unchanged(&out) && matches!(out.reply, Reply::Stands(_)));
    let revived = object.begun(T0 + 3, "b");
    assert_eq!((revived.attempt, object.task().revivals), (1, 1));
    assert!(revived.resumed);
    let out = object.begin(T0 + 4, "b");
    assert_eq!(claimed(&out), revived, "a revival sent again as well");
}

#[test]
fn a_revival_is_told_to_d1_under_the_alarm_that_it_sets_anyway() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.task.as_mut().expect("a task").attempts = policy().max_attempts;
    object.finish(T0 + 1, "f", &first.proof, retryable());
    object.flushed(T0 + 2);
    let out = object.begin(T0 + 3, "b");
    assert!(out.effects.contains(&Effect::Flush));
    assert_eq!(alarms(&out.effects), vec![T0 + 3 + LEASE]);
    assert_eq!(object.task().expires_ms, None);
    assert!(object.task().outbox.is_owing());
}

#[test]
fn a_delivery_that_finds_the_last_attempt_lost_goes_on_itself() {
    let mut object = Object::default();
    object.begun(T0, "a");
    object.task.as_mut().expect("a task").attempts = policy().max_attempts;
    let again = object.clone().begin(T0 + LEASE, "a");
    assert!(
        matches!(again.reply, Reply::Stands(_)),
        "not a new delivery"
    );
    let out = object.begin(T0 + LEASE, "b");
    assert_eq!(claimed(&out).attempt, 1);
    assert_eq!(object.task().revivals, 1);
}

#[test]
fn ten_revivals_then_for_good() {
    let mut object = Object::default();
    let mut ms = T0;
    let mut claims = 0;
    for n in 0..=limits::MAX_REVIVALS {
        let mut holder = object.begun(ms, &format!("begin-{n}"));
        loop {
            claims += 1;
            assert!(claims < 100, "it never ends");
            let op = format!("finish-{claims}");
            let failed = Failure::retryable("busy", "no").with_answer(answer(503));
            let verdict = Verdict::Failed(failed);
            object.finish(ms + 1, &op, &holder.proof, verdict);
            object.flushed(ms + 1);
            if matches!(state(&object), State::Failed { .. }) {
                break;
            }
            ms = next_due_ms(object.task());
            object.alarm(ms);
            holder = object.claimed(ms, &format!("claim-{claims}"));
        }
        assert_eq!(object.task().revivals, n);
        ms += 10;
    }
    assert_eq!(state(&object), &State::Failed { resumable: false });
    assert_eq!(claims, policy().max_attempts * (limits::MAX_REVIVALS + 1));
    let out = object.begin(ms, "late");
    let Reply::Stands(standing) = out.reply else {
        panic!("wanted the stored answer, got {:?}", out.reply);
    };
    assert_eq!(standing.answer.expect("its own answer").status, 503);
}

#[test]
fn only_the_retryable_failure_that_ended_an_attempt_is_opened_again() {
    let busy = Outcome::Failed(Failure::retryable("busy", "no"));
    let declined = Outcome::Failed(Failure::terminal("declined", "no"));
    let done = Outcome::Value("1".to_owned());
    for (outcome, reopened) in [(busy, true), (declined, false), (done, false)] {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        object.record(T0, &first.proof, vec![step("pay", outcome.clone())]);
        let verdict = Verdict::Failed(failing("pay"));
        let out = object.finish(T0 + 1, "f", &first.proof, verdict);
        assert!(matches!(out.reply, Reply::Stands(_)), "{:?}", out.reply);
        let open = matches!(object.outcome("pay"), Some(Outcome::Open(_)));
        assert_eq!(open, reopened, "{outcome:?}");
    }
}

#[test]
fn the_last_failure_of_a_task_failed_for_good_stays_recorded() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let task = object.task.as_mut().expect("a task");
    task.attempts = task.policy.max_attempts;
    task.revivals = limits::MAX_REVIVALS;
    let steps = vec![step("pay", Outcome::Failed(failing("pay")))];
    let verdict = Verdict::Failed(failing("pay"));
    object.finish_with(T0 + 1, "f", &first.proof, steps, verdict);
    assert_eq!(state(&object), &State::Failed { resumable: false });
    assert_eq!(object.journal().len(), 1);
}

#[test]
fn another_fingerprint_never_gets_the_answer() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0 + 1, "f", &first.proof, terminal());
    let mut other = begin("b");
    other.fingerprint = Some("print-2".to_owned());
    let out = object.at(T0 + 2, Event::Begin(Box::new(other)));
    assert!(matches!(out.reply, Reply::KeyReused { .. }));
    let mut other = begin("c");
    other.key.key = "k2".to_owned();
    let out = object.at(T0 + 2, Event::Begin(Box::new(other)));
    assert_eq!(out.reply, Reply::KeyCollision);
}

#[test]
fn a_chain_ends_at_its_limit_and_the_alarm_goes_on_at_depth_0() {
    let mut object = Object::default();
    let mut holder = object.begun(T0, "a");
    for hop in 1..=limits::MAX_HOPS {
        let ms = T0 + u64::from(hop);
        object.suspend(ms, &format!("s{hop}"), &holder, true);
        holder = object.claimed(ms, &format!("c{hop}"));
        assert_eq!(holder.hop, hop);
    }
    let out = object.suspend(T0 + 100, "last", &holder, true);
    let alone = Reply::Suspended {
        ticket: None,
        hop: 0,
    };
    assert_eq!(out.reply, alone);
    assert_eq!(alarms(&out.effects), vec![T0 + 101]);
    let out = object.alarm(T0 + 101);
    let Some(Effect::Dispatch { hop: 0, .. }) = out.effects.first() else {
        panic!("wanted a dispatch, got {:?}", out.effects);
    };
}

#[test]
fn hops_without_progress_count_and_unclaimed_tickets_do_not() {
    let mut object = Object::default();
    let mut holder = object.begun(T0, "a");
    let mut ms = T0;
    for n in 1..policy().max_attempts {
        object.suspend(ms + 1, &format!("s{n}"), &holder, false);
        for _ in 0..3 {
            ms = next_due_ms(object.task());
            object.alarm(ms);
        }
        assert_eq!(object.task().attempts, n, "dispatches don't count");
        holder = object.claimed(ms, &format!("c{n}"));
    }
    let out = object.suspend(ms + 1, "last", &holder, false);
    assert!(matches!(out.reply, Reply::Stale(_)));
    assert_eq!(state(&object), &State::Failed { resumable: true });
}

#[test]
fn fence_and_token_must_both_be_right() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let mut other = first.proof.clone();
    other.fence += 1;
    let mut guessed = first.proof.clone();
    guessed.token = token("guessed");
    for proof in [other, guessed] {
        let out = object.record(T0 + 1, &proof, vec![value("x")]);
        assert!(matches!(out.reply, Reply::Stale(_)) && out.effects.is_empty());
        let out = object.finish(T0 + 1, "f", &proof, succeeded());
        assert!(matches!(out.reply, Reply::Stale(_)) && is_unchanged(&out));
    }
}

/// G6: the holder counts from before it asked, the object from when it granted; and whatever the
/// platform leaves of a slice ends a margin before its lease.
#[test]
fn a_lease_outlives_every_slice() {
    let mut object = Object::default();
    let (asked, granted) = (T0, T0 + 400);
    let first = object.begun(granted, "a");
    let lease = object.task().lease.as_ref().expect("a lease");
    assert!(asked + first.lease_ms < lease.ends_ms);
    let again = object.begun(granted + 5_000, "a");
    assert_eq!(
        again.lease_ms, first.lease_ms,
        "counted from the first send"
    );
    let default = onceward::types::Policy::default();
    let shortest = default.respond_within_ms + default.slice_cut_ms + limits::LEASE_MARGIN_MS;
    for (lease_ms, fits) in [(shortest, true), (shortest - 1, false)] {
        let policy = onceward::types::Policy {
            lease_ms,
            ..default.clone()
        };
        assert_eq!(policy.problems().is_empty(), fits);
    }
}
