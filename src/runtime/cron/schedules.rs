//! Begins flows at the times of their schedules. Each time is a key of its own: two runs that find it due begin one
//! task. A flow whose times could not be begun is looked at again from there.

use super::super::App;
use super::super::children;
use super::super::flows::{Lost, Registry};
use super::super::ports::{Edge, Level};
use super::super::serve::TOKEN;
use super::book::Book;
use crate::flow::model::{Flow, Schedule, Trigger};
use crate::flow::plan::due;
use crate::function::flow::{FlowRef, Secrets, schedule_holds, scheduled};
use crate::function::{ChildBegin, ChildSays};
use crate::http::flows::{FlowName, labelled};
use crate::limits::SCHEDULED_BEGINS;
use crate::maintenance::Looked;
use crate::types::{About, Database, TaskKey, TaskKind};
use futures::{StreamExt as _, stream};
use serde_json::{Map, json};
use std::cell::Cell;
use std::collections::BTreeSet;

/// What they have been looked at by is remembered as.
const SCHEDULES: &str = "schedules";
/// Flows that are looked at together.
const AT_A_TIME: usize = 4;
/// How long the objects of one flow are asked, in milliseconds.
const PATIENCE_MS: u64 = 5_000;

/// A run's look at the schedules.
pub(super) struct Look<'a> {
    edge: &'a Edge,
    app: &'a App,
    /// Nothing more is begun after this.
    until_ms: u64,
    /// Times up to this one are due.
    now_ms: u64,
    /// Tasks that may still be begun.
    left: Cell<u32>,
}

/// What came of the schedules of one flow.
#[derive(Default)]
struct Came {
    begun: u64,
    failed: u64,
    /// Where the next look begins, if that is before now.
    behind_ms: Option<u64>,
}

/// The flows with a schedule that are looked at with this database.
fn names(app: &App, book: &Book) -> BTreeSet<FlowName> {
    let bundled = app.bundled().filter(|bundled| has_schedule(&bundled.flow));
    let bundled: BTreeSet<FlowName> = bundled.map(|bundled| bundled.name.clone()).collect();
    let deployed = book.scheduled.iter().filter(|name| !bundled.contains(name));
    let mut names: BTreeSet<FlowName> = deployed.cloned().collect();
    if book.database == Database(0) {
        names.extend(bundled);
    }
    names
}

fn has_schedule(flow: &Flow) -> bool {
    flow.triggers
        .iter()
        .any(|trigger| matches!(trigger, Trigger::Schedule(_)))
}

impl<'a> Look<'a> {
    /// Of a run that looks now, and begins nothing after `until_ms`.
    pub(super) fn new(edge: &'a Edge, app: &'a App, until_ms: u64) -> Self {
        Self {
            edge,
            app,
            until_ms,
            now_ms: edge.now_ms(),
            left: Cell::new(SCHEDULED_BEGINS),
        }
    }

    /// Looks at the flows that a database knows of, and with the first one at those of the release.
    pub(super) async fn at_book(&self, mut book: Book) -> Book {
        if book.error.is_some() {
            return book;
        }
        let seen = Looked::read(book.known(SCHEDULES), self.now_ms);
        let came: Vec<(FlowName, Came)> = stream::iter(names(self.app, &book))
            .map(|name| {
                let after_ms = seen.after_ms(&name.to_string());
                async move {
                    let came = self.at_flow(&name, after_ms).await;
                    (name, came)
                }
            })
            .buffered(AT_A_TIME)
            .collect()
            .await;
        let mut now = Looked::until(self.now_ms);
        for (name, came) in came {
            book.counts.add("schedules.begun", came.begun);
            book.counts.add("schedules.failed", came.failed);
            if let Some(behind_ms) = came.behind_ms {
                now.leave(name.to_string(), behind_ms);
            }
        }
        book.remember.push((SCHEDULES, now.text()));
        book
    }

    /// Until when the objects of a flow are asked.
    fn patience_ms(&self) -> u64 {
        self.until_ms.min(self.edge.now_ms() + PATIENCE_MS)
    }

