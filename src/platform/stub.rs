//! One message to an object.

use super::probe;
use crate::http::object_call::{Call, Frame, Reply};
use crate::runtime::{Broken, Later};
use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::JsValue;
use worker::{Env, Method, Request, RequestInit};

/// Sends a message. Each try has a fresh stub, since one that has failed once fails for ever.
pub(super) fn send(env: Env, call: &Call) -> Later<Result<Reply, Broken>> {
    let (name, object) = (call.ask.name(), call.task_id.to_string());
    let bytes = call.to_frame().encode();
    Box::pin(async move {
        match once(&env, &object, name, &bytes).await {
            Ok(_) if probe::loses_reply(name) => {
                Err(Broken::Failed("lost by the fault switch".into()))
            }
            Ok(reply) => Ok(reply),
            Err(error) if flag(&error, "overloaded") => Err(Broken::Overloaded),
            Err(error) => Err(Broken::Failed(error.to_string())),
        }
    })
}

async fn once(env: &Env, object: &str, name: &str, bytes: &[u8]) -> worker::Result<Reply> {
    let stub = env.durable_object("TASKS")?.get_by_name(object)?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post)
        .with_body(Some(Uint8Array::from(bytes).into()));
    let url = format!("https://object/{name}");
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
