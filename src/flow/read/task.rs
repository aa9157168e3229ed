//! Tasks, of whatever type.

use super::fields::{Fields, inside};
use super::names::{nearest_type, unsupported};
use super::reader::{Reader, scalar};
use super::spec::{About, Kind, Naming, PropertySpec, find, ignored, may, need};
use super::{defaults, types};
use crate::flow::diagnostic::Position;
use crate::flow::model::{Retry, Task, Work};
use crate::flow::yaml::{Entry, Kind as Yaml, Node};
use crate::limits::MAX_DIAGNOSTICS;

/// What every task has.
pub const COMMON: &[PropertySpec] = &[
    need("id", Kind::Name(Naming::Task), "Its name; once in a flow."),
    need("type", Kind::Plain, "What it does."),
    ignored("description"),
    may("disabled", Kind::Truth, "Whether it is left out."),
    may("runIf", Kind::Truth, "Skipped if this is falsy."),
    may(
        "allowFailure",
        Kind::Flag,
        "Whether the flow goes on, with a warning, when it fails.",
    ),
    may(
        "allowWarning",
        Kind::Flag,
        "Whether a warning of it counts as a success.",
    ),
    may("retry", Kind::Retry, "How it is tried again."),
    may("timeout", Kind::Duration, "How long one try may take."),
    may(
        "undo",
        Kind::Undo,
        "A task that undoes it if the flow fails later or is undone.",
    ),
    ignored("logLevel"),
    ignored("logToFile"),
    ignored("workerGroup"),
];

