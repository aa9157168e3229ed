//! Inputs and outputs.

use super::fields::{Fields, inside};
use super::reader::{Reader, scalar};
use super::spec::{Kind, Naming, PropertySpec, ignored, may, need, refused};
use crate::flow::diagnostic::Position;
use crate::flow::formats;
use crate::flow::model::{Input, InputType, Output, Property};
use crate::flow::yaml::Node;
use serde_json::Value;
use std::collections::HashMap;

/// Names of types, with what they are; older names come after the newer ones.
pub const TYPES: &[(&str, InputType)] = &[
    ("STRING", InputType::String),
    ("INT", InputType::Int),
    ("FLOAT", InputType::Float),
    ("BOOL", InputType::Bool),
    ("BOOLEAN", InputType::Bool),
    ("SELECT", InputType::Select),
    ("ENUM", InputType::Select),
    ("MULTISELECT", InputType::MultiSelect),
    ("DATETIME", InputType::Datetime),
    ("DATE", InputType::Date),
    ("TIME", InputType::Time),
    ("DURATION", InputType::Duration),
    ("JSON", InputType::Json),
    ("YAML", InputType::Yaml),
    ("URI", InputType::Uri),
    ("EMAIL", InputType::Email),
    ("ARRAY", InputType::Array),
    ("SECRET", InputType::Secret),
];

const NAMES: &[&str] = &[
    "STRING",
    "INT",
    "FLOAT",
    "BOOL",
    "BOOLEAN",
    "SELECT",
    "ENUM",
    "MULTISELECT",
    "DATETIME",
    "DATE",
    "TIME",
    "DURATION",
    "JSON",
    "YAML",
    "URI",
    "EMAIL",
    "ARRAY",
    "SECRET",
];

/// Properties of an input.
pub const INPUT: &[PropertySpec] = &[
    need("id", Kind::Name(Naming::Input), "Its name.").or(&["name"]),
    need("type", Kind::Word(NAMES), "Its type."),
    may(
        "itemType",
        Kind::Word(NAMES),
        "Type of the items of an `ARRAY`.",
    ),
    may(
        "required",
        Kind::Flag,
        "Whether it must be given, if it has no default; true if there is none.",
    ),
    may("defaults", Kind::Any, "What it is if it is not given.").or(&["default"]),
    may(
        "values",
        Kind::Values,
        "Values of a `SELECT` or `MULTISELECT`.",
    )
    .or(&["options"]),
    may(
        "allowCustomValue",
        Kind::Flag,
        "Whether a `SELECT` takes other values too.",
    ),
    may("min", Kind::Value, "The smallest.").or(&["after"]),
    may("max", Kind::Value, "The largest.").or(&["before"]),
    may(
        "validator",
        Kind::Pattern,
        "A regular expression that a `STRING` has to match as a whole.",
    ),
    may("description", Kind::Prose, "What it is for."),
    ignored("displayName"),
    ignored("prefill"),
    ignored("autoSelectFirst"),
    refused(
        "dependsOn",
        "all inputs are there when an execution begins.",
    ),
    refused("expression", "write the `values` down."),
    refused("accept", "there are no files."),
];

/// Properties of an output.
pub const OUTPUT: &[PropertySpec] = &[
    need("id", Kind::Name(Naming::Input), "Its name."),
    may("type", Kind::Word(NAMES), "Its type."),
    may(
        "itemType",
        Kind::Word(NAMES),
        "Type of the items of an `ARRAY`.",
    ),
    need("value", Kind::Any, "What it is."),
    ignored("description"),
    ignored("displayName"),
    ignored("required"),
];

fn type_named(name: &str) -> Option<InputType> {
    let found = TYPES.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind)
}

