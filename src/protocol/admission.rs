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
        Some(task) => match &task.state {
            State::Forgotten => accept(Some(&task), begin, moment),
            _ if task.is_expired(moment.ms) => accept(Some(&task), begin, moment),
            _ => duplicate(task, &begin, moment),
        },
    }
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
        suspend_op: None,
        finish_op: None,
        created_ms: moment.ms,
        updated_ms: moment.ms,
        finished_ms: None,
        expires_ms: None,
        answer: None,
        failure: None,
        outbox: Outbox::default(),
        armed_ms: old.and_then(|t| t.armed_ms),
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

fn duplicate(mut task: Task, begin: &Begin, moment: &Moment) -> Transition {
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
            let mut out = schedule::tick(task.clone(), moment);
            if matches!(out.next, super::event::Next::Unchanged) {
                out.effects.clear();
            }
            out.reply = Reply::Stands(Standing::of(match &out.next {
                super::event::Next::Put(next) => next,
                _ => &task,
            }));
            out
        }
        State::Failed { resumable: true } => {
            task.revivals += 1;
            task.attempts = 0;
            task.finished_ms = None;
            task.expires_ms = None;
            let claimed = lease::grant(&mut task, &begin.op, 0, moment);
            Transition::put(task, Vec::new(), Reply::Claimed(Box::new(claimed)))
        }
        State::Succeeded | State::Failed { resumable: false } | State::Forgotten => {
            Transition::unchanged(Reply::Stands(Standing::of(&task)))
        }
    }
}
