//! Variables of the surroundings.

use super::cell::{Cell, Part, Role, joined, part};
use super::engine::Slot;
use super::nearest::nearest;
use serde_json::Value;

/// The role of a variable of the surroundings.
fn root_role(root: &str) -> Role {
    match root {
        "outputs" => Role::Outputs,
        "trigger" => Role::Trigger,
        _ => Role::Plain,
    }
}

/// Finds a variable of the surroundings.
pub(super) fn resolve(roots: &serde_json::Map<String, Value>, slot: &Slot) -> Cell {
    let Some(mut value) = roots.get(&slot.root) else {
        if matches!(slot.root.as_str(), "envs" | "globals") && slot.path.is_empty() {
            return Value::Object(serde_json::Map::new()).into();
        }
        let known = roots.keys().map(String::as_str);
        let detail = format!("there is no variable `{}`", slot.root);
        return Cell::Missing(match nearest(&slot.root, known) {
            Some(nearest) => format!("{detail}; nearest: `{nearest}`"),
            None => detail,
        });
    };
    let mut role = root_role(&slot.root);
    let mut path = slot.root.clone();
    for key in &slot.path {
        (value, role) = match part(value, role, key, &path) {
            Part::Found(value, role) => (value, role),
            Part::Null(role) => (&Value::Null, role),
            Part::Missing(detail) => return Cell::Missing(detail),
        };
        path = joined(&path, key);
    }
    Cell::Value {
        value: value.clone(),
        role,
    }
}
