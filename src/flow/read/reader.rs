//! What is known while a flow is read.

use super::defaults::PluginDefault;
use super::names;
use crate::flow::diagnostic::{Diagnostic, Position};
use crate::flow::expression::{Reference, Template};
use crate::flow::model::Property;
use crate::flow::yaml::{Kind, Node, Scalar, Source};
use crate::limits::MAX_DIAGNOSTICS;
use std::collections::HashMap;

/// Problems that are gathered before they are put in order.
const ENOUGH: usize = 4 * MAX_DIAGNOSTICS;

/// A variable that an expression names, with its place.
pub struct Named {
    /// The variable.
    pub reference: Reference,
    /// Path of the property.
    pub path: String,
    /// Where it stands in the file.
    pub byte: usize,
    /// Whether it stands in a trigger, where `outputs` and `inputs` may be of another flow.
    pub in_trigger: bool,
}

/// Another flow that this one begins.
pub struct Call {
    /// Its namespace.
    pub namespace: Property,
    /// Its id.
    pub flow_id: Property,
    /// Where the id stands.
    pub at: Position,
    /// Path of the id.
    pub path: String,
}

/// A flow while it is read: what is wrong with it is gathered here.
pub struct Reader<'a> {
    pub(super) source: Source<'a>,
    pub(super) problems: Vec<Diagnostic>,
    pub(super) ids: HashMap<String, Position>,
    /// Ids within types that are not known.
    pub(super) other_ids: Vec<String>,
    pub(super) named: Vec<Named>,
    pub(super) defaults: Vec<PluginDefault>,
    /// Values that defaults have added.
    pub(super) added: usize,
    pub(super) in_trigger: bool,
    /// Texts that have been compiled: an anchor can stand for one thousands of times.
    compiled: HashMap<String, Template>,
    pub(super) calls: Vec<Call>,
    /// Inputs that could not be read.
    pub(super) other_inputs: Vec<String>,
    /// Names that `SetVariables` sets; `None` if they can't be known.
    pub(super) set_variables: Option<Vec<String>>,
}

impl<'a> Reader<'a> {
    /// Of a file.
    pub fn new(text: &'a str) -> Self {
        Self {
            source: Source::new(text),
            problems: Vec::new(),
            ids: HashMap::new(),
            other_ids: Vec::new(),
            named: Vec::new(),
            defaults: Vec::new(),
            added: 0,
            in_trigger: false,
            compiled: HashMap::new(),
            calls: Vec::new(),
            other_inputs: Vec::new(),
            set_variables: Some(Vec::new()),
        }
    }

    /// Whether there is room for more problems.
    pub fn wants_more(&self) -> bool {
        self.problems.len() < ENOUGH
    }

    /// Something is wrong.
    pub fn problem(&mut self, at: Position, path: &str, detail: impl Into<String>) {
        self.problem_near(at, path, detail, None);
    }

    /// Something is wrong, and something near it is not.
    pub fn problem_near(
        &mut self,
        at: Position,
        path: &str,
        detail: impl Into<String>,
        nearest: Option<String>,
    ) {
        if !self.wants_more() {
            return;
        }
        self.problems.push(Diagnostic {
            path: path.to_owned(),
            at,
            detail: detail.into(),
            nearest,
        });
    }

    /// The candidate that is nearest to a name, while there is room to tell it.
    pub fn near<'c>(
        &self,
        name: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) -> Option<String> {
        let room = self.problems.len() <= MAX_DIAGNOSTICS;
        room.then(|| names::nearest(name, candidates)).flatten()
    }

    /// A value is not what is wanted.
    pub fn unfit(&mut self, node: &Node, path: &str, wanted: &str) {
        let detail = format!("This is {}; {wanted} is wanted.", node.describe());
        self.problem(node.at, path, detail);
    }

    /// A text with expressions, compiled; its variables are looked at when all ids are known.
    pub fn template(&mut self, node: &Node, scalar: &Scalar, path: &str) -> Option<Template> {
        // The flow is refused anyway then.
        if !self.wants_more() {
            return None;
        }
        let compiled = match self.compiled.get(&scalar.text) {
            Some(template) => Ok(template.clone()),
            None => Template::compile(&scalar.text),
        };
        match compiled {
            Ok(template) => {
                self.compiled.insert(scalar.text.clone(), template.clone());
                let references = template.references();
                let offsets: Vec<usize> = references.iter().map(|one| one.offset).collect();
                let bytes = self.source.bytes_of(node, &offsets);
                for (reference, byte) in references.into_iter().zip(bytes) {
                    self.named.push(Named {
                        reference,
                        path: path.to_owned(),
                        byte,
                        in_trigger: self.in_trigger,
                    });
                }
                Some(template)
            }
            Err(problems) => {
                for problem in problems {
                    if !self.wants_more() {
                        break;
                    }
                    let at = self.source.locate(node, problem.offset);
                    self.problem_near(at, path, sentence(&problem.detail), problem.nearest);
                }
                None
            }
        }
    }
}

/// A detail as a sentence.
fn sentence(detail: &str) -> String {
    let mut chars = detail.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    let end = if detail.ends_with('.') { "" } else { "." };
    format!("{}{}{end}", first.unwrap_or_default(), chars.as_str())
}

/// The scalar of a node.
pub fn scalar(node: &Node) -> Option<&Scalar> {
    match &node.kind {
        Kind::Scalar(scalar) if !scalar.value.is_null() => Some(scalar),
        _ => None,
    }
}
