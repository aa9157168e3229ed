//! What is sent: requests of every route, most of them wrong in some way. Few of them may begin a task, and those
//! take their keys from a small pool, so that the number of objects stays small.

use crate::dice::Dice;
use crate::shot::Shot;
use crate::support::{SECRET, TOKEN, github_signature};
use onceward::http::filter::PARAMETERS;
use std::fmt::Write as _;

/// Keys of tasks.
const KEYS: usize = 12;

/// Programs that end quickly and call nobody.
const PROGRAMS: [&str; 8] = [
    r#"{"steps":[]}"#,
    r#"{"steps":[{"do":"value","name":"a","value":{"id":616581622363398142,"amt":1.10}}]}"#,
    r#"{"steps":[],"answer":{"status":201,"headers":{"x-own":"1"},"body":[1,2]}}"#,
    r#"{"steps":[{"do":"sleep","name":"s","for":"1ms"}],"config":{"max_attempts":1}}"#,
    r#"{"steps":[{"do":"fail","kind":"terminal","message":"no"}]}"#,
    r#"{"steps":[{"do":"parallel","name":"p","branches":[[{"do":"value","name":"a","value":1}],[]]}]}"#,
    r#"{"steps":[{"do":"signal","name":"go","timeout":"0s"}],"config":{"respond_within":"100ms"}}"#,
    r#"{"steps":[{"do":"panic"}],"config":{"max_attempts":1}}"#,
];

/// What the generator knows beside its dice.
pub struct Pool {
    /// Bodies of providers, pictures, forms.
    pub samples: Vec<Vec<u8>>,
    /// Tasks that there are, or were.
    pub tasks: Vec<String>,
}

