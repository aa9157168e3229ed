//! A model of the guarantees, kept apart from the machine: who holds the lease and until when, which
//! ticket is out, what has been recorded. Every transition is held against it.

use crate::protocol_ledger::Ledger;
use crate::protocol_world::{World, policy};
use onceward::limits::{DEFAULT_MAX_ATTEMPTS, FLUSH_TIMEOUT_MS, MAX_ALARM_MS, MAX_REVIVALS};
use onceward::protocol::{
    Begin, Claimed, Debt, Effect, Event, NEVER_MS, Next, Outcome, Proof, Reply, State, Task,
    Transition, Version, Waiting, own_due_ms,
};
use onceward::types::{AfterExpiry, FailureKind, Keeps, Token};

/// How far the proof of a message carries, by the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Right {
    Valid,
    Over,
    None,
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The last one that was granted the task and has not ended its lease; the end of the lease.
    holder: Option<(Proof, u64)>,
    ticket: Option<Token>,
    granted: Vec<(Token, Claimed)>,
    /// Signals, debts, and what is to be undone.
    pub ledger: Ledger,
    /// Fence and count of the last save; fences go on, so that it need not be forgotten.
    cursor: Option<(u64, u64)>,
    /// The latest time that the alarm was set by.
    pub latest: u64,
    /// Claims granted so far.
    pub claims: u32,
}

fn is_over(task: &Task, ms: u64) -> bool {
    matches!(task.state, State::Forgotten) || task.is_expired(ms)
}

impl Model {
    pub fn watch(&mut self, world: &World, event: &Event, out: &Transition, ms: u64) {
        let before = world.task.as_ref();
        self.grants(before, event, out, ms);
        self.writes(before, event, out, ms);
        self.journal(world, event, out, ms);
        deliveries(before, event, out, ms);
        finals(before, event, out, ms);
        forgetting(before, event, out, ms);
        if let Next::Put(task) = &out.next {
            shape(task);
            numbers(before, task, out);
            acknowledged(world, task);
        }
        self.ledger.watch(before, event, out);
        self.learn(before, event, out, ms);
    }

    /// G1: one holder at a time, a ticket once, the same lease for the same operation.
    fn grants(&self, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
        let valid = self.holder.as_ref().filter(|(_, ends)| ms < *ends);
        let Reply::Claimed(claimed) = &out.reply else {
            let last = self.granted.last().map(|(op, _)| op);
            let again = match event {
                Event::Begin(begin) => last == Some(&begin.op),
                Event::Claim(claim) => last == Some(&claim.op),
                _ => false,
            };
            assert!(!again || valid.is_none(), "a lost reply cost a lease");
            return;
        };
        if matches!(out.next, Next::Unchanged) {
            let (holder, _) = valid.expect("a lease given again is valid");
            assert_eq!(*holder, claimed.proof, "the lease of another was given");
            let op = match event {
                Event::Begin(begin) => &begin.op,
                Event::Claim(claim) => &claim.op,
                other => panic!("{other:?} was granted the task"),
            };
            let first = self.granted.iter().rev().find(|(granted, _)| granted == op);
            let (_, first) = first.expect("granted to this operation before");
            let kept = |c: &Claimed| {
                let times = (c.generation, c.now_ms);
                (c.proof.clone(), c.hop, c.resumed, times)
            };
            assert_eq!(kept(first), kept(claimed), "the reply was not rebuilt");
            return;
        }
        assert!(valid.is_none(), "G1: a second holder beside {valid:?}");
        let cancel = before.is_some_and(|t| t.cancel.is_some() && !is_over(t, ms));
        assert!(claimed.undoing || !cancel, "a cancelled task runs on");
        let fence = before.map_or(0, |t| t.fence);
        assert!(claimed.proof.fence > fence, "the fence did not grow");
        let seen = |c: &Claimed| c.proof.token == claimed.proof.token;
        assert!(
            !self.granted.iter().any(|(_, c)| seen(c)),
            "token not fresh"
        );
        if let Event::Claim(claim) = event {
            let ticket = self.ticket.as_ref();
            assert_eq!(ticket, Some(&claim.ticket), "G1: a ticket that is not out");
        }
    }

