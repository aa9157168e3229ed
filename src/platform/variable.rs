//! Variables of the deployment that hold more than a text.

use js_sys::{JSON, Reflect};
use serde_json::Value;
use worker::Env;

/// Name of the variable that declares sources.
pub const SOURCES: &str = "ONCEWARD_SOURCES";
/// The variable that declares gateways.
pub const GATEWAYS: &str = "ONCEWARD_GATEWAYS";
/// The variable that declares API tokens.
pub const TOKENS: &str = "ONCEWARD_TOKENS";

/// The variable that declares endpoints of notifications.
pub const NOTIFY: &str = "ONCEWARD_NOTIFY";

/// A variable as JSON: a table of `wrangler.toml`, or a text that holds JSON. A text that holds none comes back
/// as the text, so that whoever reads it can say what was wanted. `None` if it is not set.
pub fn variable(env: &Env, name: &str) -> Option<Value> {
    let value = Reflect::get(env, &name.into()).ok()?;
    if value.is_undefined() || value.is_null() {
        return None;
    }
    let text = match value.as_string() {
        Some(text) => text,
        None => JSON::stringify(&value).ok()?.as_string()?,
    };
    Some(serde_json::from_str(&text).unwrap_or(Value::String(text)))
}