/// The request of this number.
pub fn shot(seed: u64, number: u64, pool: &Pool) -> Shot {
    let mut dice = Dice::of(seed, number);
    let dice = &mut dice;
    let mut shot = match dice.below(23) {
        0..=4 => webhook(dice, pool),
        5..=8 => call(dice, pool),
        9 | 10 => github(dice, pool),
        11 => list(dice, pool),
        12..=14 => task(dice, pool),
        15 => signal(dice, pool),
        16 => steer(dice, pool),
        17 => internal(dice, pool),
        18 => lab(dice, pool),
        19 => small(dice),
        20 | 21 => desk(dice),
        _ => wild(dice, pool),
    };
    if dice.percent(7) {
        shot.method = dice
            .pick(&["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
            .to_owned();
    }
    if dice.percent(8) {
        shot.target = bent(dice, &shot.target);
    }
    if dice.percent(30) {
        soup(dice, &mut shot);
    }
    if !shot.body.is_empty() && dice.percent(10) {
        shot.chunked = true;
    }
    if dice.percent(3) {
        shot.chunked = false;
        shot.break_form(dice);
    }
    shot
}

fn key(dice: &mut Dice) -> Vec<u8> {
    format!("pool-{}", dice.below(KEYS)).into_bytes()
}

/// Values of `Idempotency-Key` that are odd; none of them names a task of its own twice.
fn odd_key(dice: &mut Dice) -> Vec<u8> {
    let odd: [&[u8]; 14] = [
        b"",
        b" ",
        b"\"",
        b"\"\"",
        b"\"a",
        b"a\"b",
        b"a b",
        b"\xc3\xa9",
        b"\xff",
        b"a, b",
        b"\"a\", \"b\"",
        b"\"a\\b\"",
        b"\"a\";A=1",
        b"\x01",
    ];
    match dice.below(10) {
        0 => vec![b'k'; 256],
        1 => vec![b'k'; 9_000],
        2 => [b"\"".as_slice(), &key(dice), b"\""].concat(),
        _ => dice.pick(&odd).to_vec(),
    }
}

fn keyed(dice: &mut Dice, shot: Shot) -> Shot {
    let name = dice.pick(&["Idempotency-Key", "idempotency-key", "X-Request-ID"]);
    match dice.below(10) {
        0 => shot,
        1..=3 => {
            let odd = odd_key(dice);
            shot.field(name, odd)
        }
        4 => {
            let (a, b) = (key(dice), key(dice));
            shot.field("Idempotency-Key", a).field("Idempotency-Key", b)
        }
        _ => {
            let key = key(dice);
            shot.field(name, key)
        }
    }
}

/// A token: right, wrong in some way, or none.
fn bearer(dice: &mut Dice, shot: Shot, right: usize) -> Shot {
    if dice.percent(right) {
        return shot.field("Authorization", format!("Bearer {TOKEN}"));
    }
    let whole = format!("Bearer {TOKEN}");
    let value = match dice.below(9) {
        0 => return shot,
        1 => whole[..whole.len() - 1].to_owned(),
        2 => format!("{whole}x"),
        3 => format!("Basic {TOKEN}"),
        4 => format!("{whole}, {whole}"),
        5 => format!("Bearer {}", "x".repeat(20_000)),
        6 => whole.to_ascii_uppercase(),
        7 => {
            return shot
                .field("Authorization", &whole)
                .field("authorization", &whole);
        }
        _ => "Bearer \u{e9}".to_owned(),
    };
    shot.field("Authorization", value)
}

fn body(dice: &mut Dice, pool: &Pool) -> Vec<u8> {
    match dice.below(12) {
        0 => Vec::new(),
        1 => "[".repeat(dice.below(3_000)).into_bytes(),
        2 => format!("{}{}", "{\"a\":".repeat(200), "}".repeat(200)).into_bytes(),
        3 => (0..dice.below(300)).map(|_| dice.byte()).collect(),
        4 if dice.percent(10) => vec![b'x'; (1 << 20) + 1 + dice.below(2) * 300_000],
        5 | 6 => dice.pick(&pool.samples),
        _ => {
            let sample = dice.pick(&pool.samples);
            dice.mutated(&sample)
        }
    }
}

/// A program, seldom as it was written. One that still is a program may run: it calls nobody.
fn program(dice: &mut Dice) -> Vec<u8> {
    // The last one panics, which is a word of the language: seldom.
    let most = if dice.percent(1) {
        PROGRAMS.len()
    } else {
        PROGRAMS.len() - 1
    };
    let program = PROGRAMS[dice.below(most)].as_bytes();
    if dice.percent(25) {
        return program.to_vec();
    }
    dice.mutated(program)
}

fn typed(dice: &mut Dice, shot: Shot) -> Shot {
    let types: [&[u8]; 9] = [
        b"application/json",
        b"application/x-www-form-urlencoded",
        b"multipart/form-data",
        b"text/plain; charset=utf-7",
        b"application/json; charset=\"",
        b"",
        b"\xff/\xff",
        b"application/problem+json",
        b"a/b;;;",
    ];
    let value = dice.pick(&types);
    shot.field("Content-Type", value)
}

fn webhook(dice: &mut Dice, pool: &Pool) -> Shot {
    let lab = dice.percent(60);
    let shot = Shot::new(
        "webhook",
        "POST",
        if lab { "/hooks/lab" } else { "/hooks/inbox" },
    );
    let shot = keyed(dice, shot);
    let shot = typed(dice, shot);
    let body = if lab { program(dice) } else { body(dice, pool) };
    shot.body(body)
}

fn call(dice: &mut Dice, pool: &Pool) -> Shot {
    let name = dice.pick(&[
        "lab",
        "lab",
        "echo",
        "inbox",
        "github-event",
        "payment",
        "nothing",
    ]);
    let shot = Shot::new("call", "POST", format!("/v1/functions/{name}"));
    let shot = bearer(dice, shot, 60);
    let shot = keyed(dice, shot);
    let shot = typed(dice, shot);
    let body = match name {
        "lab" => program(dice),
        // It would call the address in it.
        "payment" => dice
            .pick(&["{}", "{\"order\":1}", "[]", "{\"amount\":-1}"])
            .into(),
        _ => body(dice, pool),
    };
    shot.body(body)
}

fn github(dice: &mut Dice, pool: &Pool) -> Shot {
    let body = body(dice, pool);
    let right = github_signature(SECRET, &body);
    let shot = Shot::new("github", "POST", "/hooks/github");
    let shot = typed(dice, shot).field(
        "X-GitHub-Event",
        dice.pick(&["push", "ping", "issues", "", "\u{e9}"]),
    );
    let shot = match dice.below(8) {
        0 => shot,
        1 => shot.field("X-Hub-Signature-256", right.to_ascii_uppercase()),
        2 => shot.field("X-Hub-Signature-256", &right[..right.len() - 1]),
        3 => shot.field("X-Hub-Signature-256", github_signature("", &body)),
        4 => shot
            .field("X-Hub-Signature-256", &right)
            .field("X-Hub-Signature-256", &right),
        5 => {
            let broken = dice.mutated(right.as_bytes());
            let plain: Vec<u8> = broken
                .into_iter()
                .filter(|b| *b >= b' ' && *b != 0x7f)
                .collect();
            shot.field("X-Hub-Signature-256", plain)
        }
        _ => shot.field("X-Hub-Signature-256", right),
    };
    let shot = if dice.percent(80) {
        let key = key(dice);
        shot.field("X-GitHub-Delivery", key)
    } else {
        let odd = odd_key(dice);
        shot.field("X-GitHub-Delivery", odd)
    };
    shot.body(body)
}

fn list(dice: &mut Dice, pool: &Pool) -> Shot {
    let id = id(dice, pool);
    let query = match dice.below(12) {
        0 => String::new(),
        9 | 10 => format!("?limit=3{}", filter(dice)),
        1 => format!(
            "?limit={}",
            dice.pick(&["1", "200", "0", "201", "-1", "x", "", "1e1", "%31"])
        ),
        2 => format!("?cursor=19a{:x}.{id}", dice.below(1 << 30)),
        3 => format!("?cursor=fffffffffffff.{id}&limit=2"),
        4 => "?cursor=x&limit=x&other=x".into(),
        5 => "?limit=1&limit=2&limit=3".into(),
        6 => format!("?state={}", "a".repeat(dice.below(9_000))),
        7 => "?%ff=%fe&&&=&;".into(),
        _ => format!("?cursor={}", "0".repeat(dice.below(300))),
    };
    let shot = Shot::new("list", "GET", format!("/v1/tasks{query}"));
    bearer(dice, shot, 70)
}

/// Some parameters of a filter, most of them wrong.
fn filter(dice: &mut Dice) -> String {
    let mut query = String::new();
    for _ in 0..dice.below(4) {
        let (name, _) = dice.pick(PARAMETERS);
        let value = dice.pick(&[
            "failed",
            "true",
            "partial",
            "1",
            "a:b",
            "%00",
            "%27%3B--",
            "%25",
            "%F4%8F%BF%BF",
            "4503599627370495",
            "%22%5D",
            "",
        ]);
        let _ = write!(query, "&{name}={value}");
    }
    query
}

/// What is about many tasks, or about none. Nothing of it forgets a task, and no stream is opened.
fn desk(dice: &mut Dice) -> Shot {
    let filter = filter(dice);
    let key = key(dice);
    let own = String::from_utf8_lossy(&key).into_owned();
    let word = dice.pick(&["true", "false", "", "1", "True", "true&dry_run=false"]);
    let most = dice.pick(&["1", "0", "-1", "1000001", "1e3", "x", "1&max=2"]);
    let what = dice.pick(&["cancel", "retry", "undo"]);
    let time = dice.pick(&[
        "0",
        "-1",
        "2026-11-30T00:00:00Z",
        "1969-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "4503599627370496",
        "x",
        "",
    ]);
    let (method, target) = match dice.below(12) {
        0 | 1 => ("POST", format!("/v1/tasks/{what}?max={most}{filter}")),
        2 => ("POST", format!("/v1/tasks/{what}?key={own}&dry_run={word}")),
        3 => ("POST", format!("/v1/tasks/{what}?key={own}&dry_run=false")),
        4 => (
            "DELETE",
            format!("/v1/tasks?{}", filter.trim_start_matches('&')),
        ),
        5 => (
            "DELETE",
            format!("/v1/tasks?key=none&max={most}&dry_run={word}"),
        ),
        6 => ("GET", format!("/v1/stats?from={time}")),
        7 => (
            "GET",
            format!(
                "/v1/stats?to={time}&by={}",
                dice.pick(&["hour", "function,hour", "hour,", "", "x", "hour&by=hour"])
            ),
        ),
        8 => ("GET", format!("/v1/stats?function={own}&other=1")),
        9 => (
            "GET",
            dice.pick(&[
                "/metrics",
                "/metrics?x",
                "/v1/endpoints",
                "/v1/endpoints?x=1",
            ])
            .into(),
        ),
        10 => (
            "POST",
            format!(
                "/v1/endpoints/{}/enable",
                dice.pick(&["ops", "%00", "..", "OPS", "a b", ""])
            )
            .replace(' ', "%20"),
        ),
        _ => ("GET", format!("/v1/events?limit=1{filter}")),
    };
    let shot = bearer(dice, Shot::new("desk", method, target), 70);
    if dice.percent(20) {
        let odd = odd_key(dice);
        return shot.field("Idempotency-Key", odd);
    }
    // What is carried out takes one of a few keys: each is an object.
    shot.field("Idempotency-Key", key)
}

/// A task that there is, one that there is not, or no id at all.
fn id(dice: &mut Dice, pool: &Pool) -> String {
    match dice.below(6) {
        0 => "6f6e6365-7761-5264-8000-000000000001".into(),
        1 => dice.pick(&pool.tasks).to_ascii_uppercase(),
        2 => dice
            .pick(&[
                "..",
                ".",
                "x",
                "%00",
                "00000000000000000000000000000000",
                "{id}",
                "null",
            ])
            .into(),
        _ => dice.pick(&pool.tasks),
    }
}

fn task(dice: &mut Dice, pool: &Pool) -> Shot {
    let id = id(dice, pool);
    let word = |dice: &mut Dice| {
        dice.pick(&[
            "",
            "c3RlcA",
            "c3RlcC8",
            "x",
            "%",
            "c3RlcB",
            "_",
            "dW5kby8wMDAw",
        ])
    };
    let (method, target) = match dice.below(8) {
        0 => ("DELETE", format!("/v1/tasks/{id}")),
        1 => (
            "GET",
            format!(
                "/v1/tasks/{id}?wait={}",
                dice.pick(&["0", "1", "x", "-1", "99999999999999999999", ""])
            ),
        ),
        2 | 3 => ("GET", format!("/v1/tasks/{id}/journal")),
        4 => (
            "GET",
            format!("/v1/tasks/{id}/journal?after={}", word(dice)),
        ),
        5 => (
            "GET",
            format!(
                "/v1/tasks/{id}/{}",
                dice.pick(&["input", "answer", "event", "", "journal/"])
            ),
        ),
        _ => ("GET", format!("/v1/tasks/{id}")),
    };
    bearer(dice, Shot::new("task", method, target), 70)
}

fn signal(dice: &mut Dice, pool: &Pool) -> Shot {
    let id = id(dice, pool);
    let long = "s".repeat(101);
    let name = dice
        .pick(&["go", "approval", ".", "%67o", "a b", &*long, "\u{7e}"])
        .replace(' ', "%20");
    let query = match dice.below(5) {
        0 => format!("?token=0.{}", "a".repeat(64)),
        1 => "?token=".into(),
        2 => "?token=0.aa&token=0.aa".into(),
        _ => String::new(),
    };
    let shot = Shot::new(
        "signal",
        "POST",
        format!("/v1/tasks/{id}/signals/{name}{query}"),
    );
    let shot = bearer(dice, shot, 60);
    let shot = keyed(dice, shot);
    let body = if dice.percent(2) {
        vec![b'1'; 300_000]
    } else {
        body(dice, pool)
    };
    shot.body(body)
}

fn steer(dice: &mut Dice, pool: &Pool) -> Shot {
    let id = id(dice, pool);
    let what = dice.pick(&["cancel", "retry", "undo"]);
    let shot = Shot::new("steer", "POST", format!("/v1/tasks/{id}/{what}"));
    let shot = bearer(dice, shot, 60);
    let wish = dice.pick(&[
        "",
        "{}",
        "{\"from\":\"a\"}",
        "{\"dry_run\":true}",
        "{\"input\":{\"steps\":[]},\"keys\":\"new\"}",
        "{\"from\":1}",
        "[]",
    ]);
    let shot = if dice.percent(30) {
        let odd = odd_key(dice);
        shot.field("Idempotency-Key", odd)
    } else {
        shot
    };
    let wish = if dice.percent(30) {
        dice.mutated(wish.as_bytes())
    } else {
        wish.into()
    };
    shot.body(wish)
}

/// A ticket that nobody has given out.
fn internal(dice: &mut Dice, pool: &Pool) -> Shot {
    let id = id(dice, pool);
    let order = format!(r#"{{"task_id":"{id}","ticket":"t","hop":0,"function":"lab"}}"#);
    let order = if dice.percent(50) {
        dice.mutated(order.as_bytes())
    } else {
        order.into()
    };
    let shot = Shot::new("internal", "POST", "/internal/continue").body(order);
    let zeros = "0".repeat(64);
    let shot = shot.field(
        "Host",
        dice.pick(&[
            "onceward.internal",
            "onceward",
            "localhost",
            "internal",
            "[::1]",
        ]),
    );
    let seal = dice.pick(&["", "00", "zz", &*zeros]);
    shot.field("Onceward-Seal", seal)
}

/// The lab's own addresses; no wish in here is one that sets a fault.
fn lab(dice: &mut Dice, pool: &Pool) -> Shot {
    let _ = pool;
    match dice.below(3) {
        0 => Shot::new("lab", "GET", "/lab/counters"),
        1 => Shot::new("lab", "GET", "/lab/faults"),
        _ => {
            let wish = dice.pick(&[
                "",
                "{}",
                "[]",
                "{\"times\":1}",
                "{\"x\":\"y\"}",
                "{\"on\":\"z\"}",
                "nul",
                "{\"times\":-1e99}",
                "\u{e9}",
            ]);
            bearer(dice, Shot::new("lab", "POST", "/lab/faults"), 50).body(wish)
        }
    }
}

fn small(dice: &mut Dice) -> Shot {
    let target = dice.pick(&[
        "/healthz",
        "/errors/key_missing",
        "/errors/none",
        "/errors/",
        "/errors/../healthz",
        "/",
        "/favicon.ico",
        "/.well-known/idempotency",
        "/openapi.json",
        "/metrics",
        "/v1",
        "/v1/stats",
    ]);
    Shot::new("small", "GET", target)
}

/// Anything at all.
fn wild(dice: &mut Dice, pool: &Pool) -> Shot {
    const SIGNS: &[u8] = b"/.%?&=;:@!$'()*+,~-_ab01vZ";
    let length = if dice.percent(5) { 4_000 } else { 60 };
    let target: String = (0..dice.below(length))
        .map(|_| char::from(dice.pick(SIGNS)))
        .collect();
    let method = dice.pick(&["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"]);
    let shot = Shot::new("wild", method, format!("/{target}"));
    let shot = bearer(dice, shot, 20);
    if dice.percent(50) {
        return shot;
    }
    let body = body(dice, pool);
    shot.body(body)
}

/// Another spelling of an address, or one that is close to it.
fn bent(dice: &mut Dice, target: &str) -> String {
    let at = dice.below(target.len()).max(1);
    let at = if target.is_char_boundary(at) {
        at
    } else {
        target.len()
    };
    let (head, tail) = target.split_at(at);
    match dice.below(9) {
        0 => target.replacen('/', "//", 2),
        1 => format!("{head}%2e%2e/{tail}"),
        2 => format!("{target}/"),
        3 => format!("{target}?{}", "a=b&".repeat(dice.below(900))),
        4 => format!(
            "{target}{}token=%00%ff",
            if target.contains('?') { '&' } else { '?' }
        ),
        5 => target.to_ascii_uppercase(),
        6 => format!("{head}/../{tail}"),
        7 => format!("/{}", target.trim_start_matches('/').replace('/', "%2f")),
        _ => format!(
            "{head}{}{tail}",
            dice.pick(&[";", ":", "%", "%zz", ".", "~", "+", "\\"])
        ),
    }
}

/// Fields that nobody asked for.
fn soup(dice: &mut Dice, shot: &mut Shot) {
    for _ in 0..=dice.below(4) {
        let (name, value): (&str, Vec<u8>) = match dice.below(16) {
            0 => ("Prefer", "respond-async".into()),
            1 => (
                "Prefer",
                dice.pick(&[
                    "wait=0",
                    "wait=-1",
                    "wait=\"",
                    "wait=99999999999999999999, wait=1;;",
                    ",,,",
                    "\"",
                    "=",
                    "respond-async=\"",
                ])
                .into(),
            ),
            2 => ("Prefer", vec![0xff, b'=', 0xfe]),
            3 => ("X-Hub-Signature-256", "sha256=".into()),
            4 => ("Cookie", vec![b'c'; dice.below(3_000)]),
            5 => ("X-Empty", Vec::new()),
            6 => ("X-Latin", (0xa0..=0xff).collect()),
            7 => (
                "Accept-Encoding",
                dice.pick(&["gzip", "br;q=x", "*;q=0"]).into(),
            ),
            8 => (
                "Origin",
                dice.pick(&["null", "http://evil.test", "\u{e9}"]).into(),
            ),
            9 => ("User-Agent", vec![b'u'; dice.below(20_000)]),
            10 => (
                "Content-Encoding",
                dice.pick(&["gzip", "identity", "x"]).into(),
            ),
            11 => ("Range", "bytes=0-,5-1".into()),
            12 => ("X-Forwarded-For", "127.0.0.1, ::1".into()),
            13 => ("Access-Control-Request-Method", "POST".into()),
            14 => ("If-None-Match", "*".into()),
            _ => (
                "Onceward-Task-Id",
                "6f6e6365-7761-5264-8000-000000000001".into(),
            ),
        };
        shot.fields.push((name.to_owned(), value));
    }
}
