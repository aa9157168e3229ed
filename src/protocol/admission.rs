//! What a delivery meets.

use super::debts::{Debt, Debts};
use super::effect::{Effect, Reply, Transition};
use super::event::{Begin, Moment};
use super::lease;
use super::schedule;
use super::steer;
use super::summary::Standing;
use super::task::{Outbox, SCHEMA, State, Task, Version};
use crate::types::Cost;

/// Stands for parts that are all alike under fingerprints that are not.
const SAME_PARTS: &str = "bytes";

pub(super) fn begin(task: Option<Task>, begin: Begin, moment: &Moment) -> Transition {
    match task {
        None => accept(None, begin, moment),
        Some(task) if task.key != begin.key => Transition::unchanged(Reply::KeyCollision),
        Some(task) => {
            let forgotten = matches!(task.state, State::Forgotten);
            let repeated = !forgotten && is_same_delivery(&task, &begin);
            if task.is_used_up(moment.ms) && !repeated {
                return Transition::unchanged(Reply::Expired);
            }
            let expired = task.is_expired(moment.ms);
            // A parent that asks once more is told how the child ended, whatever that was.
            let free = begin.parent.is_none() && task.is_free();
            if forgotten || ((expired || free) && !repeated) {
                accept(Some(&task), begin, moment)
            } else {
                duplicate(task, &begin, moment)
            }
        }
    }
}

/// A message of the delivery that began or revived the task, sent or received once more.
fn is_same_delivery(task: &Task, begin: &Begin) -> bool {
    task.begin_op.as_ref() == Some(&begin.op)
}

/// The key is new: a task with an empty journal, claimed at once by the delivery that brought it.
fn accept(old: Option<&Task>, begin: Begin, moment: &Moment) -> Transition {
    let generation = moment.ms.max(old.map_or(0, |t| t.generation + 1));
    let task = Task {
        schema: SCHEMA,
        key: begin.key,
        function: begin.function,
        policy: begin.policy,
        fingerprint: begin.fingerprint,
        parts: begin.parts,
        generation,
        key_generation: generation,
        version: Version {
            epoch: generation.max(old.map_or(0, |t| t.version.epoch + 1)),
            n: 0,
        },
        state: State::Running,
        attempts: 0,
        claims: 0,
        revivals: 0,
        // Fences go on over generations, so that no zombie of an old one can be taken for a holder.
        fence: old.map_or(0, |t| t.fence),
        lease: None,
        ticket: None,
        dispatches: 0,
        begin_op: Some(begin.op.clone()),
        suspend_op: None,
        finish_op: None,
        created_ms: moment.ms,
        updated_ms: moment.ms,
        finished_ms: None,
        expires_ms: None,
        answer: None,
        failure: None,
        ending: None,
        undone: None,
        cancel: None,
        unread: Vec::new(),
        signals: 0,
        children: Vec::new(),
        owner: begin.parent.as_ref().map(|parent| parent.task_id),
        lineage: begin.lineage,
        parents: begin.parent.into_iter().collect(),
        // Children that a task of this key began before may still have to hear of its cancellation.
        debts: old.map_or_else(Debts::default, |t| t.debts.clone()),
        steer_op: None,
        outbox: Outbox::default(),
        // The old alarm may be used up by the run that places the tombstone: it is set anew.
        armed_ms: None,
        seen_ms: moment.ms,
        duplicates: 0,
        retries: 0,
        stripped: false,
        noticed_ms: None,
        about: begin.about,
        // Its row replaces that of the last task of this key.
        database: old.map_or(moment.database, |t| t.database),
        cost: Cost::default(),
    };
    let mut effects = Vec::new();
    if old.is_some() {
        effects.push(Effect::DropPayload);
    }
    effects.push(Effect::PutInput(begin.input));
    let (claims, hop) = (begin.claims, begin.hop);
    let (task, reply) = start(task, &begin.op, claims, hop, &mut effects, moment);
    Transition::put(task, effects, reply)
}

/// Lets the first slice of a delivery run: the sender's own, or one that gets a ticket.
fn start(
    mut task: Task,
    op: &crate::types::Token,
    claims: bool,
    hop: u32,
    effects: &mut Vec<Effect>,
    moment: &Moment,
) -> (Task, Reply) {
    // The sender's own invocation does not live as long as a long step.
    if claims && !task.policy.is_long() {
        let claimed = lease::grant(&mut task, op, 0, moment);
        return (task, Reply::Claimed(Box::new(claimed)));
    }
    if hop < crate::limits::MAX_HOPS && !task.policy.is_long() {
        lease::mint(&mut task, hop, moment, effects);
    } else {
        lease::by_alarm(&mut task, moment);
    }
    task.touch(moment.ms);
    let reply = Reply::Stands(Standing::of(&task));
    (task, reply)
}

