//! Those who send: new keys, repeats, other bodies, nonsense, half requests, signals and wishes.

use crate::programs::below;
use crate::support::chance::Chance;
use crate::support::http::Connection;
use crate::support::{Mode, Request};
use crate::town::{Resident, Town};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Acts until the town closes.
pub fn live(town: &Town, chance: &mut Chance) {
    while !town.is_closed() {
        wait_while_down(town, chance);
        act(town, chance);
    }
}

/// Senders pause, and find nobody while the server is down; those who are on their way are cut off.
fn wait_while_down(town: &Town, chance: &mut Chance) {
    std::thread::sleep(chance.ms(5, 60));
    while town.is_down() {
        std::thread::sleep(LOOK_EVERY);
    }
}

fn act(town: &Town, chance: &mut Chance) {
    let dice = below(chance, 100);
    let whom = (dice >= 8).then(|| town.anybody(chance)).flatten();
    let Some(whom) = whom else {
        let whom = town.newcomer(chance);
        deliver(town, chance, &whom);
        return;
    };
    match dice {
        8..=57 => deliver(town, chance, &whom),
        58..=65 => conflict(town, chance, &whom),
        66..=71 => malformed(town, chance),
        72..=77 => hang_up(town, chance, &whom),
        78..=85 => drop(town.look(&whom)),
        86..=89 => town.read_journal(&whom),
        90..=97 => {
            let (signal, waits) = {
                let known = whom.known();
                (known.plan.signal.is_some(), known.plan.waits)
            };
            if signal && !waits {
                town.signal(&whom, below(chance, 2) == 0);
            }
        }
        98 => town.wish(&whom, "cancel"),
        _ => town.wish(&whom, "retry"),
    }
}

fn deliver(town: &Town, chance: &mut Chance, whom: &Resident) {
    let mut request = whom.request();
    if below(chance, 3) == 0 {
        request = request.field("Prefer", "respond-async");
    }
    town.deliver(whom, 0, &request);
}

/// Another body, once it is certain that the key's own body was there first.
fn conflict(town: &Town, chance: &mut Chance, whom: &Resident) {
    if !whom.known().is_accepted() {
        deliver(town, chance, whom);
        return;
    }
    let n = 1 + u32::try_from(below(chance, 3)).unwrap_or(0);
    let body = json!({ "steps": [{ "do": "value", "name": "other", "value": n }] });
    let key = whom.known().key.clone();
    town.deliver(whom, n, &whom.mode.request(&key, &body));
}

/// Refused whatever the weather, or not answered.
fn malformed(town: &Town, chance: &mut Chance) {
    let body = json!({ "steps": [] });
    let hook = || Request::post("/hooks/lab");
    let (request, expected) = match below(chance, 6) {
        0 => (hook().json(&body), 400),
        1 => (hook().key("two words").json(&body), 400),
        2 => (
            hook()
                .key("bad")
                .body("{\"steps\": [")
                .field("Content-Type", "application/json"),
            400,
        ),
        3 => (
            Mode::Call.request("bad", &json!({ "steps": [{ "do": "dance" }] })),
            400,
        ),
        4 => (
            Request::post("/v1/functions/lab")
                .key("bad")
                .bearer("wrong")
                .json(&body),
            401,
        ),
        _ => (Request::post("/hooks/nobody").key("bad").json(&body), 404),
    };
    town.malformed.fetch_add(1, Ordering::SeqCst);
    let Some(answer) = town.send(&request) else {
        return;
    };
    if answer.status != expected && answer.status != 503 {
        let text = format!("{expected} expected: {request:?}: {}", answer.shown());
        let mut odd = town.odd.lock().expect("nobody panics with it");
        odd.push(text);
    }
}

/// Sends all or a part of a delivery, and is gone before there is an answer.
fn hang_up(town: &Town, chance: &mut Chance, whom: &Resident) {
    let bytes = whom.request().bytes(town.address());
    let length = bytes.len() as u64;
    let part = match below(chance, 2) {
        0 => length,
        _ => below(chance, length),
    };
    let part = usize::try_from(part).unwrap_or(bytes.len());
    let sent = town.now();
    let Ok(mut connection) = Connection::open(town.address()) else {
        return;
    };
    let written = connection.write(&bytes[..part]);
    drop(connection);
    if written.is_ok() {
        town.hung_up.fetch_add(1, Ordering::SeqCst);
    }
    whom.known().deliveries.push(crate::history::Delivery {
        sent,
        done: town.now(),
        body: 0,
        reply: None,
    });
}