impl Reader<'_> {
    /// A list of inputs.
    pub(super) fn inputs(&mut self, node: &Node, path: &str) -> Option<Vec<Input>> {
        let items = self.list(node, path)?;
        let mut inputs = Vec::with_capacity(items.len());
        let mut ids = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let input = self.input(item, &path, &mut ids);
            if input.is_none()
                && let Some(id) = item.get("id").and_then(scalar)
            {
                self.other_inputs.push(id.text.clone());
            }
            inputs.extend(input);
        }
        Some(inputs)
    }

    /// Looks whether an id is there once in its list.
    fn once(&mut self, fields: &Fields, id: &str, ids: &mut HashMap<String, Position>) {
        let at = fields.at_of("id");
        if let Some(first) = ids.get(id) {
            let detail = format!("The id `{id}` is there already, in line {}.", first.line);
            self.problem(at, &fields.path_of("id"), detail);
        } else {
            ids.insert(id.to_owned(), at);
        }
    }

    fn input(
        &mut self,
        node: &Node,
        path: &str,
        ids: &mut HashMap<String, Position>,
    ) -> Option<Input> {
        let entries = self.map(node, path)?;
        if let Some(written) = node.get("type").filter(|written| is_file(written)) {
            let detail =
                "Inputs of the type `FILE` are not supported: there are no files at the edge.";
            self.problem(written.at, &inside(path, "type"), detail);
            return None;
        }
        let mut fields = self.fields(entries, node.at, path, "an input", &[INPUT]);
        let (default_at, default_path) = (fields.at_of("defaults"), fields.path_of("defaults"));
        let at_id = fields.at_of("id");
        let id = fields.text("id");
        if let Some(id) = &id {
            fields.at = at_id;
            self.once(&fields, id, ids);
            fields.at = node.at;
        }
        let kind = type_named(&fields.text("type")?)?;
        let select = matches!(kind, InputType::Select | InputType::MultiSelect);
        self.belongs(
            &fields,
            "values",
            select,
            select,
            "a `SELECT` or `MULTISELECT`",
        );
        self.belongs(&fields, "allowCustomValue", select, false, "a `SELECT`");
        let array = kind == InputType::Array;
        self.belongs(&fields, "itemType", array, array, "an `ARRAY`");
        let text = matches!(kind, InputType::String | InputType::Secret);
        self.belongs(&fields, "validator", text, false, "a `STRING`");
        let item_kind = fields.text("itemType").as_deref().and_then(type_named);
        let input = Input {
            id: id?,
            kind,
            item_kind,
            required: fields.flag("required").unwrap_or(true),
            defaults: fields.property("defaults"),
            values: fields.values("values").unwrap_or_default(),
            allow_custom_value: fields.flag("allowCustomValue").unwrap_or(false),
            min: fields.value("min"),
            max: fields.value("max"),
            validator: fields.text("validator"),
            description: fields.text("description"),
        };
        if let Some(Property::Literal(default)) = &input.defaults
            && let Some(wanted) = unfit_default(&input, default)
        {
            let detail = format!("The default `{default}` does not fit; {wanted} is wanted.");
            self.problem(default_at, &default_path, detail);
        }
        Some(input)
    }

    /// A property that only some types have, and that these may need.
    fn belongs(&mut self, fields: &Fields, name: &str, has: bool, needs: bool, whose: &str) {
        let path = fields.path_of(name);
        if fields.has(name) && !has {
            let detail = format!("Only {whose} has this.");
            self.problem(fields.at_of(name), &path, detail);
        } else if needs && !fields.wrote(name) && !fields.wrote("expression") {
            let detail = format!("`{name}` is missing; {whose} needs it.");
            self.problem(fields.at, &fields.path, detail);
        }
    }

    /// A list of outputs.
    pub(super) fn outputs(&mut self, node: &Node, path: &str) -> Option<Vec<Output>> {
        let items = self.list(node, path)?;
        let mut outputs = Vec::with_capacity(items.len());
        let mut ids = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let Some(entries) = self.map(item, &path) else {
                continue;
            };
            let mut fields = self.fields(entries, item.at, &path, "an output", &[OUTPUT]);
            let at = fields.at_of("id");
            let Some(id) = fields.text("id") else {
                continue;
            };
            fields.at = at;
            self.once(&fields, &id, &mut ids);
            outputs.push(Output {
                id,
                kind: fields.text("type").as_deref().and_then(type_named),
                item_kind: fields.text("itemType").as_deref().and_then(type_named),
                value: fields.needed("value"),
            });
        }
        Some(outputs)
    }
}

fn is_file(node: &Node) -> bool {
    scalar(node).is_some_and(|scalar| scalar.text.eq_ignore_ascii_case("FILE"))
}

/// What is wanted instead of a default, if it can't be one.
fn unfit_default(input: &Input, default: &Value) -> Option<&'static str> {
    let text = match default {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if default.is_null() {
        return None;
    }
    let (fits, wanted) = match input.kind {
        InputType::Int => (text.trim().parse::<i64>().is_ok(), "a whole number"),
        InputType::Float => (text.trim().parse::<f64>().is_ok(), "a number"),
        InputType::Bool => {
            let text = text.trim().to_ascii_lowercase();
            (text.parse::<bool>().is_ok(), "`true` or `false`")
        }
        InputType::Select => (
            input.allow_custom_value || input.values.contains(default),
            "one of `values`",
        ),
        InputType::MultiSelect => (
            default
                .as_array()
                .is_none_or(|items| items.iter().all(|item| input.values.contains(item))),
            "a list of `values`",
        ),
        InputType::Duration => (formats::duration_ms(&text).is_ok(), "an ISO 8601 duration"),
        InputType::Array => (
            default.is_array() || text.trim_start().starts_with('['),
            "a list",
        ),
        InputType::String | InputType::Secret => {
            (!default.is_array() && !default.is_object(), "a text")
        }
        _ => (true, ""),
    };
    (!fits).then_some(wanted)
}
