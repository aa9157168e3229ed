//! Metrics in the text format of Prometheus (version 0.0.4).

use super::stats::{SUPPRESSED, Sums};
use crate::limits::TOOK_MS;
use crate::types::{Answer, Headers};
use std::fmt::{Display, Write as _};

/// The media type of the text.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is known of one database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gauged {
    /// Name of its binding.
    pub database: String,
    /// Whether it has answered; there is nothing else here if not.
    pub up: bool,
    /// Sums of all hours, by function.
    pub functions: Vec<(String, Sums)>,
    /// Tasks of a state, and how old the oldest is, in seconds.
    pub states: Vec<(String, u64, Option<f64>)>,
    /// What the scheduled jobs have counted, by name.
    pub counts: Vec<(String, u64)>,
    /// When the jobs last ran, in seconds since 1970.
    pub last_run_s: Option<f64>,
}

/// A text that grows by one family of metrics after the other.
#[derive(Default)]
struct Page(String);

/// Names and values of a line.
type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // A text cannot fail to grow.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = escaped(text);
            let mark = if at == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{mark}{label}=\"{text}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }
}

/// A value of a label: backslash, quote and line break are escaped.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\");
    text.replace('"', "\\\"").replace('\n', "\\n")
}

#[allow(clippy::cast_precision_loss)] // sums stay far below 2^53
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

/// Counters with one line for each function: name, help, column.
const BY_FUNCTION: [(&str, &str, &str); 8] = [
    (
        "onceward_tasks_accepted_total",
        "Tasks that were accepted.",
        "accepted",
    ),
    (
        "onceward_tasks_undone_partly_total",
        "Tasks of which not everything could be undone.",
        "undone_partial",
    ),
    (
        "onceward_task_retries_total",
        "Attempts beyond the first.",
        "retries",
    ),
    (
        "onceward_task_revivals_total",
        "Failed tasks that a delivery made go on.",
        "revivals",
    ),
    (
        "onceward_object_requests_total",
        "Requests to objects, runs of their alarms included.",
        "object_requests",
    ),
    (
        "onceward_object_rows_total",
        "Rows that objects wrote to their storage.",
        "object_rows",
    ),
    (
        "onceward_d1_rows_total",
        "Rows that objects wrote to D1, index entries included.",
        "d1_rows",
    ),
    (
        "onceward_object_ms_total",
        "Time that objects were at work, in milliseconds.",
        "object_ms",
    ),
];

fn functions(page: &mut Page, all: &[Gauged]) {
    let each = || {
        all.iter().flat_map(|one| {
            let named = move |(name, sums)| (one.database.as_str(), name, sums);
            one.functions
                .iter()
                .map(|(name, sums)| (name.as_str(), sums))
                .map(named)
        })
    };
    for (name, help, column) in BY_FUNCTION {
        page.family(name, "counter", help);
        for (database, function, sums) in each() {
            let labels = [("database", database), ("function", function)];
            page.line(name, &labels, sums.get(column));
        }
    }
    let name = "onceward_tasks_ended_total";
    page.family(name, "counter", "Tasks that have ended, by how.");
    for (database, function, sums) in each() {
        for state in ["succeeded", "failed", "cancelled"] {
            let labels = [
                ("database", database),
                ("function", function),
                ("state", state),
            ];
            page.line(name, &labels, sums.get(state));
        }
    }
    let name = "onceward_duplicates_total";
    page.family(
        name,
        "counter",
        "Deliveries that ran nothing, and why; approximate.",
    );
    for (database, function, sums) in each() {
        for reason in SUPPRESSED {
            let labels = [
                ("database", database),
                ("function", function),
                ("reason", reason),
            ];
            page.line(name, &labels, sums.get(reason));
        }
    }
    let name = "onceward_task_seconds";
    page.family(
        name,
        "histogram",
        "How long tasks took from accepting to their end.",
    );
    for (database, function, sums) in each() {
        histogram(page, name, database, function, sums);
    }
}

fn histogram(page: &mut Page, name: &str, database: &str, function: &str, sums: &Sums) {
    let mut so_far = 0;
    let bucket = format!("{name}_bucket");
    for (at, some) in sums.took.iter().enumerate() {
        so_far += some;
        let bound = TOOK_MS.get(at).map(|ms| seconds(*ms).to_string());
        let bound = bound.as_deref().unwrap_or("+Inf");
        let labels = [
            ("database", database),
            ("function", function),
            ("le", bound),
        ];
        page.line(&bucket, &labels, so_far);
    }
    let labels = [("database", database), ("function", function)];
    page.line(
        &format!("{name}_sum"),
        &labels,
        seconds(sums.get("took_ms")),
    );
    page.line(&format!("{name}_count"), &labels, so_far);
}