impl Reader<'_> {
    /// A list of tasks.
    pub(super) fn tasks(&mut self, node: &Node, path: &str, some: bool) -> Option<Vec<Task>> {
        let items = self.list(node, path)?;
        if some && items.is_empty() {
            self.problem(node.at, path, "Tasks are wanted here, at least one.");
        }
        let mut tasks = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            tasks.extend(self.task(item, &format!("{path}[{index}]")));
        }
        Some(tasks)
    }

    /// Tasks by value.
    pub(super) fn cases(&mut self, node: &Node, path: &str) -> Option<Vec<(String, Vec<Task>)>> {
        let entries = self.map(node, path)?;
        let mut cases = Vec::with_capacity(entries.len());
        for entry in entries {
            let path = inside(path, &entry.key);
            let tasks = self.tasks(&entry.value, &path, false).unwrap_or_default();
            cases.push((entry.key.clone(), tasks));
        }
        Some(cases)
    }

    /// A task that undoes another one.
    pub(super) fn undo(&mut self, node: &Node, path: &str) -> Option<Task> {
        let task = self.task(node, path)?;
        if is_flowable(&task.work) {
            let at = node.get("type").map_or(node.at, |name| name.at);
            let path = inside(path, "type");
            self.problem(at, &path, "A task that holds others can't undo one.");
        }
        if task.undo.is_some() {
            self.problem(node.at, path, "A task that undoes one can't be undone.");
        }
        Some(task)
    }

    fn task(&mut self, node: &Node, path: &str) -> Option<Task> {
        let written = self.map(node, path)?;
        self.id(node, path);
        let type_name = self.type_of(node, path)?;
        let Some(spec) = find(types::tasks(), &type_name) else {
            let abouts = types::tasks().map(|spec| &spec.about);
            self.unknown_type(node, path, &type_name, "task", abouts);
            self.ids_within(node);
            return None;
        };
        let merged = defaults::apply(self, spec.about.name, written, node.at, path);
        let entries: &[Entry] = merged.as_deref().unwrap_or(written);
        let whose = format!("`{}`", spec.about.short());
        let specs = [COMMON, spec.about.properties];
        let mut fields = self.fields(entries, node.at, path, &whose, &specs);
        let work = (spec.build)(&mut fields, self);
        let task = Task {
            id: fields.text("id").unwrap_or_default(),
            type_name,
            at: node.at,
            work,
            disabled: fields.property("disabled"),
            run_if: fields.property("runIf"),
            allow_failure: fields.flag("allowFailure").unwrap_or(false),
            allow_warning: fields.flag("allowWarning").unwrap_or(false),
            retry: fields.retry("retry"),
            timeout: fields.property("timeout"),
            undo: fields.tasks("undo").pop().map(Box::new),
        };
        if is_flowable(&task.work) {
            for (name, is_there) in [
                ("retry", task.retry.is_some()),
                ("undo", task.undo.is_some()),
            ] {
                let at = entries
                    .iter()
                    .find(|entry| entry.key == name)
                    .map(|entry| entry.at);
                if let Some(at) = at.filter(|_| is_there) {
                    let detail = "A task that holds others does nothing itself: say this of the tasks in it.";
                    self.problem(at, &inside(path, name), detail);
                }
            }
        }
        Some(task)
    }

    /// Looks whether the id of a map is there once.
    pub(super) fn id(&mut self, node: &Node, path: &str) {
        let Some(id) = node.get("id").and_then(scalar) else {
            return;
        };
        let at = node.get("id").map_or(node.at, |id| id.at);
        if let Some(first) = self.ids.get(&id.text).copied() {
            let detail = format!(
                "The id `{}` is there already, in line {}.",
                id.text, first.line
            );
            self.problem(at, &inside(path, "id"), detail);
        } else {
            self.ids.insert(id.text.clone(), at);
        }
    }

    /// The type of a map; that it has none has been told.
    pub(super) fn type_of(&mut self, node: &Node, path: &str) -> Option<String> {
        let Some(written) = node.get("type") else {
            self.problem(node.at, path, "`type` is missing.");
            return None;
        };
        self.plain(written, &inside(path, "type"), "the name of a type")
    }

    /// Tells that a type is not there, and why.
    pub(super) fn unknown_type<'s>(
        &mut self,
        node: &Node,
        path: &str,
        name: &str,
        what: &str,
        abouts: impl Iterator<Item = &'s About>,
    ) {
        let names = abouts
            .flat_map(|about| std::iter::once(about.name).chain(about.aliases.iter().copied()));
        let room = self.problems.len() <= MAX_DIAGNOSTICS;
        let mut near = room.then(|| nearest_type(name, names)).flatten();
        let at: Position = node.get("type").map_or(node.at, |name| name.at);
        let name = crate::flow::yaml::shortened(name);
        let detail = match unsupported(&name) {
            Some((reason, partly)) if near.is_none() || !partly => {
                near = None;
                format!("`{name}` is not supported. {reason}")
            }
            _ => format!("There is no {what} of the type `{name}`."),
        };
        self.problem_near(at, &inside(path, "type"), detail, near);
    }

    /// Ids of tasks within one whose type is not known: expressions elsewhere may name them.
    fn ids_within(&mut self, node: &Node) {
        match &node.kind {
            Yaml::Scalar(_) => {}
            Yaml::List(items) => items.iter().for_each(|item| self.ids_within(item)),
            Yaml::Map(entries) => {
                if node.get("type").is_some()
                    && let Some(id) = node.get("id").and_then(scalar)
                {
                    self.other_ids.push(id.text.clone());
                }
                for entry in entries {
                    self.ids_within(&entry.value);
                }
            }
        }
    }

    /// `retry`.
    pub(super) fn retry(&mut self, node: &Node, path: &str) -> Option<Retry> {
        let entries = self.map(node, path)?;
        let mut fields: Fields = self.fields(entries, node.at, path, "`retry`", &[types::RETRY]);
        types::retry(&mut fields, self)
    }
}

/// Whether a task holds others.
fn is_flowable(work: &Work) -> bool {
    matches!(
        work,
        Work::If { .. }
            | Work::Switch { .. }
            | Work::Sequential(_)
            | Work::AllowFailure(_)
            | Work::Parallel { .. }
            | Work::ForEach(_)
            | Work::LoopUntil(_)
            | Work::Pause(_)
            | Work::Subflow(_)
    )
}
