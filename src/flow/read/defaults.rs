//! `pluginDefaults`: properties that tasks and triggers of a type have if they don't say otherwise.

use super::fields::inside;
use super::reader::Reader;
use super::spec::{About, Kind, PropertySpec, find, may, need};
use super::types;
use crate::flow::diagnostic::Position;
use crate::flow::yaml::{Entry, Kind as Yaml, Node};
use crate::limits::MAX_FLOW_NODES;

/// Properties of one default.
pub const DEFAULT: &[PropertySpec] = &[
    need(
        "type",
        Kind::Plain,
        "A type, or the beginning of several up to a dot.",
    ),
    may("values", Kind::Variables, "Its properties."),
    may(
        "forced",
        Kind::Flag,
        "Whether they come before those of the task.",
    ),
];

/// One default.
pub struct PluginDefault {
    type_name: String,
    forced: bool,
    values: Vec<Entry>,
}

impl PluginDefault {
    fn fits(&self, type_name: &str) -> bool {
        let rest = type_name.strip_prefix(self.type_name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

fn all() -> impl Iterator<Item = &'static About> {
    let tasks = types::tasks().map(|spec| &spec.about);
    tasks.chain(types::TRIGGERS.iter().map(|spec| &spec.about))
}

fn canonical(name: &str) -> Option<&'static str> {
    let task = find(types::tasks(), name).map(|spec| spec.about.name);
    task.or_else(|| find(types::TRIGGERS.iter(), name).map(|spec| spec.about.name))
}

/// Reads the defaults of a flow.
pub fn read(reader: &mut Reader<'_>, node: &Node, path: &str) {
    let Some(items) = reader.list(node, path) else {
        return;
    };
    for (index, item) in items.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Some(entries) = reader.map(item, &path) else {
            continue;
        };
        let whose = "a default of a type";
        let mut fields = reader.fields(entries, item.at, &path, whose, &[DEFAULT]);
        let Some(written) = fields.text("type") else {
            continue;
        };
        let exact = canonical(&written);
        let beginning = format!("{written}.");
        if exact.is_none() && !all().any(|about| about.name.starts_with(&beginning)) {
            reader.unknown_type(item, &path, &written, "task or trigger", all());
            continue;
        }
        let values = match item.get("values").map(|values| &values.kind) {
            Some(Yaml::Map(values)) => values.clone(),
            _ => Vec::new(),
        };
        for own in values
            .iter()
            .filter(|own| matches!(own.key.as_str(), "id" | "type"))
        {
            let path = inside(&inside(&path, "values"), &own.key);
            reader.problem(own.at, &path, "This can't have a default.");
        }
        reader.defaults.push(PluginDefault {
            type_name: exact.map_or(written, ToOwned::to_owned),
            forced: fields.flag("forced").unwrap_or(false),
            values,
        });
    }
}

/// The properties of a task together with its defaults; `None` if it has none.
pub fn apply(
    reader: &mut Reader<'_>,
    type_name: &str,
    own: &[Entry],
    at: Position,
    path: &str,
) -> Option<Vec<Entry>> {
    let fitting = || {
        reader
            .defaults
            .iter()
            .filter(|default| default.fits(type_name))
    };
    let added: usize = fitting()
        .flat_map(|default| &default.values)
        .map(|entry| entry.value.count())
        .sum();
    if added == 0 {
        return None;
    }
    if reader.added + added > MAX_FLOW_NODES {
        if reader.added <= MAX_FLOW_NODES {
            let detail =
                format!("With its defaults the flow has more than {MAX_FLOW_NODES} values.");
            reader.added = MAX_FLOW_NODES + 1;
            reader.problem(at, path, detail);
        }
        return None;
    }
    let mut merged = own.to_vec();
    // The first one of a file wins, whether they are forced or not.
    for default in fitting().filter(|default| !default.forced) {
        merge(&mut merged, &default.values, false);
    }
    for default in fitting().filter(|default| default.forced).rev() {
        merge(&mut merged, &default.values, true);
    }
    reader.added += added;
    Some(merged)
}

/// Puts values in: those that are there stay, unless it is forced. Maps are put together.
fn merge(into: &mut Vec<Entry>, values: &[Entry], forced: bool) {
    for value in values
        .iter()
        .filter(|value| !matches!(value.key.as_str(), "id" | "type"))
    {
        let Some(there) = into.iter_mut().find(|entry| entry.key == value.key) else {
            into.push(value.clone());
            continue;
        };
        match (&mut there.value.kind, &value.value.kind) {
            (Yaml::Map(own), Yaml::Map(more)) => merge(own, more, forced),
            _ if forced => *there = value.clone(),
            _ => {}
        }
    }
}
