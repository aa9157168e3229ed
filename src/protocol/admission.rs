//! What a delivery meets.

use super::event::{Begin, Effect, Moment, Reply, Transition};
use super::lease;
use super::schedule;
use super::summary::Standing;
use super::task::{Outbox, SCHEMA, State, Task, Version};

pub(super) fn begin(task: Option<Task>, begin: Begin, moment: &Moment) -> Transition {
    match task {
        None => accept(None, begin, moment),
        Some(task) if task.key != begin.key => Transition::unchanged(Reply::KeyCollision),
        Some(task) => {
            let forgotten = matches!(task.state, State::Forgotten);
            let expired = task.is_expired(moment.ms) && !is_same_delivery(&task, &begin);
            if forgotten || expired {
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
    let mut task = Task {
        schema: SCHEMA,
        key: begin.key,
        function: begin.function,
        policy: begin.policy,
        fingerprint: begin.fingerprint,
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
        outbox: Outbox::default(),
        // The old alarm may be used up by the run that places the tombstone: it is set anew.
        armed_ms: None,
        seen_ms: moment.ms,
        duplicates: 0,
    };
    let claimed = lease::grant(&mut task, &begin.op, 0, moment);
    let mut effects = Vec::new();
    if old.is_some() {
        effects.push(Effect::DropPayload);
    }
    effects.push(Effect::PutInput(begin.input));
    Transition::put(task, effects, Reply::Claimed(Box::new(claimed)))
}

fn duplicate(task: Task, begin: &Begin, moment: &Moment) -> Transition {
    if let Some(claimed) = lease::same_claim(&task, &begin.op, moment) {
        return Transition::unchanged(Reply::Claimed(Box::new(claimed)));
    }
    // A fingerprint that one side does not have is not compared: the configuration changed since.
    if let (Some(kept), Some(sent)) = (&task.fingerprint, &begin.fingerprint)
        && kept != sent
    {
        return Transition::unchanged(Reply::KeyReused);
    }
    match task.state {
        State::Running | State::Suspended(_) => {
            // A delivery is as good as the alarm: whatever is due goes on.
            let mut task = task;
            let mut effects = Vec::new();
            if !schedule::advance(&mut task, moment, &mut effects) {
                return Transition::unchanged(Reply::Stands(Standing::of(&task)));
            }
            let failed = matches!(task.state, State::Failed { resumable: true });
            if failed && !is_same_delivery(&task, begin) {
                return revive(task, begin, effects, moment);
            }
            let reply = Reply::Stands(Standing::of(&task));
            Transition::put(task, effects, reply)
        }
        State::Failed { resumable: true } if !is_same_delivery(&task, begin) => {
            revive(task, begin, vec![Effect::Flush], moment)
        }
        State::Succeeded | State::Failed { .. } | State::Forgotten => {
            Transition::unchanged(Reply::Stands(Standing::of(&task)))
        }
    }
}

/// A new delivery of a failed task: it goes on from its last checkpoint, with fresh attempts. D1 is
/// told, for its row says when the task may be cleaned away. `effects` has a flush in it.
fn revive(mut task: Task, begin: &Begin, effects: Vec<Effect>, moment: &Moment) -> Transition {
    task.revivals += 1;
    task.attempts = 0;
    task.finished_ms = None;
    task.expires_ms = None;
    task.begin_op = Some(begin.op.clone());
    let claimed = lease::grant(&mut task, &begin.op, 0, moment);
    task.owe(moment.ms);
    // The alarm at the end of the lease guards the flush.
    task.outbox.next_ms = moment.ms + task.policy.lease_ms;
    Transition::put(task, effects, Reply::Claimed(Box::new(claimed)))
}
