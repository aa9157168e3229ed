//! The JSON Schema of flows, for editors. It is made from what the reader reads by; the reader alone sees what a schema
//! can't say: ids that are there twice, expressions, defaults of types.

use super::read::{
    About, COMMON, CONDITION, CONDITIONS, DEFAULT, FLOW, IDEMPOTENCY, INPUT, Kind, OUTPUT,
    PRECONDITION_FLOW, PRECONDITIONS, PropertySpec, RETRY, TRIGGER, TRIGGERS, tasks,
};
use crate::limits::MAX_SLEEP_MS;
use serde_json::{Map, Value, json};

const EXPRESSION: &str = r"\{[{%]";

/// JSON Schema 2020-12 of a flow.
///
/// ```
/// let schema = onceward::flow::schema::schema();
/// assert_eq!(schema["required"], serde_json::json!(["id", "namespace", "tasks"]));
/// assert!(schema["$defs"]["kv.Get"]["properties"]["key"].is_object());
/// ```
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let mut group = |name: &str, abouts: Vec<&About>, common: &[&[PropertySpec]]| {
        for about in &abouts {
            let parts: Vec<&[PropertySpec]> =
                common.iter().copied().chain([about.properties]).collect();
            let mut of_type = object(&parts);
            of_type["description"] = about.doc.into();
            definitions.insert(about.short().to_owned(), of_type);
        }
        definitions.insert(name.to_owned(), any_of_types(&abouts));
    };
    group("task", tasks().map(|spec| &spec.about).collect(), &[COMMON]);
    let triggers = TRIGGERS.iter().map(|spec| &spec.about).collect();
    group("trigger", triggers, &[TRIGGER]);
    let conditions = CONDITIONS.iter().map(|spec| &spec.about).collect();
    group("condition", conditions, &[CONDITION]);
    for (name, properties) in [
        ("input", INPUT),
        ("output", OUTPUT),
        ("retry", RETRY),
        ("default", DEFAULT),
        ("preconditions", PRECONDITIONS),
        ("preconditionFlow", PRECONDITION_FLOW),
        ("idempotency", IDEMPOTENCY),
    ] {
        definitions.insert(name.to_owned(), object(&[properties]));
    }
    let flows = &mut definitions["preconditions"]["properties"]["flows"];
    *flows = json!({
        "type": "array", "items": reference("preconditionFlow"), "minItems": 1, "maxItems": 1,
    });
    let mut schema = object(&[FLOW]);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "A flow of Onceward".into();
    schema["$defs"] = Value::Object(definitions);
    schema
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// An object whose `type` says which properties it has.
fn any_of_types(abouts: &[&About]) -> Value {
    let names = |about: &About| -> Vec<&'static str> {
        std::iter::once(about.name)
            .chain(about.aliases.iter().copied())
            .collect()
    };
    let all: Vec<&str> = abouts.iter().flat_map(|about| names(about)).collect();
    let branches = abouts.iter().map(|about| {
        json!({
            "if": { "properties": { "type": { "enum": names(about) } }, "required": ["type"] },
            "then": reference(about.short()),
        })
    });
    json!({
        "type": "object",
        "required": ["type"],
        "properties": { "type": { "enum": all } },
        "allOf": branches.collect::<Vec<_>>(),
    })
}

/// An object with these properties and no others.
fn object(parts: &[&[PropertySpec]]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut either = Vec::new();
    for spec in parts.iter().copied().flatten() {
        if matches!(spec.kind, Kind::Refused(_)) {
            continue;
        }
        let mut property = value(&spec.kind);
        property["description"] = spec.doc.into();
        properties.insert(spec.name.to_owned(), property.clone());
        property["deprecated"] = true.into();
        for old in spec.old {
            properties.insert((*old).to_owned(), property.clone());
        }
        if spec.required && spec.old.is_empty() {
            required.push(spec.name);
        } else if spec.required {
            let names = spec.old.iter().copied().chain([spec.name]);
            let names = names.map(|name| json!({ "required": [name] }));
            either.push(json!({ "anyOf": names.collect::<Vec<_>>() }));
        }
    }
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    if !either.is_empty() {
        object["allOf"] = json!(either);
    }
    object
}

fn array(item: &str, least: u8) -> Value {
    json!({ "type": "array", "items": reference(item), "minItems": least })
}

/// The same, or an expression.
fn or_expression(value: &Value) -> Value {
    json!({ "anyOf": [value, { "type": "string", "pattern": EXPRESSION }] })
}

fn value(kind: &Kind) -> Value {
    let text = || json!({ "type": ["string", "number", "boolean"] });
    let duration = || json!({ "type": "string", "pattern": "^ *[Pp]" });
    let labels = || {
        let pair = json!({
            "type": "object",
            "properties": { "key": {}, "value": {} },
            "required": ["key", "value"],
        });
        json!([{ "type": "object" }, { "type": "array", "items": pair }])
    };
    match kind {
        Kind::Any | Kind::Value | Kind::Ignored | Kind::Refused(_) => json!({}),
        Kind::Text | Kind::Truth | Kind::Expression | Kind::Plain | Kind::Prose => text(),
        Kind::Lines => json!({ "anyOf": [text(), { "type": "array", "items": text() }] }),
        Kind::Duration => or_expression(&duration()),
        Kind::Period => {
            let comment = format!("At most {MAX_SLEEP_MS} ms.");
            json!({ "type": "string", "pattern": "^ *[Pp]", "$comment": comment })
        }
        Kind::Whole => or_expression(&json!({ "type": "integer", "minimum": 0 })),
        Kind::Choice(words) => or_expression(&json!({ "enum": words })),
        Kind::Map => or_expression(&json!({ "type": "object" })),
        Kind::Items => json!({ "type": ["array", "string"] }),
        Kind::Labels => {
            let mut any = labels();
            if let Some(any) = any.as_array_mut() {
                any.push(json!({ "type": "string", "pattern": EXPRESSION }));
            }
            json!({ "anyOf": any })
        }
        Kind::LabelPairs => json!({ "anyOf": labels() }),
        Kind::Pairs | Kind::Variables => json!({ "type": "object" }),
        Kind::Flag => json!({ "enum": [true, false, "true", "false"] }),
        Kind::Count(least, most) => {
            json!({ "type": ["integer", "string"], "minimum": least, "maximum": most })
        }
        Kind::Factor => json!({ "type": ["number", "string"], "minimum": 1 }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Words(words) => {
            let word = json!({ "enum": words });
            json!({ "anyOf": [word, { "type": "array", "items": word }] })
        }
        Kind::Name(naming) => {
            let pattern = format!("^{}$", naming.pattern());
            json!({ "type": ["string", "integer"], "pattern": pattern })
        }
        Kind::Cron | Kind::Zone | Kind::Pattern => json!({ "type": "string" }),
        Kind::Values => json!({ "type": "array" }),
        Kind::Tasks => array("task", 1),
        Kind::MoreTasks => array("task", 0),
        Kind::Cases => json!({ "type": "object", "additionalProperties": array("task", 0) }),
        Kind::Undo => reference("task"),
        Kind::Triggers => array("trigger", 0),
        Kind::Conditions => array("condition", 0),
        Kind::Inputs => array("input", 0),
        Kind::Outputs => array("output", 0),
        Kind::Defaults => array("default", 0),
        Kind::Retry => reference("retry"),
        Kind::Preconditions => reference("preconditions"),
        Kind::Idempotency => {
            let words = json!({ "enum": [true, false, "on", "off"] });
            json!({ "anyOf": [words, reference("idempotency")] })
        }
        Kind::Object(specs) => object(&[specs]),
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