/// Families of what the jobs count: name, help, group, label of the rest.
const BY_JOB: [(&str, &str, &str); 2] = [
    (
        "onceward_tasks_lost_total",
        "Tasks that had lost what should make them go on, by what.",
        "lost",
    ),
    (
        "onceward_tasks_healed_total",
        "Tasks that were made to go on again, by what they had lost.",
        "healed",
    ),
];

fn jobs(page: &mut Page, all: &[Gauged]) {
    let each = || {
        all.iter().flat_map(|one| {
            let parted = |(name, count): &(String, u64)| {
                let (group, what) = name.split_once('.')?;
                Some((group.to_owned(), what.to_owned(), *count))
            };
            let database = one.database.as_str();
            let counts = one.counts.iter().filter_map(parted);
            counts.map(move |(group, what, count)| (database, group, what, count))
        })
    };
    for (name, help, wanted) in BY_JOB {
        page.family(name, "counter", help);
        for (database, group, what, count) in each() {
            if group == wanted {
                page.line(name, &[("database", database), ("what", &what)], count);
            }
        }
    }
    let name = "onceward_cron_total";
    page.family(name, "counter", "What the scheduled jobs did.");
    for (database, group, what, count) in each() {
        if !BY_JOB.iter().any(|(_, _, special)| *special == group) {
            let labels = [
                ("database", database),
                ("job", group.as_str()),
                ("what", &what),
            ];
            page.line(name, &labels, count);
        }
    }
    let name = "onceward_cron_last_run_timestamp_seconds";
    page.family(name, "gauge", "When the scheduled jobs last ran.");
    for one in all {
        if let Some(at_s) = one.last_run_s {
            page.line(name, &[("database", &one.database)], at_s);
        }
    }
}

/// The whole text. Nothing is added up over databases, so that one that does not answer takes its lines away
/// and lowers no counter.
///
/// ```
/// use onceward::http::metrics::{Gauged, answer};
/// let one = Gauged { database: "DB".into(), up: true, ..Gauged::default() };
/// let text = String::from_utf8(answer(&[one], 10_000).body).unwrap();
/// assert!(text.contains("\nonceward_database_up{database=\"DB\"} 1\n"));
/// ```
pub fn answer(all: &[Gauged], cap: u32) -> Answer {
    let mut page = Page::default();
    let name = "onceward_database_up";
    page.family(name, "gauge", "Whether a database has answered.");
    for one in all {
        page.line(name, &[("database", &one.database)], u8::from(one.up));
    }
    functions(&mut page, all);
    let name = "onceward_tasks";
    let help = format!("Tasks that have not succeeded, by state. Counted up to {cap}.");
    page.family(name, "gauge", &help);
    for one in all {
        for (state, tasks, _) in &one.states {
            let labels = [("database", one.database.as_str()), ("state", state)];
            page.line(name, &labels, tasks);
        }
    }
    let name = "onceward_oldest_task_seconds";
    page.family(name, "gauge", "Age of the oldest task of a state.");
    for one in all {
        for (state, _, age_s) in &one.states {
            let labels = [("database", one.database.as_str()), ("state", state)];
            if let Some(age_s) = age_s {
                page.line(name, &labels, age_s);
            }
        }
    }
    jobs(&mut page, all);
    let mut headers = Headers::default();
    headers.push("content-type", MEDIA_TYPE);
    headers.push("cache-control", "no-store");
    Answer {
        status: 200,
        headers,
        body: page.0.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_their_label() {
        let one = Gauged {
            database: "DB".into(),
            up: true,
            functions: vec![("a\"} 7\nb\\".into(), Sums::default())],
            ..Gauged::default()
        };
        let text = String::from_utf8(answer(&[one], 1).body).unwrap();
        let wanted = r#"onceward_tasks_accepted_total{database="DB",function="a\"} 7\nb\\"} 0"#;
        assert!(text.lines().any(|line| line == wanted), "{text}");
        let shaped = |line: &str| line.starts_with("# ") || line.starts_with("onceward_");
        assert!(text.lines().all(shaped), "{text}");
    }
}
