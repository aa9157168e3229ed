//! The capacity model of `docs/scaling.md`: databases as single servers with a measured service time, rows spread
//! over them as tasks are, failed flushes repeated as objects repeat them. Below capacity queues stay short; above it
//! rows come late, none is lost, and the queue drains. `ONCEWARD_UPDATE=1` writes the page's tables.

use crate::sql::{NOW, apply, begun, database, finished};
use onceward::limits::FLUSH_TIMEOUT_MS;
use onceward::protocol::{Verdict, flush_backoff_ms};
use onceward::store::d1;
use onceward::types::{Answer, Cost, Database, TaskId, prices};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write as _;
use std::path::Path;

/// What one flush keeps a database busy for: the planning figure of the page, in microseconds.
const SERVICE_US: u64 = 4_000;
/// Flushes of a one-step task: its row, and its tombstone.
const FLUSHES_PER_TASK: u64 = 2;
/// Requests that a database lets wait before it refuses further ones. Not published; the order of magnitude of what
/// an object lets wait.
const QUEUE: usize = 1_000;
/// Databases of one deployment.
const PER_DEPLOYMENT: u16 = onceward::limits::MAX_DATABASES;

/// Tasks per second that keep one database busy all the time.
fn capacity() -> u64 {
    1_000_000 / (SERVICE_US * FLUSHES_PER_TASK)
}

/// A small generator: the same numbers on every machine.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Time to the next arrival, of `per_s` in a second, at random.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )]
    fn gap_ns(&mut self, per_s: u64) -> u64 {
        let even = (self.below(1 << 52) + 1) as f64 / (1_u64 << 52) as f64;
        (-even.ln() * 1e9 / per_s as f64) as u64
    }

    fn task_id(&mut self) -> TaskId {
        let id = uuid::Uuid::from_u64_pair(self.next(), self.next());
        TaskId::parse(&id.to_string()).expect("an id")
    }
}

/// One situation.
struct Case {
    what: &'static str,
    /// Load, in tenths of what one database can take.
    tenths: u64,
    deployments: u64,
    databases: u16,
    flushes: u64,
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    shown: u64,
    tries: u64,
    delays_ms: Vec<u64>,
    longest_queue: usize,
    drained_ms: u64,
    ended_ms: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A flush is sent: which, and how often it was tried before.
    Send(usize, u32),
    /// A database is done with the flush at the head of its queue.
    Served(usize),
}

struct Flush {
    server: usize,
    born_us: u64,
    shown: bool,
}

/// Runs one situation until nothing is owed any more.
fn run(case: &Case) -> Outcome {
    let mut chance = Chance(case.tenths * 1_000 + u64::from(case.databases));
    let per_s = capacity() * FLUSHES_PER_TASK * case.tenths / 10;
    let mut flushes: Vec<Flush> = Vec::new();
    let mut events = BinaryHeap::new();
    let mut at_ns = 0;
    for n in 0..case.flushes {
        at_ns += chance.gap_ns(per_s);
        let cell = usize::try_from(chance.below(case.deployments)).expect("few");
        let database = Database::of(chance.task_id(), case.databases);
        let server = cell * usize::from(case.databases) + usize::from(database.0);
        flushes.push(Flush {
            server,
            born_us: at_ns / 1_000,
            shown: false,
        });
        events.push(Reverse((
            at_ns / 1_000,
            Event::Send(usize::try_from(n).expect("few"), 0),
        )));
    }
    let mut out = Outcome {
        ended_ms: at_ns / 1_000_000,
        ..Outcome::default()
    };
    let servers = usize::try_from(case.deployments).expect("few") * usize::from(case.databases);
    let mut queues: Vec<VecDeque<(usize, u32, u64)>> = vec![VecDeque::new(); servers];
    while let Some(Reverse((now_us, event))) = events.pop() {
        match event {
            Event::Send(n, tries) => {
                out.tries += 1;
                let queue = &mut queues[flushes[n].server];
                if queue.len() >= QUEUE {
                    // Refused: never run, tried again.
                    again(&mut events, &mut chance, now_us, n, tries);
                    continue;
                }
                if queue.is_empty() {
                    events.push(Reverse((
                        now_us + SERVICE_US,
                        Event::Served(flushes[n].server),
                    )));
                }
                queue.push_back((n, tries, now_us));
                out.longest_queue = out.longest_queue.max(queue.len());
            }
            Event::Served(server) => {
                let (n, tries, sent_us) = queues[server].pop_front().expect("one is served");
                let flush = &mut flushes[n];
                if !flush.shown {
                    flush.shown = true;
                    out.shown += 1;
                    out.delays_ms.push((now_us - flush.born_us) / 1_000);
                }
                out.drained_ms = now_us / 1_000;
                // Nobody waited for it any longer: it is sent again, to hear what D1 holds.
                if now_us - sent_us > FLUSH_TIMEOUT_MS * 1_000 {
                    again(
                        &mut events,
                        &mut chance,
                        sent_us + FLUSH_TIMEOUT_MS * 1_000,
                        n,
                        tries,
                    );
                }
                if !queues[server].is_empty() {
                    events.push(Reverse((now_us + SERVICE_US, Event::Served(server))));
                }
            }
        }
    }
    out.delays_ms.sort_unstable();
    out
}

