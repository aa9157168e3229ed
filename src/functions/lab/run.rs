//! Runs a program.

use super::program::{Body, Call, OwnAnswer, Program, Step};
use crate::function::{Answer, Ctx, Failure, Fetched, Raw};
use serde_json::{Map, Value};
use std::hint::black_box;
use std::rc::Rc;

/// Rounds of work between two looks at the clock, some 50 µs.
const ROUNDS: u32 = 20_000;
/// Such groups of rounds per millisecond, for a clock that stands still while nothing is awaited.
const GROUPS_PER_MS: u64 = 20;

pub(super) async fn run(ctx: Ctx, program: Program) -> Result<Raw, Failure> {
    let mut outcomes = Map::new();
    for step in program.steps {
        match step {
            Step::Call(call) => {
                let name = call.name.clone();
                outcomes.insert(name, shown(send(&ctx, *call).await?));
            }
            Step::Value { name, value } => {
                let recorded = ctx.step(&name, move || {
                    let value = Rc::clone(&value);
                    async move { Ok(Value::clone(&value)) }
                });
                let recorded: Value = recorded.await?;
                outcomes.insert(name, recorded);
            }
            Step::Wait { ms } => ctx.pause(ms).await,
            Step::Burn { ms } => {
                ctx.settled().await;
                burn(&ctx, ms);
            }
            Step::Fail(failure) => {
                ctx.settled().await;
                return Err(failure);
            }
            Step::Panic => {
                ctx.settled().await;
                panic!("lab panic");
            }
            other => {
                let text = format!("{other:?} does not run yet");
                return Err(Failure::terminal("lab_unfinished", text));
            }
        }
    }
    Ok(Raw(answer(&ctx, program.answer, outcomes)))
}

async fn send(ctx: &Ctx, call: Call) -> Result<Fetched, Failure> {
    let accept = call.accept;
    let mut fetch = ctx
        .fetch(&call.name, call.request)
        .retry(call.retry)
        .accept(move |status| accept.takes(status));
    if let Some(timeout_ms) = call.timeout_ms {
        fetch = fetch.timeout_ms(timeout_ms);
    }
    fetch.await
}

fn shown(fetched: Fetched) -> Value {
    let mut out = Map::new();
    out.insert("status".to_owned(), fetched.status.into());
    out.insert("headers".to_owned(), Value::Object(fetched.headers));
    out.insert("body".to_owned(), fetched.body);
    Value::Object(out)
}

/// Keeps the processor busy. On the platform the clock stands still meanwhile: then a number of
/// rounds has to do, about as many as take that long.
fn burn(ctx: &Ctx, ms: u64) {
    let began = ctx.clock_ms();
    let most = ms.saturating_mul(GROUPS_PER_MS);
    let mut groups = 0;
    let mut state = 0x9e37_79b9_u32;
    loop {
        let passed = ctx.clock_ms().saturating_sub(began);
        let stands_still = passed == 0 && groups >= most;
        if passed >= ms || stands_still {
            return;
        }
        for _ in 0..ROUNDS {
            state = black_box(state.rotate_left(5).wrapping_mul(0x0100_0193) ^ 0x5a5a);
        }
        groups += 1;
    }
}

fn answer(ctx: &Ctx, own: OwnAnswer, outcomes: Map<String, Value>) -> Answer {
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
