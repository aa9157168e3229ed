//! How releases talk that are not the same: for some minutes of a deploy, old Workers meet new objects and the
//! other way round. A message of the previous release lacks fields, one of the next has some that nobody knows.

use crate::world::World;
use onceward::http::object_call::Frame;
use serde_json::{Map, Value, json};

/// Fields of messages that the previous release did not have, and that may be left out whatever they say.
const DISPENSABLE: [&str; 2] = ["hop", "lineage"];
/// What the previous release sent, one of each kind.
const SAMPLES: &str = include_str!("../native/previous/calls.json");

/// Whether the next message of this task is between two releases.
pub fn speaks(world: &World, subject: &str) -> bool {
    let deploying = world.now_ms() < world.deploying_until.get();
    world.fate.next(subject, "release").is_multiple_of(2) && deploying
}

fn change(bytes: &[u8], change: impl Fn(&str, &mut Map<String, Value>)) -> Vec<u8> {
    let Some(mut frame) = Frame::decode(bytes) else {
        return bytes.to_vec();
    };
    let Ok(Value::Object(mut head)) = serde_json::from_slice(&frame.head) else {
        return bytes.to_vec();
    };
    // A call has its ask below a name of its own; a reply is the ask alone.
    let asked = if head.contains_key("ask") {
        head.insert("added_later".into(), json!({ "x": [1] }));
        head["ask"].as_object_mut()
    } else {
        Some(&mut head)
    };
    for (name, value) in asked.into_iter().flatten() {
        if let Value::Object(fields) = value {
            change(name, fields);
            fields.insert("added_later".into(), json!({ "x": [1] }));
        }
    }
    frame.head = Value::Object(head).to_string().into_bytes();
    frame.encode()
}

/// The same message by the previous release: without what it did not know and did not need.
pub fn older(call: &[u8]) -> Vec<u8> {
    let samples: Value = serde_json::from_str(SAMPLES).expect("JSON");
    let samples = samples.as_object().cloned().unwrap_or_default();
    change(call, |name, fields| {
        let of_kind: Vec<&Value> = samples
            .values()
            .map(|sample| &sample["head"]["ask"][name])
            .filter(|sample| sample.is_object())
            .collect();
        forget(fields, &of_kind);
        // A delivery is wrapped once more.
        let inner: Vec<&Value> = of_kind.iter().map(|sample| &sample["begin"]).collect();
        if let Some(Value::Object(begin)) = fields.get_mut("begin") {
            forget(begin, &inner);
        }
    })
}

/// Leaves out what no sample has, as far as it says nothing or can be done without.
fn forget(fields: &mut Map<String, Value>, samples: &[&Value]) {
    fields.retain(|field, value| {
        let known = samples.iter().any(|sample| sample.get(field).is_some());
        known || !(is_empty(value) || DISPENSABLE.contains(&field.as_str()))
    });
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !*b,
        Value::Number(n) => n.as_u64() == Some(0),
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
    }
}

/// The same reply by a release that says more than this one understands.
pub fn newer(reply: &[u8]) -> Vec<u8> {
    change(reply, |_, _| {})
}
