//! What the parts of an object share: its storage, and the little that it keeps in memory.

use super::Fault;
use super::ports::{Edge, Level, ObjectStorage};
use crate::limits;
use crate::protocol::{self, Event, Fresh, Moment};
use crate::store::commit::{Committed, Stored};
use crate::types::{Cost, Database, TaskId};
use futures::channel::oneshot;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What the parts of an object share.
pub(super) struct Desk {
    pub(super) edge: Edge,
    pub(super) storage: Rc<dyn ObjectStorage>,
    pub(super) waiting: RefCell<Vec<oneshot::Sender<()>>>,
    /// Duplicates that no write has carried yet.
    pub(super) duplicates: Cell<u64>,
    /// What was billed since the last write that carried it.
    pub(super) cost: Cell<Cost>,
    /// Whether a flush is on its way.
    pub(super) flushing: Cell<bool>,
    /// Whether other tasks are being told what they are owed.
    pub(super) paying: Cell<bool>,
    /// Whether the alarm was looked at since this instance started.
    pub(super) looked: Cell<bool>,
    /// Whether the alarm runs: until it ends the platform keeps it, although none is set.
    pub(super) ringing: Cell<bool>,
    /// Runs of the alarm, one after the other, that found nothing to do.
    idle_rings: Cell<u32>,
}

impl Desk {
    pub(super) fn new(edge: Edge, storage: Rc<dyn ObjectStorage>) -> Self {
        Self {
            edge,
            storage,
            waiting: RefCell::default(),
            duplicates: Cell::new(0),
            cost: Cell::default(),
            flushing: Cell::new(false),
            paying: Cell::new(false),
            looked: Cell::new(false),
            ringing: Cell::new(false),
            idle_rings: Cell::new(0),
        }
    }

    /// One atomic step: load, decide, write, alarm. Durable before anything that is sent after it.
    pub(super) async fn step(&self, id: TaskId, event: Event) -> Result<Committed, Fault> {
        let duplicates = self.duplicates.take();
        let cost = self.cost.get();
        let now_ms = self.edge.now_ms();
        let rung = matches!(event, Event::AlarmFired);
        let moment = Moment {
            ms: now_ms,
            fresh: Fresh {
                lease: self.edge.token(),
                ticket: self.edge.token(),
                jitter: self.edge.jitter(),
            },
            duplicates,
            // The commit looks it up.
            undoable: false,
            database: Database::of(id, self.edge.databases()),
            cost: self.cost.take(),
            watch: self.edge.endpoints().watch(),
        };
        let committed = self
            .storage
            .commit(id, event, moment)
            .map_err(|error| Fault(error.to_string()))?;
        let mut rows = u64::from(committed.rows);
        if committed.gone {
            self.storage.delete_all().await.map_err(Fault)?;
            rows += 1;
        } else if let Some(at_ms) = committed.alarm_ms {
            let idle = rung && !committed.put;
            let at_ms = if rung {
                self.apart_ms(idle, at_ms, now_ms)
            } else {
                at_ms
            };
            self.storage.set_alarm(at_ms).await.map_err(Fault)?;
            rows += 1;
            self.edge.count("alarms", 1);
        }
        self.edge.count("object_rows", rows);
        if !committed.put {
            self.duplicates.set(self.duplicates.get() + duplicates);
            self.cost.set(self.cost.get().and(cost));
        }
        self.billed(Cost {
            rows,
            ..Cost::default()
        });
        Ok(committed)
    }

    /// Counts what the next write carries.
    pub(super) fn billed(&self, cost: Cost) {
        self.cost.set(self.cost.get().and(cost));
    }

    /// When the alarm is set again that has just rung. Whoever rings it has a clock of its own: where that
    /// one is ahead, an alarm that found nothing due yet and is set again rings again at once, and so on
    /// until this clock is there as well, each a row and a request. So each such run doubles the pause.
    /// It is not forgotten at once, since clocks stay different.
    fn apart_ms(&self, idle: bool, at_ms: u64, now_ms: u64) -> u64 {
        let runs = self.idle_rings.get();
        if !idle {
            self.idle_rings.set(runs.saturating_sub(1));
            return at_ms;
        }
        if at_ms > now_ms + limits::IDLE_RING_MAX_MS {
            return at_ms;
        }
        self.idle_rings.set((runs + 1).min(16));
        let pause_ms = (limits::IDLE_RING_MS << runs).min(limits::IDLE_RING_MAX_MS);
        at_ms.max(now_ms + pause_ms)
    }

    /// Sets the alarm again if it was lost with an earlier instance, or would ring too late. One look
    /// for each start of the object.
    pub(super) async fn look_after_alarm(&self, id: TaskId) -> Result<(), Fault> {
        if self.looked.replace(true) {
            return Ok(());
        }
        let alarm_ms = self.storage.alarm_ms().await.map_err(Fault)?;
        // From here to the alarm nothing is awaited: what is due now is what gets set.
        let Some(stored) = Stored::load(&self.storage.cells(), id).ok().flatten() else {
            return Ok(());
        };
        let due = protocol::next_due_ms(&stored.task);
        if due >= protocol::NEVER_MS {
            // Only a signal or an operator makes it go on.
            return Ok(());
        }
        let now = self.edge.now_ms();
        let due = due.clamp(now + 1, now + limits::MAX_ALARM_MS);
        if alarm_ms.is_none_or(|at| at > due) {
            self.storage.set_alarm(due).await.map_err(Fault)?;
            self.edge.count("object_rows", 1);
            self.edge.count("alarms", 1);
            self.edge.log(
                Level::Info,
                "alarm_restored",
                json!({ "task_id": id.to_string() }),
            );
        }
        Ok(())
    }

    /// Lets those look again who wait for the task.
    pub(super) fn wake(&self) {
        for waiter in self.waiting.borrow_mut().drain(..) {
            // One that has stopped waiting needs no word.
            let _ = waiter.send(());
        }
    }
}