    async fn at_flow(&self, name: &FlowName, after_ms: u64) -> Came {
        let left_out = Came {
            behind_ms: Some(after_ms),
            ..Came::default()
        };
        if self.edge.now_ms() >= self.until_ms {
            return left_out;
        }
        let registry = Registry {
            edge: self.edge,
            flows: self.app.flows(),
            until_ms: self.patience_ms(),
        };
        let now = match registry.current(name).await {
            Ok(Some(now)) if !now.disabled => now,
            // Times at which it takes nothing are over.
            Ok(_) => return Came::default(),
            Err(Lost::Unreachable(why) | Lost::Unreadable(why)) => {
                self.complain(name, "", &why);
                return Came {
                    failed: 1,
                    ..left_out
                };
            }
        };
        let after_ms = after_ms.max(now.since_ms);
        let mut came = Came::default();
        for trigger in &now.flow.triggers {
            let Trigger::Schedule(schedule) = trigger else {
                continue;
            };
            let of = (&*now.flow, &now.revision);
            let reached_ms = self
                .at_schedule(name, of, schedule, after_ms, &mut came)
                .await;
            if reached_ms < self.now_ms {
                let behind_ms = came.behind_ms.unwrap_or(reached_ms);
                came.behind_ms = Some(behind_ms.min(reached_ms));
            }
        }
        came
    }

    /// Begins what is due; says up to when that was done.
    async fn at_schedule(
        &self,
        name: &FlowName,
        (flow, of): (&Flow, &FlowRef),
        schedule: &Schedule,
        after_ms: u64,
        came: &mut Came,
    ) -> u64 {
        let lookup = |name: &str| (name != TOKEN).then(|| self.edge.secret(name)).flatten();
        let secrets = Secrets(&lookup);
        let holds = |at_ms| {
            let holds = schedule_holds(flow, schedule, at_ms, &secrets);
            // A condition that fails does not hold: it would fail in the next minute as well.
            Ok(holds.unwrap_or_else(|why| {
                self.complain(name, &schedule.id, &why);
                false
            }))
        };
        let due = match due(schedule, (after_ms, self.now_ms), holds) {
            Ok(due) => due,
            Err(why) => {
                self.complain(name, &schedule.id, &why);
                return self.now_ms;
            }
        };
        let mut reached_ms = after_ms;
        for at_ms in due.times {
            if self.left.get() == 0 || self.edge.now_ms() >= self.until_ms {
                return reached_ms;
            }
            self.left.set(self.left.get() - 1);
            match self.begin_one((flow, of), schedule, at_ms).await {
                Ok(()) => came.begun += 1,
                Err(why) => {
                    came.failed += 1;
                    self.complain(name, &schedule.id, &why);
                    return reached_ms;
                }
            }
            reached_ms = at_ms;
        }
        due.until_ms
    }

    /// Begins one task, or finds that it was begun.
    async fn begin_one(
        &self,
        (flow, of): (&Flow, &FlowRef),
        schedule: &Schedule,
        at_ms: u64,
    ) -> Result<(), String> {
        let input = scheduled(of, schedule, at_ms)?;
        let key = input.key.clone().unwrap_or_default();
        let function = of.function_name();
        let begin = ChildBegin {
            key: TaskKey::new(TaskKind::Source, &function, "", &key),
            function,
            input: input.into_input(),
            parent: None,
            hop: 0,
            fingerprint: None,
            lineage: Vec::new(),
            about: labelled(flow, About::default(), Some(&key), &Map::new()),
        };
        let functions = self.app.shared_functions();
        let until_ms = self.patience_ms();
        match children::begin(self.edge, &functions, begin, until_ms).await {
            Ok(ChildSays::Moving | ChildSays::Ended(_)) => Ok(()),
            // The key is used up or another's: in the next minute as well.
            Ok(ChildSays::Refused(failure)) => {
                let fields =
                    json!({ "flow": of.function_name(), "key": key, "error": failure.to_string() });
                self.edge.log(Level::Error, "schedule", fields);
                Ok(())
            }
            Ok(ChildSays::Gone) => Err("its object did not take the task".to_owned()),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    fn complain(&self, name: &FlowName, schedule: &str, why: &str) {
        let fields = json!({ "flow": name.to_string(), "schedule": schedule, "error": why });
        self.edge.log(Level::Error, "schedule", fields);
    }
}
