//! Random requests against the lab build on workerd: every answer has to be one that the contract declares, nothing
//! may leak, and the instance must be the same one in the end.
//!
//! `make hostile REQUESTS=100000 SEED=7` runs it; `ONLY=4711` sends the one request of that number.

// The Worker has no clock of its own; its tests run on a real one.
#![allow(clippy::disallowed_methods)]

#[path = "../e2e/support/mod.rs"]
// Shared with the end-to-end tests, which use all of it.
#[allow(dead_code, unused_imports)]
mod support;

mod dice;
mod figures;
mod generate;
mod judge;
mod shot;
mod wire;

use dice::Dice;
use figures::Figures;
use generate::Pool;
use onceward::types::{TaskKey, TaskKind};
use serde_json::json;
use shot::Shot;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use support::chance::Chance;
use support::{Answer, SECRET, Server, TOKEN, hook, program, sample, value};
use wire::Wire;

/// Senders at a time.
const SENDERS: u64 = 8;
/// Requests that a sender takes at a time.
const SHARE: u64 = 50;

fn setting(name: &str) -> Option<u64> {
    let given = std::env::var(name).ok()?;
    Some(
        given
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a whole number")),
    )
}

fn pool() -> Pool {
    let id = |kind, name: &str, n| {
        TaskKey::new(kind, name, "", &format!("pool-{n}"))
            .task_id()
            .to_string()
    };
    let mut tasks = Vec::new();
    for n in 0..4 {
        tasks.push(id(TaskKind::Source, "lab", n));
        tasks.push(id(TaskKind::Function, "lab", n));
        tasks.push(id(TaskKind::Source, "inbox", n));
    }
    let samples = [
        "edge/all_bytes.bin",
        "edge/bigint.json",
        "edge/deep_120.json",
        "edge/duplicate_keys.json",
        "edge/entities.xml",
        "edge/form.txt",
        "edge/multipart.bin",
        "edge/pixel.png",
        "github/push.json",
        "shopify/orders.create.json",
    ];
    Pool {
        samples: samples.iter().map(|name| sample(name)).collect(),
        tasks,
    }
}

#[test]
#[ignore = "needs a lab build and takes a while: make hostile"]
fn hostile() {
    let seed = Chance::seed();
    let requests = setting("ONCEWARD_HOSTILE_REQUESTS").unwrap_or(5_000);
    let only = setting("ONCEWARD_HOSTILE_ONLY");
    eprintln!("hostile: SEED={seed}, {requests} requests");
    let (server, pool) = (Server::start(), pool());
    let healthy = program([value("a", json!({"id": 616_581_622_363_398_142_u64}))]);
    let first = hook(&server, "healthy", &healthy).expect(200);
    let instance = instance(&server);
    let figures = Figures::default();
    let began = Instant::now();
    if let Some(number) = only {
        let shot = generate::shot(seed, number, &pool);
        eprintln!("{}\n", shot.shown());
        send(&mut Wire::new(server.address()), &figures, number, &shot);
    } else {
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..SENDERS {
                let mut wire = Wire::new(server.address());
                let (next, pool, figures) = (&next, &pool, &figures);
                scope.spawn(move || {
                    while figures.go_on() {
                        let from = next.fetch_add(SHARE, Ordering::Relaxed);
                        if from >= requests {
                            break;
                        }
                        share(
                            &mut wire,
                            figures,
                            pool,
                            seed,
                            from..(from + SHARE).min(requests),
                        );
                    }
                });
            }
        });
    }
    let files = server.files().all().len();
    eprintln!("{}", figures.shown(began.elapsed(), files));
    let faults = figures.faults();
    for fault in &faults {
        eprintln!(
            "{fault}\nagain: make hostile SEED={seed} ONLY={}\n",
            fault.number
        );
    }
    assert!(
        faults.is_empty(),
        "{} answers are wrong, SEED={seed}",
        faults.len()
    );
    assert!(figures.refusals() <= 1, "one 401 can be told from another");
    let log = server.output();
    for word in [TOKEN, SECRET, "pool-", "Uncaught", "unreachable executed"] {
        // That is all that workerd has to say to CONNECT.
        let told = log
            .lines()
            .filter(|line| !line.ends_with("does not export a connect() function."));
        let lines: Vec<&str> = told.filter(|line| line.contains(word)).collect();
        let first = &lines[..lines.len().min(5)];
        assert!(
            lines.is_empty(),
            "{} lines of the log have {word:?}: {first:#?}",
            lines.len()
        );
    }
    let again = hook(&server, "healthy", &healthy).expect(200);
    assert!(
        again.is_replay() && again.body == first.body,
        "{}",
        again.shown()
    );
    assert_eq!(again.task_id(), first.task_id());
    assert_eq!(
        self::instance(&server),
        instance,
        "the instance was started anew"
    );
}

/// The instance of the compiled code: another name means that it was thrown away.
fn instance(server: &Server) -> String {
    let counters = server.counters();
    counters["instance"]
        .as_str()
        .expect("a lab build")
        .to_owned()
}

/// Sends some requests, now and then several on one connection before the first answer.
fn share(
    wire: &mut Wire,
    figures: &Figures,
    pool: &Pool,
    seed: u64,
    numbers: std::ops::Range<u64>,
) {
    let mut waiting: Vec<(u64, Shot)> = Vec::new();
    for number in numbers {
        let shot = generate::shot(seed, number, pool);
        let joins = !shot.closes() && Dice::of(!seed, number).percent(40);
        if joins {
            waiting.push((number, shot));
        }
        if waiting.len() >= 6 || !joins {
            pipelined(wire, figures, &std::mem::take(&mut waiting));
        }
        if !joins {
            let shot = generate::shot(seed, number, pool);
            send(wire, figures, number, &shot);
        }
    }
    pipelined(wire, figures, &waiting);
}

/// What got no answer in the queue is sent again by itself.
fn pipelined(wire: &mut Wire, figures: &Figures, shots: &[(u64, Shot)]) {
    let queue: Vec<Shot> = shots.iter().map(|(_, shot)| shot.clone()).collect();
    let answers = wire.together(&queue);
    for (index, (number, shot)) in shots.iter().enumerate() {
        match answers.get(index) {
            Some(answer) => tell(figures, *number, shot, answer),
            None => send(wire, figures, *number, shot),
        }
    }
}

fn send(wire: &mut Wire, figures: &Figures, number: u64, shot: &Shot) {
    match wire.single(shot) {
        Ok(answer) => tell(figures, number, shot, &answer),
        Err(_) if shot.broken.is_some() => figures.closed(),
        Err(error) => figures.wrong(number, shot, None, &format!("no answer: {error}")),
    }
}

fn tell(figures: &Figures, number: u64, shot: &Shot, answer: &Answer) {
    match judge::judge(shot, answer) {
        Ok(by) => figures.good(shot, answer, by),
        Err(why) => figures.wrong(number, shot, Some(answer), &why),
    }
}
