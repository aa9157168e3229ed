//! Messages to an object, re-sent with the same content until a reply comes or time is up.

use super::clock;
use super::probe;
use crate::http::object_call::{Ask, Call, Frame, Reply, Told};
use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::JsValue;
use worker::{Env, Method, Request, RequestInit};

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoReply {
    /// The object has too much to do; not to be asked again at once.
    Overloaded,
    /// Nothing came back in time.
    Unreachable(String),
}

/// First wait before a re-send; doubled up to a second.
const FIRST_WAIT_MS: u64 = 25;
/// Longest wait before a re-send, and the one after an overload.
const LONGEST_WAIT_MS: u64 = 1_000;

/// Asks an object. Each try has a fresh stub, since one that has failed once fails for ever.
pub(super) async fn ask(env: &Env, call: &Call, until_ms: u64) -> Result<Reply, NoReply> {
    let bytes = call.to_frame().encode();
    let mut wait_ms = FIRST_WAIT_MS;
    loop {
        let left = until_ms.saturating_sub(clock::now_ms()).max(1);
        let failed = match clock::within(left, once(env, call, &bytes)).await {
            Some(Ok(_)) if probe::loses_reply(call.ask.name()) => {
                NoReply::Unreachable("lost by the fault switch".into())
            }
            Some(Ok(reply)) => match &reply.told {
                // What a slice has to say is worth a second try; a sender rather hears of it at once.
                Told::Unavailable(why) if is_slices(&call.ask) => NoReply::Unreachable(why.clone()),
                _ => return Ok(reply),
            },
            Some(Err(error)) if flag(&error, "overloaded") => {
                wait_ms = LONGEST_WAIT_MS;
                NoReply::Overloaded
            }
            Some(Err(error)) => NoReply::Unreachable(error.to_string()),
            None => NoReply::Unreachable("no reply in time".into()),
        };
        let hopeless = failed == NoReply::Overloaded && !is_slices(&call.ask);
        if hopeless || clock::now_ms() + wait_ms >= until_ms {
            return Err(failed);
        }
        clock::sleep(wait_ms).await;
        wait_ms = (wait_ms * 2).min(LONGEST_WAIT_MS);
    }
}

/// Messages of a slice about its own work, which is lost if they are not heard.
fn is_slices(ask: &Ask) -> bool {
    match ask {
        Ask::Record(_) | Ask::Suspend(_) | Ask::Finish(_) | Ask::Journal { .. } => true,
        Ask::Begin { .. }
        | Ask::Claim(_)
        | Ask::Look { .. }
        | Ask::Signal(_)
        | Ask::Cancel { .. }
        | Ask::Abandon { .. }
        | Ask::Retry { .. }
        | Ask::Undo { .. }
        | Ask::Delete
        | Ask::Poke => false,
    }
}

async fn once(env: &Env, call: &Call, bytes: &[u8]) -> worker::Result<Reply> {
    let stub = env
        .durable_object("TASKS")?
        .get_by_name(&call.task_id.to_string())?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post)
        .with_body(Some(Uint8Array::from(bytes).into()));
    let url = format!("https://object/{}", call.ask.name());
    let request = Request::new_with_init(&url, &init)?;
    let mut response = stub.fetch_with_request(request).await?;
    let bytes = response.bytes().await?;
    if response.status_code() != 200 {
        return Err(worker::Error::RustError(format!(
            "object answered {}",
            response.status_code()
        )));
    }
    Frame::decode(&bytes)
        .ok_or_else(|| "cut off".to_owned())
        .and_then(Reply::from_frame)
        .map_err(worker::Error::RustError)
}

/// A flag that the platform sets on errors of stubs.
fn flag(error: &worker::Error, name: &str) -> bool {
    let value: JsValue = error.to_js_value();
    Reflect::get(&value, &name.into()).is_ok_and(|v| v.is_truthy())
}