    fn right(&self, before: Option<&Task>, proof: &Proof, ms: u64) -> Right {
        let closed = before.is_none_or(|t| t.is_final() || is_over(t, ms));
        match &self.holder {
            Some((holder, ends)) if !closed && holder == proof => {
                if ms < *ends {
                    Right::Valid
                } else {
                    Right::Over
                }
            }
            Some(_) | None => Right::None,
        }
    }

    /// G1: what is stale changes nothing; what is late counts until the next claim.
    fn writes(&self, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
        let (proof, is_suspend) = match event {
            Event::Record(record) => (&record.proof, false),
            Event::Finish(finish) => (&finish.proof, false),
            Event::Suspend(suspend) => (&suspend.proof, true),
            Event::Begin(_)
            | Event::Claim(_)
            | Event::AlarmFired
            | Event::Poke
            | Event::Flushed { .. }
            | Event::FlushFailed { .. }
            | Event::TombstoneAcked(_)
            | Event::TombstoneFailed { .. }
            | Event::Signal(_)
            | Event::Cancel { .. }
            | Event::Abandon { .. }
            | Event::Retry(_)
            | Event::Undo { .. }
            | Event::DebtPaid(_)
            | Event::DebtFailed
            | Event::Delete => return,
        };
        let right = self.right(before, proof, ms);
        if right == Right::None || (right == Right::Over && is_suspend) {
            assert!(matches!(out.next, Next::Unchanged), "G1: {event:?} changed");
            assert!(out.effects.is_empty(), "G1: {event:?} had effects");
            assert!(!matches!(out.reply, Reply::Recorded { .. }));
        } else {
            // While it is undone the function is over; what comes late was said before.
            let undoing = before.is_some_and(|t| t.ending.is_some());
            let may = is_suspend || (undoing && right == Right::Over);
            let refused = matches!(out.reply, Reply::NotFound)
                || (matches!(out.reply, Reply::Stale(_)) && !may);
            assert!(!refused, "refused though {right:?}: {event:?}");
        }
        if let Reply::Recorded { stop, .. } = out.reply {
            assert_eq!(stop, right == Right::Over);
        }
    }

    /// G2: the first outcome of a step stays, but for the failure that ended an attempt.
    fn journal(&mut self, world: &World, event: &Event, out: &Transition, ms: u64) {
        let mut journal = world.journal.clone();
        for effect in &out.effects {
            match effect {
                Effect::PutStep(step) => {
                    let cell = step.id.cell();
                    let old = journal.insert(cell.clone(), step.clone());
                    let open = !step.outcome.is_settled();
                    match old.map(|old| old.outcome) {
                        None | Some(Outcome::Open(_)) => {}
                        Some(Outcome::Failed(failure)) if open => {
                            let reopens = match event {
                                Event::Finish(_) => failure.kind == FailureKind::Retryable,
                                Event::Retry(_) => true,
                                _ => false,
                            };
                            assert!(reopens, "G2: {event:?} opened {failure:?}");
                        }
                        Some(old) => panic!("G2: {cell} was {old:?}"),
                    }
                }
                Effect::ReopenStep(id) => {
                    let old = journal.remove(&id.cell()).map(|old| old.outcome);
                    match (event, old) {
                        (Event::Retry(_), _) | (_, Some(Outcome::Open(_))) => {}
                        (_, Some(Outcome::Failed(failure))) => {
                            assert_eq!(failure.kind, FailureKind::Retryable);
                        }
                        (_, old) => panic!("G2: {id} was {old:?} and was opened again"),
                    }
                }
                Effect::Strip => {
                    let before = world.task.as_ref().expect("a task");
                    assert!(before.is_final(), "G7: payload of the living");
                }
                Effect::DropPayload => {
                    let before = world.task.as_ref().expect("a task");
                    let deleted = matches!(event, Event::Delete);
                    let anew = matches!(event, Event::Begin(begin) if frees(before, begin));
                    assert!(deleted || anew || is_over(before, ms), "G7: of the living");
                    journal.clear();
                }
                Effect::NewJournal { generation, .. } => {
                    let before = world.task.as_ref().expect("a task");
                    assert_eq!(*generation, before.generation);
                    journal.clear();
                }
                Effect::PutCursor(cursor) => {
                    let at = (cursor.fence, cursor.n);
                    assert!(self.cursor.is_none_or(|old| old < at), "an older cursor");
                    self.cursor = Some(at);
                }
                Effect::PutInput(_)
                | Effect::ReplaceInput(_)
                | Effect::PutAnswer(_)
                | Effect::RewindCursor { .. }
                | Effect::PutLetter(_)
                | Effect::PayDebts
                | Effect::SetAlarm { .. }
                | Effect::Dispatch { .. }
                | Effect::Flush
                | Effect::Forget { .. }
                | Effect::WakeJoined => {}
            }
        }
    }

