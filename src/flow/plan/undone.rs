//! What is kept of an execution for the task that undoes another one.

use crate::flow::expression::Reference;
use crate::flow::model::{Flow, Http, Property, Task, Work};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is kept: it is enough to undo the task when nothing else of the execution is at hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undone {
    /// Digest of the flow's text.
    pub digest: String,
    /// The task that is undone.
    pub task_id: String,
    /// Variables.
    pub roots: Map<String, Value>,
}

/// The variables that a task that undoes names.
pub fn undo_roots(undo: &Task, roots: &Map<String, Value>) -> Map<String, Value> {
    let named = references(undo);
    let kept = roots.iter().filter(|(root, _)| {
        matches!(root.as_str(), "flow" | "execution") || named.iter().any(|r| r.root == **root)
    });
    kept.map(|(root, value)| (root.clone(), value.clone()))
        .collect()
}

/// Whether a task that undoes names what came of the task that it undoes.
pub fn needs_outcome(task: &Task, undo: &Task) -> bool {
    let of_task = |r: &Reference| {
        r.root == "outputs" && !r.may_be_missing && r.path.first().is_none_or(|id| *id == task.id)
    };
    references(undo).iter().any(of_task)
}

/// Whether a task names the number of its tries, so that each try is another one.
pub fn counts_tries(task: &Task) -> bool {
    let counts = |r: &Reference| {
        r.root == "taskrun" && r.path.first().is_none_or(|name| name == "attemptsCount")
    };
    references(task).iter().any(counts)
}

fn references(task: &Task) -> Vec<Reference> {
    let mut found = Vec::new();
    for property in properties(&task.work) {
        collect(property, &mut found);
    }
    found
}

fn collect(property: &Property, found: &mut Vec<Reference>) {
    match property {
        Property::Literal(_) => {}
        Property::Template(template) => found.extend(template.references()),
        Property::List(items) => items.iter().for_each(|item| collect(item, found)),
        Property::Map(entries) => entries.iter().for_each(|(_, value)| collect(value, found)),
    }
}

/// Everything that is rendered of a task without tasks inside.
fn properties(work: &Work) -> Vec<&Property> {
    let mut all: Vec<Option<&Property>> = Vec::new();
    match work {
        Work::Log { message, level } => all.extend([Some(message), level.as_ref()]),
        Work::Return { format } => all.push(format.as_ref()),
        Work::OutputValues { values } => all.push(Some(values)),
        Work::SetVariables { variables, .. } => all.push(Some(variables)),
        Work::Labels { labels } => all.push(Some(labels)),
        Work::Fail {
            condition,
            error_message,
        } => {
            all.extend([condition.as_ref(), error_message.as_ref()]);
        }
        Work::Assert {
            conditions,
            error_message,
        } => {
            all.extend([Some(conditions), error_message.as_ref()]);
        }
        Work::Exit { state } => all.push(state.as_ref()),
        Work::Sleep { duration } => all.push(Some(duration)),
        Work::KvGet {
            key,
            namespace,
            error_on_missing,
        }
        | Work::KvDelete {
            key,
            namespace,
            error_on_missing,
        } => {
            all.extend([Some(key), namespace.as_ref(), error_on_missing.as_ref()]);
        }
        Work::KvSet {
            key,
            value,
            namespace,
            overwrite,
            ttl,
            kind,
        } => {
            all.extend([Some(key), Some(value), namespace.as_ref()]);
            all.extend([overwrite.as_ref(), ttl.as_ref(), kind.as_ref()]);
        }
        Work::KvGetKeys { prefix, namespace } => all.extend([prefix.as_ref(), namespace.as_ref()]),
        Work::Http(http) => all.extend(of_request(http)),
        Work::Subflow(subflow) => {
            all.extend([
                Some(&subflow.namespace),
                Some(&subflow.flow_id),
                subflow.inputs.as_ref(),
            ]);
            all.push(subflow.labels.as_ref());
        }
        Work::If { .. }
        | Work::Switch { .. }
        | Work::Sequential(_)
        | Work::AllowFailure(_)
        | Work::Parallel { .. }
        | Work::ForEach(_)
        | Work::LoopUntil(_)
        | Work::Pause(_) => {}
    }
    all.into_iter().flatten().collect()
}

fn of_request(http: &Http) -> Vec<Option<&Property>> {
    let options = &http.options;
    let (user, password) = options
        .basic
        .as_ref()
        .map(|(user, password)| (user, password))
        .unzip();
    vec![
        Some(&http.uri),
        http.method.as_ref(),
        http.headers.as_ref(),
        http.params.as_ref(),
        http.content_type.as_ref(),
        http.body.as_ref(),
        http.form_data.as_ref(),
        options.bearer.as_ref(),
        options.timeout.as_ref(),
        options.allow_failed.as_ref(),
        options.allowed_codes.as_ref(),
        user,
        password,
    ]
}

/// A task of a flow, wherever it stands.
pub fn find<'f>(flow: &'f Flow, id: &str) -> Option<&'f Task> {
    [
        &flow.tasks,
        &flow.errors,
        &flow.finally,
        &flow.after_execution,
    ]
    .into_iter()
    .find_map(|tasks| within(tasks, id))
}

fn within<'f>(tasks: &'f [Task], id: &str) -> Option<&'f Task> {
    tasks.iter().find_map(|task| {
        if task.id == id {
            return Some(task);
        }
        inside(&task.work)
            .into_iter()
            .find_map(|tasks| within(tasks, id))
    })
}

fn inside(work: &Work) -> Vec<&[Task]> {
    match work {
        Work::If {
            then,
            otherwise,
            errors,
            finally,
            ..
        } => vec![then, otherwise, errors, finally],
        Work::Switch {
            cases,
            defaults,
            errors,
            finally,
            ..
        } => {
            let mut all: Vec<&[Task]> = cases.iter().map(|(_, tasks)| tasks.as_slice()).collect();
            all.extend([defaults.as_slice(), errors, finally]);
            all
        }
        Work::Sequential(b) | Work::AllowFailure(b) | Work::Parallel { block: b, .. } => {
            vec![&b.tasks, &b.errors, &b.finally]
        }
        Work::ForEach(each) => vec![&each.block.tasks, &each.block.errors, &each.block.finally],
        Work::LoopUntil(turn) => vec![&turn.block.tasks, &turn.block.errors, &turn.block.finally],
        Work::Pause(pause) => vec![&pause.tasks],
        _ => Vec::new(),
    }
}
