//! When a schedule begins its flow: decided from the schedule, the stretch of time that is looked at, and nothing else,
//! so that two who look at the same stretch come to the same times.

use crate::flow::formats::{cron, time_zone};
use crate::flow::model::{Recover, Schedule};
use croner::Cron;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};

/// Times of one schedule that one look considers at most: the next one goes on behind them.
pub const MAX_DUE: usize = 100;

/// A time that is longer ago than this when it is looked at was missed. Runs of the scheduled jobs come once a minute,
/// some seconds early or late.
const MISSED_MS: u64 = 120_000;

/// What is due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The times, in order, in milliseconds since 1970.
    pub times: Vec<u64>,
    /// The next look begins behind this.
    pub until_ms: u64,
}

/// A schedule that has been read.
struct Plan {
    cron: Cron,
    zone: TimeZone,
}

impl Plan {
    fn of(schedule: &Schedule) -> Result<Self, String> {
        Ok(Self {
            cron: cron(&schedule.cron)?,
            zone: time_zone(&schedule.timezone)?,
        })
    }

    fn at(&self, ms: u64) -> Option<Zoned> {
        let ms = i64::try_from(ms).ok()?;
        let at = Timestamp::from_millisecond(ms).ok()?;
        Some(at.to_zoned(self.zone.clone()))
    }

    /// The first time behind this one. There is none for a day that never comes.
    fn next(&self, ms: u64) -> Option<u64> {
        let next = self.cron.find_next_occurrence(&self.at(ms)?, false).ok()?;
        ms_of(&next)
    }

    /// The last time before this one.
    fn previous(&self, ms: u64) -> Option<u64> {
        let from = self.at(ms)?;
        let previous = self.cron.find_previous_occurrence(&from, false).ok()?;
        ms_of(&previous)
    }

    fn shown(&self, ms: u64) -> Option<String> {
        let at = self.at(ms)?;
        let form = if self.zone == TimeZone::UTC || at.time_zone().iana_name() == Some("UTC") {
            "%Y-%m-%dT%H:%M:%SZ"
        } else {
            "%Y-%m-%dT%H:%M:%S%:z"
        };
        Some(at.strftime(form).to_string())
    }
}

fn ms_of(at: &Zoned) -> Option<u64> {
    u64::try_from(at.timestamp().as_millisecond()).ok()
}

/// The times of a schedule behind `after_ms` and not behind `until_ms` at which it begins its flow: those for which
/// `holds` says so, and of those that were missed as many as the schedule wants.
///
/// Where clocks go forward, a time that they leave out is the first moment after; where they go back, a time of the day
/// comes once, the first time, and a schedule that goes by the hour or the minute goes on through both.
///
/// # Errors
/// What `holds` says, and what is wrong with the schedule.
pub fn due(
    schedule: &Schedule,
    (after_ms, until_ms): (u64, u64),
    mut holds: impl FnMut(u64) -> Result<bool, String>,
) -> Result<Due, String> {
    let mut due = Due {
        times: Vec::new(),
        until_ms,
    };
    if schedule.disabled || after_ms >= until_ms {
        return Ok(due);
    }
    let plan = Plan::of(schedule)?;
    let missed_ms = until_ms.saturating_sub(MISSED_MS);
    let mut after_ms = after_ms;
    if schedule.recover != Recover::All && after_ms < missed_ms {
        if schedule.recover == Recover::Last {
            due.times = last(&plan, (after_ms, missed_ms), &mut holds)?;
        }
        after_ms = missed_ms;
    }
    for _ in 0..MAX_DUE {
        let next = plan.next(after_ms).filter(|next| *next <= until_ms);
        let Some(next) = next else {
            return Ok(due);
        };
        if holds(next)? {
            due.times.push(next);
        }
        after_ms = next;
    }
    due.until_ms = after_ms;
    Ok(due)
}

/// The last time of a stretch that counts, its end included.
fn last(
    plan: &Plan,
    (after_ms, until_ms): (u64, u64),
    holds: &mut impl FnMut(u64) -> Result<bool, String>,
) -> Result<Vec<u64>, String> {
    let mut before_ms = until_ms + 1;
    for _ in 0..MAX_DUE {
        let found = plan.previous(before_ms).filter(|found| *found > after_ms);
        let Some(found) = found else { break };
        if holds(found)? {
            return Ok(vec![found]);
        }
        before_ms = found;
    }
    Ok(Vec::new())
}

/// `trigger` of an execution that a schedule begins: its id, its type, when it was due, and the times around that.
///
/// ```
/// use onceward::flow::model::{Recover, Schedule};
/// use onceward::flow::plan::fire_variables;
/// let nightly = Schedule {
///     id: "nightly".into(),
///     cron: "0 3 * * *".into(),
///     timezone: "Europe/Paris".into(),
///     disabled: false,
///     conditions: Vec::new(),
///     inputs: Vec::new(),
///     recover: Recover::All,
/// };
/// let trigger = fire_variables(&nightly, 1_782_867_600_000).unwrap();
/// assert_eq!(trigger["date"], "2026-07-01T03:00:00+02:00");
/// assert_eq!(trigger["next"], "2026-07-02T03:00:00+02:00");
/// ```
///
/// # Errors
/// What is wrong with the schedule.
pub fn fire_variables(schedule: &Schedule, at_ms: u64) -> Result<Value, String> {
    let plan = Plan::of(schedule)?;
    let shown = |ms: Option<u64>| ms.and_then(|ms| plan.shown(ms));
    Ok(json!({
        "id": schedule.id,
        "type": "io.kestra.plugin.core.trigger.Schedule",
        "date": plan.shown(at_ms),
        "next": shown(plan.next(at_ms)),
        "previous": shown(plan.previous(at_ms)),
    }))
}

/// The key of the execution: the same for whoever finds this time due.
///
/// ```
/// use onceward::flow::plan::fire_key;
/// assert_eq!(fire_key("nightly", 1_782_867_600_000), "nightly/2026-07-01T01:00:00Z");
/// ```
pub fn fire_key(trigger: &str, at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok();
    let at = at.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    format!("{trigger}/{}", at.unwrap_or_default())
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
