//! A second model of what must not be lost or done twice: signals, debts, and steps that can be undone.

use onceward::protocol::{
    Claimed, Debt, Effect, Event, Kind, Next, Outcome, Reply, State, StepRecord, Task, Transition,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Signals that were taken: name and id.
    taken: BTreeSet<(String, String)>,
    /// What they say, for each name, in the order in which they came, until somebody reads it.
    unread: BTreeMap<String, VecDeque<(String, String)>>,
    /// What happened or may have happened and can be undone: generation and identity.
    to_undo: BTreeSet<(u64, String)>,
}

fn text(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Value(text) => Some(text.clone()),
        Outcome::Failed(_) | Outcome::Open(_) => None,
    }
}

impl Ledger {
    pub fn watch(&mut self, before: Option<&Task>, event: &Event, out: &Transition) {
        let next = match &out.next {
            Next::Put(task) => Some(&**task),
            Next::Unchanged => before,
            Next::Gone => None,
        };
        self.arrives(event, out);
        for effect in &out.effects {
            self.effect(before, effect);
        }
        let Some(next) = next else {
            let rest = before.is_none_or(|t| t.debts.list.is_empty());
            assert!(rest, "it was deleted and owed something");
            *self = Self::default();
            return;
        };
        self.mailbox(next);
        self.is_undone(next);
        if let Some(before) = before {
            debts(before, next, event, out);
        }
    }

    fn arrives(&mut self, event: &Event, out: &Transition) {
        let Event::Signal(signal) = event else {
            return;
        };
        let name = signal.name.clone();
        let known = self.taken.contains(&(name.clone(), signal.id.clone()));
        match &out.reply {
            Reply::Signalled { repeated } => assert_eq!(*repeated, known),
            Reply::KeyReused { .. } => assert!(known),
            _ => assert!(
                !known || matches!(out.reply, Reply::NotFound),
                "{:?}",
                out.reply
            ),
        }
        if matches!(out.reply, Reply::Signalled { repeated: false }) {
            self.taken.insert((name.clone(), signal.id.clone()));
            let says = text(&signal.outcome).expect("a value");
            let queue = self.unread.entry(name).or_default();
            queue.push_back((signal.id.clone(), says));
        }
    }

    fn effect(&mut self, before: Option<&Task>, effect: &Effect) {
        match effect {
            Effect::PutStep(step) => {
                if step.kind == Kind::Signal {
                    self.read(step);
                }
                self.may_be_undone(before, step);
            }
            Effect::ReopenStep(id) => {
                let generation = before.map_or(0, |t| t.generation);
                let key = (generation, id.cell());
                let known = before.is_some_and(|t| t.undone.is_some());
                assert!(known || !self.to_undo.contains(&key), "{id} was forgotten");
            }
            Effect::NewJournal { keep_undo, .. } => {
                let undone = before.is_some_and(|t| t.undone.is_some());
                assert!(*keep_undo || undone || self.to_undo.is_empty());
                if !keep_undo {
                    self.to_undo.clear();
                }
            }
            Effect::DropPayload | Effect::Strip => {
                *self = Self::default();
            }
            Effect::PutInput(_)
            | Effect::ReplaceInput(_)
            | Effect::PutAnswer(_)
            | Effect::PutCursor(_)
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

    /// The oldest letter of its name, and each once.
    fn read(&mut self, step: &StepRecord) {
        let Some(says) = text(&step.outcome) else {
            return;
        };
        let mut queues = self.unread.values_mut();
        let queue = queues.find(|queue| queue.front().is_some_and(|(_, text)| *text == says));
        let queue = queue.unwrap_or_else(|| panic!("{says} was not there, or not the first"));
        queue.pop_front();
    }

    /// No signal is lost.
    fn mailbox(&self, task: &Task) {
        let mut kept: Vec<(&str, &str)> = Vec::new();
        for (name, queue) in &self.unread {
            kept.extend(queue.iter().map(|(id, _)| (name.as_str(), id.as_str())));
        }
        let unread = task.unread.iter();
        let mut unread: Vec<(&str, &str)> =
            unread.map(|u| (u.name.as_str(), u.id.as_str())).collect();
        kept.sort_unstable();
        unread.sort_unstable();
        assert_eq!(kept, unread, "a signal was lost");
    }

    fn may_be_undone(&mut self, before: Option<&Task>, step: &StepRecord) {
        if step.undo.is_none() {
            return;
        }
        let key = (before.map_or(0, |t| t.generation), step.id.cell());
        if step.is_undoable() {
            self.to_undo.insert(key);
        } else {
            self.to_undo.remove(&key);
        }
    }

    /// What can be undone is undone, or named, or the task succeeded.
    fn is_undone(&self, task: &Task) {
        let ends = matches!(task.state, State::Failed { .. } | State::Cancelled);
        let left = !self.to_undo.is_empty() && task.undone.is_none();
        assert!(!ends || !left, "never undone: {:?}", self.to_undo);
    }

    /// A slice that undoes sees everything that there is to undo.
    pub fn claimed(&self, claimed: &Claimed, undoing: &[StepRecord]) {
        let found: BTreeSet<(u64, String)> = undoing
            .iter()
            .filter(|record| record.is_undoable())
            .map(|r| (r.generation.unwrap_or(claimed.generation), r.id.cell()))
            .collect();
        assert_eq!(found, self.to_undo, "what is stored to be undone");
    }
}

/// Whoever is owed something is told, or finds out by asking.
fn debts(before: &Task, next: &Task, event: &Event, out: &Transition) {
    let forgets = matches!(next.state, State::Forgotten);
    let anew = out.effects.contains(&Effect::DropPayload);
    if next.has_ended() {
        let told = next.parents.is_empty() || next.state == before.state;
        assert!(told, "parents are not told");
    }
    let owed = |debt: &Debt| next.debts.list.contains(debt);
    for parent in &before.parents {
        let kept = next.parents.contains(parent) || owed(&Debt::End(parent.clone()));
        assert!(kept || forgets || anew, "a parent is forgotten");
    }
    for debt in &before.debts.list {
        let paid = matches!(event, Event::DebtPaid(paid) if paid == debt);
        let end = matches!(debt, Debt::End(_));
        assert!(
            paid || owed(debt) || (end && forgets),
            "a debt is forgotten"
        );
    }
}
