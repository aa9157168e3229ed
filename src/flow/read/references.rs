//! Variables that are known not to be there.

use super::reader::{Named, Reader};
use crate::flow::model::Flow;
use std::collections::BTreeSet;

/// The variables of expressions.
pub const ROOTS: &[&str] = &[
    "flow",
    "execution",
    "inputs",
    "outputs",
    "labels",
    "tasks",
    "trigger",
    "vars",
    "taskrun",
    "task",
    "parent",
    "parents",
    "error",
];

/// Roots of which all parts are known.
const PARTS: &[(&str, &[&str])] = &[
    ("flow", &["id", "namespace", "revision", "tenantId"]),
    ("execution", &["id", "startDate", "originalId", "state"]),
    (
        "taskrun",
        &[
            "id",
            "startDate",
            "attemptsCount",
            "parentId",
            "value",
            "iteration",
            "items",
        ],
    ),
    ("task", &["id", "type"]),
];

/// What can stand behind a root.
struct Known {
    tasks: BTreeSet<String>,
    inputs: BTreeSet<String>,
    variables: Option<BTreeSet<String>>,
}

/// Looks at the variables that expressions name.
pub fn check(reader: &mut Reader<'_>, flow: &Flow) {
    let named = std::mem::take(&mut reader.named);
    let known = known(reader, flow);
    for one in named.iter().filter(|one| !one.reference.may_be_missing) {
        if !reader.wants_more() {
            break;
        }
        let root = one.reference.root.as_str();
        if ROOTS.contains(&root) {
            if !one.in_trigger {
                part(reader, &known, one);
            }
            continue;
        }
        let detail = match root {
            "envs" | "globals" | "namespace" => {
                format!("`{root}` is not supported; use `inputs`, `vars` or `kv()`.")
            }
            _ => format!("There is no variable `{root}`."),
        };
        let at = reader.source.position(one.byte);
        let near = reader.near(root, ROOTS.iter().copied());
        reader.problem_near(at, &one.path, detail, near);
    }
}

fn known(reader: &Reader<'_>, flow: &Flow) -> Known {
    let others = reader.other_ids.iter().cloned();
    let first = |id: &String| id.split('.').next().unwrap_or_default().to_owned();
    let unread = reader.other_inputs.iter();
    let inputs = flow.inputs.iter().map(|input| &input.id).chain(unread);
    let variables = reader.set_variables.as_ref().map(|set| {
        let variables = flow.variables.iter().map(|(name, _)| name.clone());
        variables.chain(set.iter().cloned()).collect()
    });
    Known {
        tasks: reader.ids.keys().cloned().chain(others).collect(),
        inputs: inputs.map(first).collect(),
        variables,
    }
}

/// The part behind the root.
fn part(reader: &mut Reader<'_>, known: &Known, one: &Named) {
    let Some(part) = one.reference.path.first() else {
        return;
    };
    let root = one.reference.root.as_str();
    let (what, names) = match (root, &known.variables) {
        ("outputs" | "tasks", _) => ("task", &known.tasks),
        ("inputs", _) => ("input", &known.inputs),
        ("vars", Some(variables)) => ("variable", variables),
        _ => {
            let parts = PARTS.iter().find(|(name, _)| *name == root);
            if let Some((_, parts)) = parts.filter(|(_, parts)| !parts.contains(&part.as_str())) {
                let at = reader.source.position(one.byte);
                let near = reader.near(part, parts.iter().copied());
                let detail = format!("`{root}` has no `{part}`.");
                reader.problem_near(at, &one.path, detail, near);
            }
            return;
        }
    };
    if !names.contains(part) {
        let at = reader.source.position(one.byte);
        let near = reader.near(part, names.iter().map(String::as_str));
        let detail = format!("There is no {what} `{part}` in this flow.");
        reader.problem_near(at, &one.path, detail, near);
    }
}