fn duplicate(task: Task, begin: &Begin, moment: &Moment) -> Transition {
    if let Some(claimed) = lease::same_claim(&task, &begin.op, moment) {
        return Transition::unchanged(Reply::Claimed(Box::new(claimed)));
    }
    // A fingerprint that one side does not have is not compared: the configuration changed since.
    if let (Some(kept), Some(sent)) = (&task.fingerprint, &begin.fingerprint)
        && kept != sent
    {
        let differs = differences(&task.parts, &begin.parts);
        return Transition::unchanged(Reply::KeyReused { differs });
    }
    let mut task = task;
    let mut effects = Vec::new();
    let joined = join(&mut task, begin);
    match task.state {
        State::Running | State::Suspended(_) => {
            // A delivery is as good as the alarm: whatever is due goes on.
            let moved = schedule::advance(&mut task, moment, &mut effects);
            lease::leave_to_alarm(&mut task, moment, &mut effects);
            let failed = matches!(task.state, State::Failed { resumable: true });
            if failed && !is_same_delivery(&task, begin) {
                return revive(task, begin, effects, moment);
            }
            let reply = Reply::Stands(Standing::of(&task));
            if moved || joined {
                return Transition::put(task, effects, reply);
            }
            Transition::unchanged(reply)
        }
        State::Failed { resumable: true } if !is_same_delivery(&task, begin) => {
            revive(task, begin, vec![Effect::Flush], moment)
        }
        State::Succeeded | State::Failed { .. } | State::Cancelled | State::Forgotten => {
            let reply = Reply::Stands(Standing::of(&task));
            if joined {
                return Transition::put(task, effects, reply);
            }
            Transition::unchanged(reply)
        }
    }
}

/// Names of the parts that differ, those of the new delivery first.
fn differences(kept: &[(String, String)], sent: &[(String, String)]) -> Vec<String> {
    if kept.is_empty() || sent.is_empty() {
        return Vec::new();
    }
    let of_new = sent.iter().filter(|part| !kept.contains(part));
    let of_old = kept
        .iter()
        .filter(|(name, _)| sent.iter().all(|(other, _)| other != name));
    let differs: Vec<String> = of_new.chain(of_old).map(|(name, _)| name.clone()).collect();
    if differs.is_empty() {
        return vec![SAME_PARTS.to_owned()];
    }
    differs
}

/// A parent that waits for a task which is there already: it is owed the end like any other. One that
/// has ended for good says so in its reply, and owes nothing.
fn join(task: &mut Task, begin: &Begin) -> bool {
    let Some(parent) = &begin.parent else {
        return false;
    };
    let owed = Debt::End(parent.clone());
    if task.answers() || task.parents.contains(parent) || task.debts.list.contains(&owed) {
        return false;
    }
    let room = task.parents.len() < crate::limits::MAX_PARENTS;
    if room {
        task.parents.push(parent.clone());
    }
    room
}

/// A new delivery of a failed task: it goes on from its last checkpoint, with fresh attempts; or
/// begins anew, if what it did was undone. D1 is told, for its row says when the task may be cleaned
/// away. `effects` has a flush in it.
fn revive(mut task: Task, begin: &Begin, mut effects: Vec<Effect>, moment: &Moment) -> Transition {
    task.revivals += 1;
    if task.undone.is_some() {
        let drop = Effect::NewJournal {
            generation: task.generation,
            keep_undo: false,
        };
        // Before the flush, which is last.
        effects.insert(0, drop);
        effects.insert(1, Effect::PutInput(begin.input.clone()));
        steer::renew(&mut task, false, moment);
    }
    if let Some(parent) = begin.parent.clone().filter(|p| !task.parents.contains(p)) {
        task.parents.push(parent);
    }
    steer::revived(&mut task);
    task.begin_op = Some(begin.op.clone());
    let (claims, hop) = (begin.claims, begin.hop);
    let (mut task, reply) = start(task, &begin.op, claims, hop, &mut effects, moment);
    // A flush comes last.
    effects.sort_by_key(|e| matches!(e, Effect::Flush));
    task.owe(moment.ms);
    // The alarm at the end of the lease guards the flush.
    task.outbox.next_ms = moment.ms.saturating_add(task.policy.lease_ms);
    Transition::put(task, effects, reply)
}