fn again(
    events: &mut BinaryHeap<Reverse<(u64, Event)>>,
    chance: &mut Chance,
    failed_us: u64,
    n: usize,
    tries: u32,
) {
    let jitter = u32::try_from(chance.below(1_001)).expect("small");
    let wait_us = flush_backoff_ms(tries, jitter) * 1_000;
    events.push(Reverse((failed_us + wait_us, Event::Send(n, tries + 1))));
}

impl Outcome {
    fn percentile_ms(&self, percent: usize) -> u64 {
        let at = self.delays_ms.len() * percent / 100;
        self.delays_ms[at.min(self.delays_ms.len() - 1)]
    }
}

const CASES: [Case; 8] = [
    Case {
        what: "half",
        tenths: 5,
        deployments: 1,
        databases: 1,
        flushes: 20_000,
    },
    Case {
        what: "most",
        tenths: 8,
        deployments: 1,
        databases: 1,
        flushes: 20_000,
    },
    Case {
        what: "too much, for a minute",
        tenths: 15,
        deployments: 1,
        databases: 1,
        flushes: 22_500,
    },
    Case {
        what: "ten times, for ten seconds",
        tenths: 100,
        deployments: 1,
        databases: 1,
        flushes: 25_000,
    },
    Case {
        what: "ten times",
        tenths: 100,
        deployments: 1,
        databases: 16,
        flushes: 60_000,
    },
    Case {
        what: "a hundred times, too few",
        tenths: 1_000,
        deployments: 1,
        databases: PER_DEPLOYMENT,
        flushes: 60_000,
    },
    Case {
        what: "a hundred times",
        tenths: 1_000,
        deployments: 5,
        databases: PER_DEPLOYMENT,
        flushes: 60_000,
    },
    Case {
        what: "a thousand times",
        tenths: 10_000,
        deployments: 50,
        databases: PER_DEPLOYMENT,
        flushes: 120_000,
    },
];

fn simulated() -> String {
    let mut out = String::from(
        "| load of one database | tasks/s | databases | busy | row is there after: median, p99, last | longest queue | sent | lost | drained after |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for case in &CASES {
        let outcome = run(case);
        let databases = case.deployments * u64::from(case.databases);
        let busy = case.tenths * 10 / databases;
        assert_eq!(
            outcome.shown, case.flushes,
            "{}: nothing is lost",
            case.what
        );
        if busy <= 80 {
            assert!(
                outcome.longest_queue < 100,
                "{}: {}",
                case.what,
                outcome.longest_queue
            );
            assert_eq!(
                outcome.tries, case.flushes,
                "{}: none is repeated",
                case.what
            );
        } else {
            assert!(outcome.longest_queue <= QUEUE);
        }
        let tasks = capacity() * case.tenths / 10;
        let databases = match case.deployments {
            1 => databases.to_string(),
            many => format!("{databases} in {many} deployments"),
        };
        let (median, p99, last) = (
            outcome.percentile_ms(50),
            outcome.percentile_ms(99),
            outcome.percentile_ms(100),
        );
        let drained = outcome.drained_ms.saturating_sub(outcome.ended_ms);
        let _ = writeln!(
            out,
            "| {}: {}.{}× | {tasks} | {databases} | {busy} % | {}, {}, {} | {} | {}.{:02} times | 0 | {} |",
            case.what,
            case.tenths / 10,
            case.tenths % 10,
            time(median),
            time(p99),
            time(last),
            outcome.longest_queue,
            outcome.tries / case.flushes,
            outcome.tries * 100 / case.flushes % 100,
            time(drained),
        );
    }
    out
}

