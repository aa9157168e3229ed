//! Sends statements to D1.

use super::clock;
use super::probe::{self, D1Fault};
use crate::limits;
use crate::runtime::Rows;
use crate::store::d1::{Statement, Value};
use crate::types::Database;
use futures::channel::oneshot;
use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use worker::wasm_bindgen_futures::spawn_local;
use worker::{D1Result, Env};

/// Sends statements as one transaction. The error is the text that D1 gave.
///
/// A failure says nothing about whether they were applied.
pub(super) async fn batch(
    env: Env,
    database: Database,
    statements: Vec<Statement>,
) -> Result<Vec<Rows>, String> {
    match probe::d1_fault() {
        None => send(&env, database, &statements).await,
        Some(D1Fault::Fail) => Err("D1_ERROR: lab fault".into()),
        Some(D1Fault::ApplyThenFail) => {
            send(&env, database, &statements).await?;
            Err("D1_ERROR: lab fault after it was applied".into())
        }
        Some(D1Fault::Stall { ms }) => stalled(env, database, statements, ms).await,
    }
}

/// A write that is on its way arrives, however late, also when nobody waits for it any more.
async fn stalled(
    env: Env,
    database: Database,
    statements: Vec<Statement>,
    ms: u64,
) -> Result<Vec<Rows>, String> {
    let (done, sent) = oneshot::channel();
    spawn_local(async move {
        clock::sleep(ms).await;
        // Whoever sent it may have given up.
        let _ = done.send(send(&env, database, &statements).await);
    });
    sent.await
        .unwrap_or_else(|_| Err("D1_ERROR: lab fault".into()))
}

/// How many databases are bound: `DB`, `DB_1` and so on without a gap.
pub(super) fn databases(env: &Env) -> u16 {
    let bound = (1..limits::MAX_DATABASES).take_while(|n| env.d1(&Database(*n).binding()).is_ok());
    1 + u16::try_from(bound.count()).unwrap_or(0)
}

async fn send(
    env: &Env,
    database: Database,
    statements: &[Statement],
) -> Result<Vec<Rows>, String> {
    let binding = database.binding();
    let db = env
        .d1(&binding)
        .map_err(|e| format!("no database is bound as {binding}: {e}"))?;
    let mut prepared = Vec::with_capacity(statements.len());
    for statement in statements {
        let values: Vec<JsValue> = statement.values.iter().map(js_value).collect();
        let bound = db.prepare(statement.sql).bind(&values);
        prepared.push(bound.map_err(|e| e.to_string())?);
    }
    probe::count("d1_statements", statements.len() as u64);
    let results = db.batch(prepared).await.map_err(|e| e.to_string())?;
    results.iter().map(rows).collect()
}

fn rows(result: &D1Result) -> Result<Rows, String> {
    if let Some(error) = result.error() {
        return Err(error);
    }
    let meta = result.meta().ok().flatten();
    let written = meta.as_ref().and_then(|m| m.rows_written).unwrap_or(0) as u64;
    probe::count("d1_rows", written);
    Ok(Rows {
        rows: result.results().map_err(|e| e.to_string())?,
        changes: meta.and_then(|m| m.changes).unwrap_or(0) as u64,
        written,
    })
}

#[allow(clippy::cast_precision_loss)] // times and counts stay below 2^53
fn js_value(value: &Value) -> JsValue {
    match value {
        Value::Null => JsValue::NULL,
        Value::Int(n) => JsValue::from_f64(*n as f64),
        Value::Text(text) => JsValue::from_str(text),
        Value::Blob(bytes) => Uint8Array::from(bytes.as_slice()).into(),
    }
}