    fn learn(&mut self, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
        let Next::Put(task) = &out.next else {
            if matches!(out.next, Next::Gone) {
                (self.holder, self.ticket) = (None, None);
                self.cursor = None;
            }
            return;
        };
        let handed = matches!(event, Event::Finish(_) | Event::Suspend(_));
        let goes_on = matches!(out.reply, Reply::GoOn { .. });
        let anew = before.is_some_and(|t| t.generation != task.generation);
        let undone = before.is_some_and(|t| t.ending.is_some()) && task.ending.is_none();
        if (handed && !goes_on)
            || anew
            || undone
            || task.is_final()
            || matches!(task.state, State::Forgotten)
        {
            self.holder = None;
        }
        if !matches!(task.state, State::Suspended(Waiting::Ready)) {
            self.ticket = None;
        }
        for effect in &out.effects {
            if let Effect::Dispatch { ticket, .. } = effect {
                self.ticket = Some(ticket.clone());
            }
        }
        if let Reply::Suspended { ticket, .. } = &out.reply {
            self.ticket.clone_from(ticket);
        }
        if let Reply::Claimed(claimed) = &out.reply {
            let op = match event {
                Event::Begin(begin) => begin.op.clone(),
                Event::Claim(claim) => claim.op.clone(),
                other => panic!("{other:?} was granted the task"),
            };
            self.holder = Some((claimed.proof.clone(), ms + policy().lease_ms));
            self.granted.push((op, (**claimed).clone()));
            self.claims += 1;
        }
    }

    /// G4: a stored task has an alarm that rings in time.
    pub fn watch_alarm(&mut self, world: &World, ms: u64) {
        // After a crash the object may have lost the latest time; an alarm may stand beyond it.
        let behind = ms < self.latest;
        self.latest = self.latest.max(ms);
        let Some(task) = world.task.as_ref().filter(|_| !behind) else {
            return;
        };
        let placing = |(version, _): &&(Version, bool)| {
            (version.epoch, version.n) == (task.version.epoch, task.version.n + 1)
        };
        let forget = world.forgets.iter().filter(placing).max_by_key(|f| f.1);
        if world.alarm_lost || forget.is_some_and(|(_, repeated)| *repeated) {
            return;
        }
        let soon = ms + 2 * FLUSH_TIMEOUT_MS;
        // A try may be under way without a write; the alarm guards it.
        let guarded = |at_ms: u64| if at_ms <= ms { soon } else { at_ms };
        let owes = !task.debts.list.is_empty();
        let over = is_over(task, ms) || (task.has_ended() && owes);
        let mut due = match (over, owes) {
            (true, true) => soon.max(own_due_ms(task)),
            (true, false) if forget.is_some() => soon,
            _ => own_due_ms(task).max(ms + 1),
        };
        if owes {
            due = due.min(guarded(task.debts.next_ms));
        }
        if task.outbox.is_owing() && !is_over(task, ms) {
            due = due.min(guarded(task.outbox.next_ms));
        }
        if due >= NEVER_MS {
            return;
        }
        let due = due.min(ms + MAX_ALARM_MS);
        let alarm = world.alarm;
        assert!(
            alarm.is_some_and(|at| at <= due),
            "G4: {alarm:?}, due {due}"
        );
    }
}

