//! Ring 2: the plans of the scheduled jobs. What they read and delete is in [`crate::store::d1`]; how much
//! they do in one run, where they go on in the next one, and what they count is here.

use crate::limits;
use crate::store::d1::OPEN_STATES;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The jobs of one run, in their order: each may use what is left until its share of the time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Begins flows at the times of their schedules.
    Schedules,
    /// Asks the objects of tasks that should have moved.
    Rescue,
    /// Asks the objects of all open tasks in turn.
    Sweep,
    /// Deletes what is dead.
    Clean,
}

impl Job {
    /// When this job takes on no more pieces, in a run that began then.
    ///
    /// ```
    /// use onceward::limits::CRON_BUDGET_MS;
    /// use onceward::maintenance::Job;
    /// assert!(Job::Schedules.until_ms(5) < Job::Rescue.until_ms(5));
    /// assert!(Job::Rescue.until_ms(5) < Job::Sweep.until_ms(5));
    /// assert_eq!(Job::Clean.until_ms(5), 5 + CRON_BUDGET_MS);
    /// ```
    pub fn until_ms(self, started_ms: u64) -> u64 {
        let sixths = match self {
            Self::Schedules => 2,
            Self::Rescue => 3,
            Self::Sweep => 4,
            Self::Clean => 6,
        };
        started_ms.saturating_add(limits::CRON_BUDGET_MS * sixths / 6)
    }
}

/// How many objects of each database one run of the sweep asks.
///
/// ```
/// use onceward::maintenance::sweep_rows;
/// assert_eq!(sweep_rows(1), 200);
/// assert_eq!(sweep_rows(4), 50);
/// assert_eq!(sweep_rows(32), 10);
/// ```
pub fn sweep_rows(databases: u16) -> u32 {
    let share = limits::SWEEP_OBJECTS / u32::from(databases.max(1));
    share.max(limits::SWEEP_OBJECTS_MIN)
}

/// Where the sweep of one database goes on: behind this open task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    /// Place of its state in [`OPEN_STATES`].
    state: usize,
    /// Its creation.
    pub created_ms: u64,
    /// Its id.
    pub task_id: String,
}

impl Position {
    /// As it was remembered; the beginning, if it was not, or cannot be read.
    ///
    /// ```
    /// use onceward::maintenance::Position;
    /// let first = Position::read("nonsense");
    /// assert_eq!(first.state(), Some("pending"));
    /// let behind = first.behind(7, "id");
    /// assert_eq!(Position::read(&behind.text()), behind);
    /// assert_eq!(behind.next_state().state(), Some("running"));
    /// assert_eq!((0..4).fold(behind, |at, _| at.next_state()).state(), None);
    /// ```
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// To be remembered.
    pub fn text(&self) -> String {
        json!({"state": self.state, "created_ms": self.created_ms, "task_id": self.task_id})
            .to_string()
    }

    /// The state whose tasks are looked at; none at the end of a round.
    pub fn state(&self) -> Option<&'static str> {
        OPEN_STATES.get(self.state).copied()
    }

    /// Behind this task of the same state.
    #[must_use]
    pub fn behind(&self, created_ms: u64, task_id: &str) -> Self {
        Self {
            state: self.state,
            created_ms,
            task_id: task_id.to_owned(),
        }
    }

    /// Before the first task of the next state.
    #[must_use]
    pub fn next_state(&self) -> Self {
        Self {
            state: self.state + 1,
            ..Self::default()
        }
    }
}

/// Up to when schedules have been looked at: all of them, but for some flows that are behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    until_ms: u64,
    #[serde(default)]
    behind: BTreeMap<String, u64>,
}

impl Looked {
    /// As it was remembered. Whoever looks for the first time looks at the last minute.
    ///
    /// ```
    /// use onceward::maintenance::Looked;
    /// let first = Looked::read("", 100_000);
    /// assert_eq!(first.after_ms("team/a"), 40_000);
    /// let mut next = Looked::until(100_000);
    /// next.leave("team/b".into(), 70_000);
    /// let next = Looked::read(&next.text(), 160_000);
    /// assert_eq!((next.after_ms("team/a"), next.after_ms("team/b")), (100_000, 70_000));
    /// ```
    pub fn read(text: &str, now_ms: u64) -> Self {
        let minute_ago = || Self::until(now_ms.saturating_sub(60_000));
        serde_json::from_str(text).unwrap_or_else(|_| minute_ago())
    }

