//! The steps `kv` and `lock`: what tasks share.

use super::program::{Keyed, Locked, Step};
use super::syntax;
use super::walk::{Fields, Problems, kind, quoted, text, whole};
use crate::function::{Ctx, Failure, KvOp, KvReply, KvType, KvWhen};
use serde_json::Value;

/// Namespace of the lab's keys.
const NAMESPACE: &str = "lab";
/// Longest queue of the lab's locks.
const MAX_QUEUE: u32 = 5_000;
/// Most holders of one of the lab's locks.
const MAX_LIMIT: u32 = 1_000;

/// Reads a `kv`.
pub(super) fn keyed(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<Step> {
    let name = fields.need(problems, "name", syntax::name);
    let key = fields.need(problems, "key", text);
    let op = fields.need(problems, "op", text);
    let ttl_ms = fields.read(problems, "ttl", syntax::positive_duration);
    let op = match op?.as_str() {
        "get" => KvOp::Get,
        "delete" => KvOp::Delete,
        word @ ("set" | "set_missing") => KvOp::Set {
            value: fields.require(problems, "value")?.clone(),
            kind: KvType::Json,
            ttl_ms,
            when: if word == "set" {
                KvWhen::Always
            } else {
                KvWhen::Missing
            },
        },
        other => {
            let got = quoted(other);
            let detail = format!("got {got}, wanted get, set, set_missing or delete");
            problems.add(fields.path("op"), detail);
            return None;
        }
    };
    let (name, key) = (name?, key?);
    Some(Step::Keyed(Box::new(Keyed { name, key, op })))
}

/// Reads a `lock` but for its steps.
pub(super) fn locked(
    problems: &mut Problems,
    fields: &mut Fields<'_>,
    steps: Option<Vec<Step>>,
) -> Option<Step> {
    let name = fields.need(problems, "name", syntax::name);
    let limit = fields.read(problems, "limit", whole(1, MAX_LIMIT));
    let queue = fields.read(problems, "queue", whole(0, MAX_QUEUE));
    let steps = steps?;
    if steps.iter().any(Step::saves) {
        let path = fields.path("steps");
        problems.add(path, "a save in a lock would have the lock skipped");
    }
    Some(Step::Locked(Box::new(Locked {
        name: name?,
        limit: limit.unwrap_or(1),
        queue: queue.unwrap_or(MAX_QUEUE),
        steps,
    })))
}

/// The steps of a `lock`, where they are a list.
pub(super) fn steps_of<'a>(problems: &mut Problems, fields: &mut Fields<'a>) -> Option<&'a Value> {
    let value = fields.require(problems, "steps")?;
    if !value.is_array() {
        let got = kind(value);
        problems.add(fields.path("steps"), format!("got {got}, wanted a list"));
        return None;
    }
    Some(value)
}

/// What is there, whether it was set, whether it was deleted.
pub(super) async fn ask(ctx: &Ctx, step: &Keyed) -> Result<Value, Failure> {
    let (key, op) = (step.key.clone(), step.op.clone());
    let asked = ctx.step_scoped(&step.name, move |scope| {
        let (key, op) = (key.clone(), op.clone());
        async move {
            Ok(match scope.kv(NAMESPACE, &key, op).await? {
                KvReply::Found(entry) => entry.map_or(Value::Null, |entry| entry.value),
                KvReply::Set { .. } => true.into(),
                KvReply::Refused(_) => false.into(),
                KvReply::Deleted(was_there) => was_there.into(),
            })
        }
    });
    asked.await
}
