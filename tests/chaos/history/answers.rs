//! What senders are told: one task, one body, one answer, and never a step back.

use super::{Court, Delivery, KeyHistory, Reply};
use serde_json::Value;

/// Fields that are the same in every copy of the stored answer.
const STORED_FIELDS: [&str; 4] = [
    "content-type",
    "x-chaos",
    "onceward-task-id",
    "idempotency-expires",
];

pub(super) fn judge(court: &mut Court<'_>, calm_from: u64) {
    let key = court.key;
    for delivery in &key.deliveries {
        if let Some(reply) = &delivery.reply {
            one_delivery(court, delivery, reply, delivery.sent >= calm_from);
        }
    }
    one_answer(court);
    no_step_back(court);
}

fn one_delivery(court: &mut Court<'_>, delivery: &Delivery, reply: &Reply, calm: bool) {
    let key = court.key;
    let shown = || {
        let body: String = String::from_utf8_lossy(&reply.body)
            .chars()
            .take(300)
            .collect();
        format!("at {} ms: {} {body}", delivery.sent, reply.status)
    };
    let named = reply.header("onceward-task-id");
    court.require(
        named.is_none_or(|id| id == key.task_id),
        "an answer names the task of its key",
        || format!("{named:?}, not {}; {}", key.task_id, shown()),
    );
    let unavailable = reply.status == 503;
    court.require(
        !(calm && unavailable),
        "without faults nobody is turned away",
        shown,
    );
    if delivery.body != 0 {
        let refused = reply.status == 422 && reply.code() == "key_reused";
        court.require(
            refused || unavailable,
            "another body is refused, and nothing else",
            shown,
        );
        return;
    }
    let expected = match reply.status {
        200 => matches!(reply.json()["state"].as_str(), Some("failed" | "cancelled")),
        201 => {
            let id = &reply.json()["task_id"];
            reply.header("x-chaos") == Some(key.key.as_str()) && *id == key.task_id
        }
        202 => reply.json()["task_id"] == key.task_id,
        409 => matches!(reply.code().as_str(), "task_in_progress" | "task_cancelled"),
        500 => reply.code() == "task_failed",
        503 => true,
        _ => false,
    };
    court.require(
        expected,
        "an answer is one of the contract, and its own",
        shown,
    );
}

/// All copies of the function's answer are the same to the byte, and so is D1's.
fn one_answer(court: &mut Court<'_>) {
    let key = court.key;
    let mut copies = key
        .deliveries
        .iter()
        .filter_map(|d| d.reply.as_ref())
        .filter(|r| r.status == 201);
    let Some(first) = copies.next() else {
        return;
    };
    for copy in copies {
        court.require(copy.body == first.body, "one answer per key", || {
            let [a, b] = [first, copy].map(|r| String::from_utf8_lossy(&r.body).into_owned());
            format!("{a}\n  and {b}")
        });
        for name in STORED_FIELDS {
            // The first sender may have its answer before the object has said when it expires.
            let [a, b] = [first, copy].map(|r| r.header(name));
            let same = a == b || (name == "idempotency-expires" && (a.is_none() || b.is_none()));
            court.require(same, "one answer per key", || {
                format!("{name}: {a:?} and {b:?}")
            });
        }
    }
    let stored = key.end.row.as_ref().and_then(|row| row.answer.as_ref());
    court.require(
        stored.is_none_or(|stored| *stored == first.body),
        "one answer per key",
        || "D1 has another one".to_owned(),
    );
}

/// Something that somebody saw of the task's state.
struct Seen<'a> {
    sent: u64,
    done: u64,
    state: &'a str,
    generation: Option<u64>,
    created: Option<&'a str>,
}

fn seen_in(sent: u64, done: u64, document: &Value) -> Option<Seen<'_>> {
    Some(Seen {
        sent,
        done,
        state: document["state"].as_str()?,
        generation: document["generation"].as_u64(),
        created: document["created_at"].as_str(),
    })
}

/// When somebody first knew that it had succeeded or was cancelled, and which of them.
pub(super) fn final_since(key: &KeyHistory) -> Option<(u64, &'static str)> {
    let told = key.deliveries.iter().filter_map(|d| {
        let state = final_word(d.reply.as_ref()?)?;
        Some((d.done, state))
    });
    let looked = key.looks.iter().filter_map(|look| {
        let state = match look.document["state"].as_str()? {
            "succeeded" => "succeeded",
            "cancelled" => "cancelled",
            _ => return None,
        };
        Some((look.done, state))
    });
    told.chain(looked).min()
}

fn final_word(reply: &Reply) -> Option<&'static str> {
    match reply.status {
        201 => Some("succeeded"),
        200 if reply.json()["state"] == "cancelled" => Some("cancelled"),
        409 if reply.code() == "task_cancelled" => Some("cancelled"),
        _ => None,
    }
}

/// Only what was asked after an answer had arrived can contradict it.
fn no_step_back(court: &mut Court<'_>) {
    let key = court.key;
    let mut looks: Vec<Seen<'_>> = key
        .looks
        .iter()
        .filter_map(|look| seen_in(look.sent, look.done, &look.document))
        .collect();
    if let Some((since, state)) = final_since(key) {
        for look in looks.iter().filter(|look| look.sent > since) {
            court.require(look.state == state, "what is final stays so", || {
                format!("{} at {} ms, {state} before", look.state, look.sent)
            });
        }
        for delivery in key
            .deliveries
            .iter()
            .filter(|d| d.sent > since && d.body == 0)
        {
            let Some(reply) = delivery.reply.as_ref().filter(|r| r.status != 503) else {
                continue;
            };
            court.require(
                final_word(reply) == Some(state),
                "what is final stays so",
                || format!("{} at {} ms, {state} before", reply.status, delivery.sent),
            );
        }
    }
    looks.sort_by_key(|look| look.done);
    let mut by_sent: Vec<&Seen<'_>> = looks.iter().collect();
    by_sent.sort_by_key(|look| look.sent);
    let (mut known, mut before) = (0, 0);
    for look in by_sent {
        while before < looks.len() && looks[before].done < look.sent {
            known = known.max(looks[before].generation.unwrap_or(0));
            before += 1;
        }
        court.require(
            look.generation.is_none_or(|g| g >= known),
            "generations grow",
            || format!("{:?} at {} ms, {known} before", look.generation, look.sent),
        );
    }
    let created: Vec<&str> = looks.iter().filter_map(|look| look.created).collect();
    court.require(
        created.windows(2).all(|pair| pair[0] == pair[1]),
        "a key is accepted once",
        || format!("accepted at {created:?}"),
    );
}