    /// All up to then.
    pub fn until(ms: u64) -> Self {
        Self {
            until_ms: ms,
            behind: BTreeMap::new(),
        }
    }

    /// But this flow up to then only.
    pub fn leave(&mut self, flow: String, ms: u64) {
        self.behind.insert(flow, ms);
    }

    /// The next look at a flow begins behind this.
    pub fn after_ms(&self, flow: &str) -> u64 {
        self.behind.get(flow).copied().unwrap_or(self.until_ms)
    }

    /// To be remembered.
    pub fn text(&self) -> String {
        json!({ "until_ms": self.until_ms, "behind": self.behind }).to_string()
    }
}

/// Where the search for checkpoints of tombstones goes on: behind this row. A tombstone is due a day after
/// it was placed, so whatever has been placed since the last run is due behind what it saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Horizon {
    /// When it is due.
    pub due_ms: u64,
    /// Its id.
    pub task_id: String,
}

impl Horizon {
    /// As it was remembered; at the earliest what is due now, since the cleaner takes what is due by then.
    ///
    /// ```
    /// use onceward::maintenance::Horizon;
    /// let seen = Horizon { due_ms: 9, task_id: "id".into() };
    /// assert_eq!(Horizon::read(&seen.text(), 5), seen);
    /// assert_eq!(Horizon::read(&seen.text(), 10).due_ms, 10);
    /// assert_eq!(Horizon::read("", 7).due_ms, 7);
    /// ```
    pub fn read(text: &str, now_ms: u64) -> Self {
        let known: Self = serde_json::from_str(text).unwrap_or_default();
        if known.due_ms >= now_ms {
            return known;
        }
        Self {
            due_ms: now_ms,
            task_id: String::new(),
        }
    }

    /// To be remembered.
    pub fn text(&self) -> String {
        json!({"due_ms": self.due_ms, "task_id": self.task_id}).to_string()
    }
}

/// What the jobs did, by name. The names are those of the log, of `/v1/stats` and of `/metrics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<String, u64>);

impl Counts {
    /// Counts something.
    ///
    /// ```
    /// use onceward::maintenance::Counts;
    /// let mut counts = Counts::default();
    /// counts.add("sweep.asked", 2);
    /// counts.add("sweep.asked", 1);
    /// counts.add("lost.alarm", 0);
    /// assert_eq!(counts.iter().collect::<Vec<_>>(), [("sweep.asked", 3)]);
    /// assert_eq!(counts.document(), serde_json::json!({"sweep": {"asked": 3}}));
    /// ```
    pub fn add(&mut self, name: &str, by: u64) {
        if by > 0 {
            *self.0.entry(name.to_owned()).or_default() += by;
        }
    }

    /// Adds all of these.
    pub fn join(&mut self, other: &Self) {
        for (name, by) in other.iter() {
            self.add(name, by);
        }
    }

    /// All that were counted, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// One of them.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Nested at the dot of their names.
    pub fn document(&self) -> Value {
        let mut out = Map::new();
        for (name, count) in self.iter() {
            let (group, what) = name.split_once('.').unwrap_or(("other", name));
            let group = out
                .entry(group)
                .or_insert_with(|| Value::Object(Map::new()));
            group[what] = count.into();
        }
        Value::Object(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_that_another_release_remembered_is_read_as_far_as_it_is_known() {
        let read = Position::read(r#"{"state": 2, "created_ms": 5, "more": 1}"#);
        assert_eq!(
            (read.state(), read.created_ms),
            (Some("suspended"), 5),
            "{read:?}"
        );
        assert_eq!(Position::read(r#"{"state": -1}"#), Position::default());
        assert_eq!(Position::read(r#"{"state": 99}"#).state(), None);
    }

    #[test]
    fn counts_add_up() {
        let mut one = Counts::default();
        one.add("healed.alarm", 1);
        let mut two = Counts::default();
        two.add("healed.alarm", 2);
        two.add("clean.tasks", 5);
        one.join(&two);
        assert_eq!((one.get("healed.alarm"), one.get("clean.tasks")), (3, 5));
        assert_eq!(
            one.document(),
            json!({"clean": {"tasks": 5}, "healed": {"alarm": 3}})
        );
    }
}
