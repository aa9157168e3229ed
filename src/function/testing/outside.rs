//! The bench, as somebody outside uses it: operators, signals, and whoever looks.

use super::action::{Action, Point, Sent};
use super::address::Address;
use super::bench::Bench;
use super::object::Object;
use crate::function::SliceEnd;
use crate::function::bulk::BulkPage;
use crate::protocol::{Cursor, Event, Outcome, Reply, Retry, Signal, StepRecord, Task};
use crate::store::journal::Purpose;
use crate::types::{Answer, TaskId};
use std::fmt::Write as _;

impl Bench {
    pub(super) fn id(&self, of: impl Into<Address>) -> TaskId {
        of.into().key(&self.world.first()).task_id()
    }

    /// Gives an event to an object, past every slice: what a zombie, an operator or a doubled message
    /// would do.
    pub fn tell(&mut self, of: impl Into<Address>, event: Event) -> Reply {
        self.world.tell(self.id(of), event)
    }

    /// Sends a signal: `id` is its idempotency key, `payload` JSON text.
    pub fn signal(&mut self, of: impl Into<Address>, name: &str, id: &str, payload: &str) -> Reply {
        let signal = Signal {
            name: name.to_owned(),
            id: id.to_owned(),
            outcome: Outcome::Value(payload.to_owned()),
            generation: None,
            known: None,
        };
        self.tell(of, Event::Signal(Box::new(signal)))
    }

    /// Wants the task ended, as an operator.
    pub fn cancel(&mut self, of: impl Into<Address>) -> Reply {
        let op = self.world.token().as_str().to_owned();
        self.tell(of, Event::Cancel { op })
    }

    /// Wants the task tried again, as an operator. An empty `op` is replaced by a fresh one.
    pub fn retry(&mut self, of: impl Into<Address>, mut retry: Retry) -> Reply {
        if retry.op.is_empty() {
            self.world.token().as_str().clone_into(&mut retry.op);
        }
        self.tell(of, Event::Retry(Box::new(retry)))
    }

    /// Wants undone what the task did, as an operator.
    pub fn undo(&mut self, of: impl Into<Address>) -> Reply {
        let op = self.world.token().as_str().to_owned();
        self.tell(of, Event::Undo { op })
    }

    /// Has the next `n` messages between objects fail: the end that a parent is owed, the cancellation
    /// that a child is. The alarm tries again.
    pub fn lose_debts(&mut self, n: usize) {
        self.world.losing.set(n);
    }

    /// The task of a key, as its object keeps it.
    pub fn task(&self, of: impl Into<Address>) -> Option<Task> {
        self.world.task(self.id(of))
    }

    /// The task of a key of another function than the first.
    pub fn task_of(&self, function: &str, key: &str) -> Option<Task> {
        self.task((function, key))
    }

    /// Every task of the bench that has not been forgotten.
    pub fn tasks(&self) -> Vec<Task> {
        let objects = self.world.objects.borrow();
        objects.values().filter_map(Object::task).collect()
    }

    /// The stored answer of a task whose answer can no longer change.
    pub fn answer(&self, of: impl Into<Address>) -> Option<Answer> {
        let objects = self.world.objects.borrow();
        objects.get(&self.id(of))?.standing()?.answer
    }

    /// The stored answer of a task of another function than the first.
    pub fn answer_of(&self, function: &str, key: &str) -> Option<Answer> {
        self.answer((function, key))
    }

    /// What is recorded of a task, by identity: every record of its generation.
    pub fn journal(&self, of: impl Into<Address>) -> Vec<StepRecord> {
        self.recorded(of, Purpose::Show)
    }

    /// What a slice would be given that goes on with the task: without what lies before its saved
    /// progress.
    pub fn replayed(&self, of: impl Into<Address>) -> Vec<StepRecord> {
        self.recorded(of, Purpose::Replay)
    }

    /// What is recorded of a task of another function than the first.
    pub fn journal_of(&self, function: &str, key: &str) -> Vec<StepRecord> {
        self.journal((function, key))
    }

    /// What a slice would be given that undoes the task: what can be undone, of earlier generations as
    /// well, and what came of undoing so far.
    pub fn undoing(&self, of: impl Into<Address>) -> Vec<StepRecord> {
        self.recorded(of, Purpose::Undoing)
    }

    fn recorded(&self, of: impl Into<Address>, purpose: Purpose) -> Vec<StepRecord> {
        let objects = self.world.objects.borrow();
        let object = objects.get(&self.id(of));
        let mut records = object.map(|o| o.journal(purpose)).unwrap_or_default();
        records.sort_by(|a, b| a.id.cmp(&b.id));
        records
    }

    /// The progress that a task has saved.
    pub fn cursor(&self, of: impl Into<Address>) -> Option<Cursor> {
        self.world.objects.borrow().get(&self.id(of))?.cursor()
    }

    /// When the alarm of a task rings.
    pub fn alarm_ms(&self, of: impl Into<Address>) -> Option<u64> {
        self.world.objects.borrow().get(&self.id(of))?.alarm_ms()
    }

    /// Names of the cells that the object of a task holds.
    pub fn cells(&self, of: impl Into<Address>) -> Vec<String> {
        let objects = self.world.objects.borrow();
        let object = objects.get(&self.id(of));
        object.map(Object::cells).unwrap_or_default()
    }

    /// The pages of operations on many tasks that were asked for.
    pub fn pages(&self) -> Vec<BulkPage> {
        self.world.pages.borrow().clone()
    }

    /// Every request that reached the outside, in order.
    pub fn requests(&self) -> Vec<Sent> {
        self.world.sent.borrow().clone()
    }

    /// Everything that slices did, in order. What objects tell each other is not among it.
    pub fn actions(&self) -> Vec<Action> {
        let log = self.world.log.borrow();
        let all = log.iter().map(|taken| taken.point.action);
        all.filter(|action| *action != Action::Debt).collect()
    }

    pub(super) fn points(&self) -> Vec<Point> {
        let log = self.world.log.borrow();
        log.iter().map(|taken| taken.point).collect()
    }

    /// How the slices ended that did, in order. One that crashed has no end.
    pub fn ends(&self) -> &[SliceEnd] {
        &self.ends
    }

    /// Everything that slices did and what objects told each other, a line each: how long after the
    /// first, which task, the action, and what went wrong with it.
    pub fn schedule(&self) -> String {
        let log = self.world.log.borrow();
        let first_ms = log.first().map_or(0, |taken| taken.at_ms);
        let mut out = String::new();
        for taken in log.iter() {
            let key = self.world.task(taken.task_id).map(|t| t.key);
            let task = key.map_or_else(
                || taken.task_id.to_string(),
                |key| format!("{} {}", key.name, key.key),
            );
            let fault = taken.fault.map(|fault| format!("  <== {fault:?}"));
            let _ = writeln!(
                out,
                "{:>12} ms  {task}: {:?} {}{}",
                taken.at_ms - first_ms,
                taken.point.action,
                taken.point.nth,
                fault.unwrap_or_default()
            );
        }
        out
    }
}