/// G5: the stored answer is for the same fingerprint only.
fn deliveries(before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let (Event::Begin(begin), Some(task)) = (event, before) else {
        return;
    };
    let same = begin.fingerprint == task.fingerprint;
    let repeated = task.begin_op.as_ref() == Some(&begin.op);
    let forgotten = matches!(task.state, State::Forgotten);
    let over = is_over(task, ms) && (forgotten || !repeated);
    if over && used_up_until(task).is_some_and(|until| ms < until) {
        assert_eq!(out.reply, Reply::Expired);
        assert_eq!(out.next, Next::Unchanged);
        return;
    }
    if over || frees(task, begin) {
        let claimed = matches!(out.reply, Reply::Claimed(_));
        assert_eq!(claimed, begin.claims, "the key is new");
        return;
    }
    assert_eq!(matches!(out.reply, Reply::KeyReused { .. }), !same, "G5");
    if let Next::Put(next) = &out.next {
        let restarts = task.undone.is_some() && !task.is_final();
        assert!(next.generation == task.generation || restarts);
    }
    if let Reply::Stands(standing) = &out.reply {
        assert!(standing.answer.is_none() || task.answers(), "G5: too early");
        assert!(task.answer == standing.answer || !task.answers());
    }
}

/// Until when the key of an expired task is refused.
fn used_up_until(task: &Task) -> Option<u64> {
    match task.policy.after_expiry {
        AfterExpiry::New => None,
        AfterExpiry::Gone { tombstone_ms } => task.expires_ms.map(|at| at + tombstone_ms),
    }
}

/// The answer is not kept, so that this delivery begins anew.
fn frees(task: &Task, begin: &Begin) -> bool {
    let kept = match task.policy.keeps {
        Keeps::All => true,
        Keeps::Below500 => task.answer.as_ref().is_some_and(|a| a.status < 500),
        Keeps::Success => task.answer.as_ref().is_some_and(|a| a.status / 100 == 2),
    };
    let left = task
        .undone
        .as_ref()
        .is_some_and(|u| !u.not_undone.is_empty());
    let owes = task.debts.list.iter().any(|d| matches!(d, Debt::End(_)));
    let repeated = task.begin_op.as_ref() == Some(&begin.op);
    let over = matches!(
        task.state,
        State::Succeeded | State::Failed { resumable: false }
    );
    let failed = matches!(task.state, State::Failed { .. });
    let unsure = failed && task.failure.as_ref().is_some_and(|f| f.unknown);
    over && !kept && !left && !unsure && !owes && !repeated && begin.parent.is_none()
}

/// G2: what is final never changes before it expires.
fn finals(before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let Some(task) = before.filter(|t| t.is_final() && !t.is_expired(ms)) else {
        return;
    };
    let Next::Put(next) = &out.next else { return };
    if matches!(event, Event::Delete) {
        assert_eq!(next.state, State::Forgotten);
        return;
    }
    let steered = match event {
        Event::Begin(begin) if frees(task, begin) => {
            assert!(next.generation > task.generation);
            return;
        }
        Event::Retry(_) => {
            assert_eq!(task.state, State::Failed { resumable: false });
            return;
        }
        Event::Undo { .. } => next.ending.is_some(),
        _ => false,
    };
    assert_eq!(task.answer, next.answer, "G2: a stored answer changed");
    assert_eq!(task.expires_ms, next.expires_ms);
    if steered {
        assert_eq!(task.state, State::Succeeded);
        return;
    }
    assert_eq!(task.state, next.state, "G2: a final state changed");
    let failure = |t: &Task| t.failure.as_ref().map(|f| (f.kind, f.to_string()));
    assert_eq!(failure(task), failure(next));
    let quiet = |e: &Effect| {
        matches!(
            e,
            Effect::SetAlarm { .. } | Effect::Flush | Effect::PayDebts
        )
    };
    assert!(out.effects.iter().all(quiet), "{:?}", out.effects);
}