fn time(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{ms} ms"),
        10_000..600_000 => format!("{} s", ms / 1_000),
        _ => format!("{} min", ms / 60_000),
    }
}

/// Bytes that the row of a one-step task takes, index entries included: what a database of 10 GB is full of.
fn row_bytes() -> u64 {
    const ROWS: u64 = 5_000;
    let db = database();
    let size = || -> i64 {
        let sql = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
        db.query_row(sql, [], |row| row.get(0)).expect("a size")
    };
    let before = size();
    for n in 0..ROWS {
        let task = begun(&format!("order-{n:020}"), NOW + n);
        let answer = Answer::json(200, &serde_json::json!({"order": n, "state": "shipped"}));
        let body = answer.body.clone();
        let task = finished(task, Verdict::Succeeded(answer), NOW + n + 40);
        apply(&db, &d1::flush(&task, Some(body)));
    }
    (size() - before).cast_unsigned() / ROWS
}

/// What tasks of the lab showed as their cost on workerd, and what is counted after that until they are forgotten:
/// requests and rows of objects, rows of D1. The milliseconds are assumed.
const COSTS: [(&str, Cost); 5] = [
    ("a task of one step", cost(3, 7, 9, 10)),
    ("of ten steps", cost(12, 16, 9, 20)),
    ("of one step that sleeps once", cost(7, 14, 15, 20)),
    ("of one step that is undone", cost(8, 13, 20, 20)),
    ("a duplicate", cost(1, 0, 0, 2)),
];

const fn cost(requests: u64, rows: u64, d1_rows: u64, ms: u64) -> Cost {
    Cost {
        requests,
        rows,
        d1_rows,
        ms,
    }
}

fn costs() -> String {
    let mut out = String::from(
        "| | requests | rows of the object | rows of D1 | active ms | $ per million |\n|---|---|---|---|---|---|\n",
    );
    for (what, cost) in COSTS {
        let Cost {
            requests,
            rows,
            d1_rows,
            ms,
        } = cost;
        let usd = prices::usd_per_million(cost);
        let _ = writeln!(
            out,
            "| {what} | {requests} | {rows} | {d1_rows} | {ms} | {usd:.2} |"
        );
    }
    out
}

fn storage() -> String {
    const TEN_GB: u64 = 10_000_000_000;
    let bytes = row_bytes().next_multiple_of(50);
    let rows = TEN_GB / bytes;
    let mut out = String::from(
        "| kept for | tasks/s that fill 10 GB | of the time that D1 has |\n|---|---|---|\n",
    );
    for days in [1, 7, 30] {
        let per_s = rows / (days * 86_400);
        let share = per_s * 100 / capacity();
        let kept = if days == 1 {
            "a day".to_owned()
        } else {
            format!("{days} days")
        };
        let _ = writeln!(out, "| {kept} | {per_s} | {share} % |");
    }
    format!(
        "A row takes {bytes} bytes with its index entries; 10 GB are {} million of them.\n\n{out}",
        rows / 1_000_000
    )
}

/// Replaces what stands between two marks.
fn renew(page: &str, name: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = page.split_once(&begin).expect("the mark");
    let (_, after) = rest.split_once(&end).expect("the end mark");
    format!("{before}{begin}{text}{end}{after}")
}

#[test]
fn the_tables_of_the_page_are_those_of_the_model() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scaling.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let mut wanted = page.clone();
    for (name, text) in [
        ("simulated", simulated()),
        ("costs", costs()),
        ("storage", storage()),
    ] {
        wanted = renew(&wanted, name, &text);
    }
    if std::env::var_os("ONCEWARD_UPDATE").is_some() {
        std::fs::write(&path, &wanted).expect("the page can be written");
    } else {
        assert!(
            page == wanted,
            "run again with ONCEWARD_UPDATE=1, and read what changed:\n{wanted}"
        );
    }
}
