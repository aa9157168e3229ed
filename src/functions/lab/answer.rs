//! The answer of a program that has ended.

use super::program::{Body, OwnAnswer};
use crate::function::{Answer, Ctx};
use serde_json::{Map, Value};

pub(super) fn of(ctx: &Ctx, own: OwnAnswer, outcomes: Map<String, Value>) -> Answer {
    let mut headers = own.headers;
    let body = match own.body {
        Body::Bytes(bytes) => bytes,
        Body::Empty => Vec::new(),
        Body::Json(_) | Body::Outcomes => {
            if headers.get("content-type").is_none() {
                headers.push("content-type", "application/json");
            }
            let value = match own.body {
                Body::Json(value) => value,
                _ => document(ctx, outcomes),
            };
            value.to_string().into_bytes()
        }
    };
    Answer {
        status: own.status,
        headers,
        body,
    }
}

fn document(ctx: &Ctx, outcomes: Map<String, Value>) -> Value {
    let mut out = Map::new();
    out.insert("task_id".to_owned(), ctx.task_id().to_string().into());
    out.insert("steps".to_owned(), Value::Object(outcomes));
    Value::Object(out)
}
