//! `/metrics`, as a parser of Prometheus reads it: complete, well-formed, and counters never go back.

use crate::support::{
    Request, Server, Settings as _, TOKEN, check, eventually, fresh, hook, program, sleep,
};
use prometheus_parse::{Scrape, Value};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const HOUR_MS: i64 = 3_600_000;

fn scrape(server: &Server) -> (String, Scrape) {
    let answer = server
        .send(&Request::get("/metrics").bearer(TOKEN))
        .expect(200);
    let media = answer.field("content-type").unwrap_or_default().to_owned();
    assert_eq!(media, "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.text();
    let lines = text.lines().map(|line| Ok(line.to_owned()));
    let scrape = Scrape::parse(lines).expect("what Prometheus can read");
    (text, scrape)
}

/// Every counter by its name and labels.
fn counters(scrape: &Scrape) -> BTreeMap<String, f64> {
    let counter = |sample: &prometheus_parse::Sample| {
        let labels: BTreeMap<&String, &String> = sample.labels.iter().collect();
        match sample.value {
            Value::Counter(value) => Some((format!("{}{labels:?}", sample.metric), value)),
            _ => None,
        }
    };
    scrape.samples.iter().filter_map(counter).collect()
}

fn of(scrape: &Scrape, metric: &str, label: (&str, &str)) -> Option<f64> {
    let found = |sample: &&prometheus_parse::Sample| {
        sample.metric == metric && sample.labels.get(label.0) == Some(label.1)
    };
    scrape
        .samples
        .iter()
        .find(found)
        .map(|sample| match &sample.value {
            Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => *value,
            other => panic!("{other:?}"),
        })
}

fn fill(server: &Server, hour_ms: i64, accepted: u32) {
    let sql = "INSERT INTO stats (hour_ms, function, accepted, succeeded, took_ms, took_2, took_15)
        VALUES (?1, 'odd name', ?2, ?2, 5000, ?2, 1)";
    server
        .files()
        .open_d1()
        .execute(sql, rusqlite::params![hour_ms, accepted])
        .expect("a row");
}

#[test]
fn what_is_shown_can_be_read_and_no_counter_goes_back_when_hours_are_folded() {
    let mut server = Server::start();
    server.kill9();
    let now = crate::support::unix_ms();
    let hour = now - now % HOUR_MS;
    let ages = [(0, 1), (1, 2), (5, 4), (401 * 24, 8), (402 * 24, 16)];
    for (back, accepted) in ages {
        fill(&server, hour - back * HOUR_MS, accepted);
    }
    server.restart();
    let (_, first) = scrape(&server);
    let label = ("function", "odd name");
    assert_eq!(
        of(&first, "onceward_tasks_accepted_total", label),
        Some(31.0)
    );
    let mut before = counters(&first);
    for _ in 0..3 {
        server.cron();
        let (_, after) = scrape(&server);
        assert_eq!(
            of(&after, "onceward_tasks_accepted_total", label),
            Some(31.0)
        );
        let now = counters(&after);
        for (name, value) in &before {
            assert!(
                now.get(name) >= Some(value),
                "{name}: {value}, {:?}",
                now.get(name)
            );
        }
        before = now;
    }
    let copy = crate::support::files::read(&server.files().d1_path()).expect("D1");
    let hours: Vec<(i64, u32)> = copy
        .db
        .prepare("SELECT hour_ms, accepted FROM stats ORDER BY hour_ms")
        .and_then(|mut all| {
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
        .expect("rows");
    assert_eq!(hours.len(), 4, "two of them are one: {hours:?}");
    assert_eq!(hours[0], (0, 24));
}

#[test]
fn histograms_add_up_and_every_family_is_there_once() {
    let mut server = Server::start();
    server.kill9();
    fill(&server, crate::support::unix_ms() / HOUR_MS * HOUR_MS, 3);
    server.restart();
    server.cron();
    let (text, scrape) = scrape(&server);
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with("# TYPE ")) {
        assert!(seen.insert(line.to_owned()), "twice: {line}");
        let name = line.split(' ').nth(2).expect("a name");
        assert!(text.contains(&format!("# HELP {name} ")), "{name}");
    }
    assert!(text.ends_with('\n'));
    let histogram = scrape
        .samples
        .iter()
        .find_map(|sample| match &sample.value {
            Value::Histogram(counts) => Some(counts),
            _ => None,
        });
    let counts = histogram.expect("a histogram");
    assert_eq!(counts.len(), 16);
    assert!(
        counts.windows(2).all(|pair| pair[0].count <= pair[1].count),
        "{counts:?}"
    );
    assert!(counts[15].less_than.is_infinite());
    assert!((counts[15].count - 4.0).abs() < 1e-9, "{counts:?}");
}

#[test]
fn open_tasks_are_counted_by_state_and_a_dead_database_shows_as_down() {
    let server = Server::start();
    let body = program([sleep("nap", "1h")]).set("respond_within", "20ms");
    let id = hook(&server, &fresh("open"), &body).expect(202).task_id();
    eventually(|| {
        let row = server.files().row(&id)?;
        check(row.is_some_and(|row| row.state == "suspended"), || {
            "no row".to_owned()
        })
    });
    server.cron();
    let (_, up) = scrape(&server);
    assert_eq!(of(&up, "onceward_tasks", ("state", "suspended")), Some(1.0));
    assert_eq!(of(&up, "onceward_tasks", ("state", "running")), Some(0.0));
    assert!(of(&up, "onceward_oldest_task_seconds", ("state", "suspended")) >= Some(0.0));
    assert_eq!(
        of(&up, "onceward_oldest_task_seconds", ("state", "running")),
        None
    );
    assert_eq!(of(&up, "onceward_cron_total", ("what", "asked")), Some(1.0));
    assert!(
        of(
            &up,
            "onceward_cron_last_run_timestamp_seconds",
            ("database", "DB")
        ) > Some(1e9)
    );
    assert_eq!(
        of(&up, "onceward_database_up", ("database", "DB")),
        Some(1.0)
    );
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    let (text, down) = scrape(&server);
    assert_eq!(
        of(&down, "onceward_database_up", ("database", "DB")),
        Some(0.0)
    );
    assert_eq!(
        of(&down, "onceward_tasks", ("state", "suspended")),
        None,
        "{text}"
    );
}
