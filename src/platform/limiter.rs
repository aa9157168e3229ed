//! The platform's rate limiters: `[[ratelimits]]` in wrangler.toml.

use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use worker::Env;
use worker::wasm_bindgen_futures::JsFuture;

/// Asks a limiter. Called by name and not through workers-rs, whose check of the binding's class holds on the
/// platform but not on every local engine.
pub(super) async fn admits(env: Env, limiter: String, key: String) -> Result<bool, String> {
    let text = |error: JsValue| format!("{error:?}");
    let binding = Reflect::get(&env, &limiter.as_str().into()).map_err(text)?;
    if !binding.is_object() {
        return Err(format!("no rate limiter is bound as {limiter}"));
    }
    let limit: Function = Reflect::get(&binding, &"limit".into())
        .map_err(text)?
        .dyn_into()
        .map_err(|_| format!("{limiter} is no rate limiter"))?;
    let options = Object::new();
    Reflect::set(&options, &"key".into(), &key.into()).map_err(text)?;
    let asked: Promise = limit
        .call1(&binding, &options)
        .map_err(text)?
        .dyn_into()
        .map_err(|_| format!("{limiter} is no rate limiter"))?;
    let outcome = JsFuture::from(asked).await.map_err(text)?;
    let success = Reflect::get(&outcome, &"success".into()).map_err(text)?;
    success
        .as_bool()
        .ok_or_else(|| format!("{limiter} gave no verdict"))
}
