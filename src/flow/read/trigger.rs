//! Triggers and conditions, of whatever type.

use super::fields::inside;
use super::reader::{Reader, scalar};
use super::spec::find;
use super::{defaults, types};
use crate::flow::model::{Condition, Idempotency, Trigger};
use crate::flow::yaml::{Entry, Node};
use serde_json::Value;
use std::collections::HashMap;

impl Reader<'_> {
    /// A list of triggers.
    pub(super) fn triggers(&mut self, node: &Node, path: &str) -> Option<Vec<Trigger>> {
        let items = self.list(node, path)?;
        let mut ids = HashMap::new();
        let mut triggers = Vec::with_capacity(items.len());
        self.in_trigger = true;
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            if let Some(id) = item.get("id").filter(|id| scalar(id).is_some()) {
                let name = id.to_value().to_string();
                if let Some(first) = ids.insert(name, id.at) {
                    let detail = format!("The id is there already, in line {}.", first.line);
                    self.problem(id.at, &inside(&path, "id"), detail);
                }
            }
            triggers.extend(self.trigger(item, &path));
        }
        self.in_trigger = false;
        Some(triggers)
    }

    fn trigger(&mut self, node: &Node, path: &str) -> Option<Trigger> {
        let written = self.map(node, path)?;
        let type_name = self.type_of(node, path)?;
        let Some(spec) = find(types::TRIGGERS.iter(), &type_name) else {
            let abouts = types::TRIGGERS.iter().map(|spec| &spec.about);
            self.unknown_type(node, path, &type_name, "trigger", abouts);
            return None;
        };
        let merged = defaults::apply(self, spec.about.name, written, node.at, path);
        let entries: &[Entry] = merged.as_deref().unwrap_or(written);
        let whose = format!("`{}`", spec.about.short());
        let specs = [types::TRIGGER, spec.about.properties];
        let mut fields = self.fields(entries, node.at, path, &whose, &specs);
        Some((spec.build)(&mut fields, self))
    }

    /// A list of conditions.
    pub(super) fn conditions(&mut self, node: &Node, path: &str) -> Option<Vec<Condition>> {
        let items = self.list(node, path)?.iter().enumerate();
        let read = items.map(|(index, item)| self.condition(item, &format!("{path}[{index}]")));
        Some(read.collect::<Vec<_>>().into_iter().flatten().collect())
    }

    fn condition(&mut self, node: &Node, path: &str) -> Option<Condition> {
        let entries = self.map(node, path)?;
        let type_name = self.type_of(node, path)?;
        let Some(spec) = find(types::CONDITIONS.iter(), &type_name) else {
            let abouts = types::CONDITIONS.iter().map(|spec| &spec.about);
            self.unknown_type(node, path, &type_name, "condition", abouts);
            return None;
        };
        let whose = format!("`{}`", spec.about.short());
        let specs = [types::CONDITION, spec.about.properties];
        let mut fields = self.fields(entries, node.at, path, &whose, &specs);
        (spec.build)(&mut fields, self)
    }

    /// `preconditions`: one flow, as conditions.
    pub(super) fn preconditions(&mut self, node: &Node, path: &str) -> Option<Vec<Condition>> {
        let entries = self.map(node, path)?;
        let whose = "`preconditions`";
        self.fields(entries, node.at, path, whose, &[types::PRECONDITIONS]);
        let written = node.get("flows")?;
        let path = inside(path, "flows");
        let [flow] = self.list(written, &path)? else {
            let detail = "One flow is wanted; write a trigger for each flow that begins this one.";
            self.problem(written.at, &path, detail);
            return None;
        };
        let path = format!("{path}[0]");
        let entries = self.map(flow, &path)?;
        let whose = "a flow of `preconditions`";
        let specs = [types::PRECONDITION_FLOW];
        let mut fields = self.fields(entries, flow.at, &path, whose, &specs);
        let namespace = fields.text("namespace")?;
        let mut conditions = vec![match fields.text("flowId") {
            Some(flow_id) => Condition::ExecutionFlow { namespace, flow_id },
            None => Condition::ExecutionNamespace {
                namespace,
                prefix: false,
            },
        }];
        conditions.extend(
            fields
                .texts("states")
                .map(|within| Condition::ExecutionStatus {
                    within,
                    not_in: Vec::new(),
                }),
        );
        Some(conditions)
    }

    /// `idempotency`.
    pub(super) fn idempotency(&mut self, node: &Node, path: &str) -> Option<Idempotency> {
        if let Some(scalar) = scalar(node) {
            let word = match &scalar.value {
                Value::Bool(on) => Some(*on),
                _ => match scalar.text.to_ascii_lowercase().as_str() {
                    "on" | "true" => Some(true),
                    "off" | "false" => Some(false),
                    _ => None,
                },
            };
            if word.is_none() {
                self.unfit(node, path, "`on`, `off` or a map");
            }
            return word.map(|on| Idempotency {
                on,
                ..Idempotency::default()
            });
        }
        let entries = self.map(node, path)?;
        let whose = "`idempotency`";
        let mut fields = self.fields(entries, node.at, path, whose, &[types::IDEMPOTENCY]);
        Some(Idempotency {
            on: true,
            key: fields.template("key"),
            fingerprint: fields.property("fingerprint"),
            retention_ms: fields.count("retention"),
        })
    }
}
