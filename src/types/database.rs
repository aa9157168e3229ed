//! Which of the databases keeps the row of a task.

use super::TaskId;
use crate::limits;
use serde::{Deserialize, Serialize};

/// One of the D1 databases: 0 is bound as `DB`, 1 as `DB_1`, and so on.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Database(pub u16);

impl Database {
    /// The database of a new task, among the first `databases`. Rendezvous hashing: with one more
    /// database, only the tasks that it gets have another one than before.
    ///
    /// ```
    /// use onceward::types::{Database, TaskKey, TaskKind};
    /// let ids: Vec<_> = (0..600)
    ///     .map(|n| TaskKey::new(TaskKind::Source, "inbox", "", &n.to_string()).task_id())
    ///     .collect();
    /// let of = |databases| ids.iter().map(|id| Database::of(*id, databases)).collect::<Vec<_>>();
    /// assert!(of(1).iter().all(|database| *database == Database(0)));
    /// for share in 0..3 {
    ///     let got = of(3).iter().filter(|database| database.0 == share).count();
    ///     assert!((150..250).contains(&got), "{share} has {got}");
    /// }
    /// for (before, after) in of(2).iter().zip(of(3)) {
    ///     assert!(*before == after || after == Database(2));
    /// }
    /// ```
    pub fn of(task_id: TaskId, databases: u16) -> Self {
        let all = 0..databases.clamp(1, limits::MAX_DATABASES);
        let best = all.max_by_key(|n| task_id.weight(*n));
        Self(best.unwrap_or(0))
    }

    /// All of the first `databases`.
    ///
    /// ```
    /// use onceward::types::Database;
    /// assert_eq!(Database::all(2).collect::<Vec<_>>(), [Database(0), Database(1)]);
    /// ```
    pub fn all(databases: u16) -> impl Iterator<Item = Self> {
        (0..databases.clamp(1, limits::MAX_DATABASES)).map(Self)
    }

    /// The name of its binding.
    ///
    /// ```
    /// use onceward::types::Database;
    /// assert_eq!(Database(0).binding(), "DB");
    /// assert_eq!(Database(2).binding(), "DB_2");
    /// ```
    pub fn binding(self) -> String {
        match self.0 {
            0 => "DB".to_owned(),
            n => format!("DB_{n}"),
        }
    }
}