/// G7: deleted only when its time is up, as the very version that the tombstone stands for.
fn forgetting(before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    if !matches!(out.next, Next::Gone) {
        return;
    }
    let task = before.expect("a task");
    let Event::TombstoneAcked(placed) = event else {
        panic!("G7: deleted by {event:?}");
    };
    assert!(is_over(task, ms), "G7: the living was deleted");
    let used_up = used_up_until(task).is_some_and(|until| ms < until);
    assert!(!used_up, "the key is still to be refused");
    assert_eq!(placed.epoch, task.version.epoch, "G7: another task");
    assert_eq!(placed.n, task.version.n + 1, "G7: it changed meanwhile");
}

fn shape(task: &Task) {
    let ended = task.has_ended();
    let forgotten = matches!(task.state, State::Forgotten);
    let sold = task.answers() && !task.is_final();
    assert!(forgotten || sold || ended == task.expires_ms.is_some());
    assert!(forgotten || sold || ended == task.finished_ms.is_some());
    let ready = matches!(task.state, State::Suspended(Waiting::Ready));
    assert_eq!(ready, task.ticket.is_some());
    assert!(task.lease.is_some() || !matches!(task.state, State::Running));
    let answered = task.answers() || task.ending.is_some();
    assert!(
        task.answer.is_none() || answered,
        "an answer before the end"
    );
    let most = match task.ending {
        Some(_) => task.policy.max_attempts.max(DEFAULT_MAX_ATTEMPTS),
        None => task.policy.max_attempts,
    };
    // What is left of undoing that was given up is shown with the attempts that it took; of a key that is
    // used up nothing is shown.
    let given_up = task.undone.is_some() || forgotten;
    assert!(task.attempts <= most || given_up, "G9: attempts");
    assert!(task.revivals <= MAX_REVIVALS, "G9: revivals");
    assert!(
        task.ending.is_none() || !ended,
        "it has ended and is to end"
    );
    if let State::Suspended(Waiting::For(waits)) = &task.state {
        assert!(!waits.is_empty(), "G4: it waits for nothing");
    }
    let cancelled = matches!(task.state, State::Cancelled);
    let success = matches!(task.state, State::Succeeded);
    assert!(!cancelled || task.cancel.is_some());
    let wanted = task.cancel.is_some() && ended;
    assert!(!wanted || cancelled || success, "a cancelled task ends so");
}

fn numbers(before: Option<&Task>, task: &Task, out: &Transition) {
    let Some(old) = before else { return };
    assert!(task.seen_ms >= old.seen_ms, "time");
    assert!(task.version >= old.version, "version");
    assert!(task.fence >= old.fence, "fences go on");
    assert!(task.fence <= old.fence + 1);
    assert!(task.generation >= old.generation);
    if out.effects.contains(&Effect::DropPayload) && !matches!(task.state, State::Forgotten) {
        assert!(task.generation > old.generation);
        assert!(task.version.epoch > old.version.epoch);
        return;
    }
    assert!(
        task.revivals >= old.revivals,
        "G9: revivals are never reset"
    );
    let claimed = task.fence > old.fence;
    let revived = task.revivals > old.revivals;
    let expected = if revived { 1 } else { old.attempts + 1 };
    assert!(
        !claimed || task.attempts == expected,
        "G9: a claim adds one"
    );
}

/// Nothing counts as told to D1 but what D1 holds, as a living row.
fn acknowledged(world: &World, task: &Task) {
    let owing = world.task.as_ref().is_some_and(|t| t.outbox.is_owing());
    let forgotten = matches!(task.state, State::Forgotten);
    let anew = world
        .task
        .as_ref()
        .is_some_and(|t| t.generation != task.generation);
    if !owing || task.outbox.is_owing() || forgotten || anew {
        return;
    }
    let row = world.d1.expect("a row");
    assert!(!row.is_tombstone, "a tombstone counted as the row");
    assert_eq!(row.version.epoch, task.version.epoch);
    assert!(row.version.n >= task.outbox.owed_n);
}
