//! Puts the document together.

use super::{many, paths, shapes};
use crate::config::METHODS;
use crate::http::auth::Scope;
use crate::http::route::{Entry, ROUTES};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The document, from the table of routes as it is deployed.
///
/// # Errors
/// Routes that nobody has described.
pub fn document() -> Result<Value, Vec<String>> {
    let mut all: Map<String, Value> = Map::new();
    let (mut missing, mut problems) = (Vec::new(), BTreeMap::new());
    for entry in deployed() {
        for method in methods(entry) {
            // Described anew for each, since an operation is used up.
            let Some(operation) = paths::operation(entry) else {
                missing.push(format!("{method} {}", entry.pattern));
                continue;
            };
            let path = address(entry.pattern);
            let item = all.entry(path).or_insert_with(|| json!({}));
            item[method.to_ascii_lowercase()] = operation.document(entry, method, &mut problems);
        }
    }
    if !missing.is_empty() {
        return Err(missing);
    }
    Ok(json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Onceward",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": env!("CARGO_PKG_DESCRIPTION"),
            "description": "Errors are problem documents (RFC 9457). 503 is always safe to send again. GET stands for HEAD as well.",
            "license": { "name": "MIT", "identifier": "MIT" },
        },
        "servers": [{ "url": "/" }],
        "paths": all,
        "components": {
            "securitySchemes": security_schemes(),
            "parameters": parameters(),
            "responses": problems,
            "schemas": shapes::all(),
        },
    }))
}

/// The routes of the deployed Worker; a lab build has a few more.
pub fn deployed() -> impl Iterator<Item = &'static Entry> {
    let all = ROUTES.iter();
    all.filter(|entry| !entry.pattern.starts_with("/lab/"))
}

/// The methods of a route that the document names: `HEAD` goes with `GET`.
pub fn methods(entry: &Entry) -> Vec<&'static str> {
    match entry.method {
        "*" => METHODS.iter().copied().filter(|m| *m != "HEAD").collect(),
        one => vec![one],
    }
}

/// A pattern as the document writes it.
pub fn address(pattern: &str) -> String {
    pattern.replace("*}", "}")
}

fn security_schemes() -> Value {
    let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    json!({
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": format!("An API token with the right that the operation names: {}.", scopes.join(", ")),
        },
        "oneTime": {
            "type": "apiKey",
            "in": "query",
            "name": "token",
            "description": "The token of a one-time address, which is good for one signal.",
        },
    })
}

fn parameters() -> Value {
    let key = json!({
        "type": "string", "minLength": 1, "maxLength": 257,
        "pattern": "^([!#-~]{1,255}|\"([!#-\\[\\]-~]|\\\\[\\\\\"]){1,255}\")$",
    });
    let header = |name: &str, required: bool, description: &str, schema: &Value| json!({ "name": name, "in": "header", "required": required, "description": description, "schema": schema });
    let about = "1 to 255 visible ASCII characters, bare or as a quoted string.";
    let mut all = json!({
        "Key": header("Idempotency-Key", true, about, &key),
        "OptionalKey": header("Idempotency-Key", false, about, &key),
        "Prefer": header(
            "Prefer", false, "respond-async, wait=N, return=minimal, handling=strict (RFC 7240). What is not known is passed over.",
            &json!({ "type": "string" }),
        ),
        "IfNoneMatch": header("If-None-Match", false, "An ETag: 304 if the document is still that one.", &json!({ "type": "string" })),
    });
    let revision = json!({ "type": "string", "pattern": "^(\\*|\"[0-9]+\")" });
    all["IfMatch"] = header(
        "If-Match",
        false,
        "Only if the flow has this revision, as its ETag says it: 412 otherwise.",
        &revision,
    );
    for (name, parameter) in many::filters() {
        all[name] = parameter;
    }
    all
}
