//! One JSON line per thing worth knowing. No payload, key, token or signature ever gets here.

use serde_json::{Value, json};
use worker::{console_error, console_log};

/// Something that operators want to see.
pub(super) fn info(event: &str, mut fields: Value) {
    name(event, &mut fields);
    console_log!("{fields}");
}

/// Something that should not have happened.
pub(super) fn error(event: &str, mut fields: Value) {
    name(event, &mut fields);
    console_error!("{fields}");
}

fn name(event: &str, fields: &mut Value) {
    if let Value::Object(map) = fields {
        map.insert("event".into(), json!(event));
    }
}
