//! Expressions `{{ … }}`: Pebble's language on minijinja.

mod arrange;
mod ast;
mod call;
mod catalog;
mod cell;
mod date_patterns;
mod dates;
mod emit;
mod encodings;
mod engine;
mod figures;
mod functions;
mod halt;
mod jq;
mod jq_natives;
mod lex;
mod lists;
mod nearest;
mod number;
mod operators;
mod parse;
mod pattern;
mod primary;
mod property;
mod session;
mod sites;
mod surroundings;
mod template;
mod texts;

#[cfg(test)]
mod dates_tests;
#[cfg(test)]
mod expression_tests;
#[cfg(test)]
mod filters_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod jq_tests;
#[cfg(test)]
mod language_tests;

pub use catalog::{supported, unsupported};
pub use cell::truthy;

use crate::types::Failure;
use engine::Compiled;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use uuid::Uuid;

/// What an expression needs beyond its variables.
pub trait Outside {
    /// A secret of the deployment, by name.
    fn secret(&self, name: &str) -> Option<String>;
    /// A value of the key-value store: `None` while it has not been looked up, `Some(None)` if there is no such key.
    fn kv(&self, namespace: &str, key: &str) -> Option<Option<Value>>;
    /// The recorded time in milliseconds since 1970: `None` while there is none.
    fn now_ms(&self) -> Option<u64>;
    /// A fresh UUID, the same in each run of the task.
    fn uuid(&self) -> Uuid;
}

/// The variables that an expression sees, and what it may ask for.
pub struct Scope<'a> {
    /// `flow`, `execution`, `inputs`, `outputs`, `trigger`, …
    pub roots: &'a Map<String, Value>,
    /// The outside.
    pub outside: &'a dyn Outside,
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The expression fails: `expression_failed`, `variable_missing`, `secret_missing`, …; always terminal.
    Failed(Failure),
    /// A key has to be looked up first; then the same is rendered again.
    NeedsKv {
        /// Namespace.
        namespace: String,
        /// Key.
        key: String,
    },
    /// The time has to be recorded first; then the same is rendered again.
    NeedsNow,
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateProblem {
    /// Where in its text, in bytes.
    pub offset: usize,
    /// What.
    pub detail: String,
    /// The nearest thing that is supported.
    pub nearest: Option<String>,
}

/// A variable that a template names: `outputs['call'].body` is root `outputs`, path `call`, `body`. A part that is
/// not written down ends the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// `outputs`.
    pub root: String,
    /// What stands behind it.
    pub path: Vec<String>,
    /// Where in the text, in bytes.
    pub offset: usize,
    /// Whether a missing one is allowed for there (`??`, `is defined`).
    pub may_be_missing: bool,
}

/// What came of rendering.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The value: text, or the type of a single expression.
    pub value: Value,
    /// Secrets that were asked for: none of these texts may be kept or shown.
    pub secrets: Vec<String>,
}

/// A text with expressions, compiled. Two are equal if their texts are.
#[derive(Clone)]
pub struct Template {
    source: Arc<str>,
    /// `None` if nothing is to be rendered.
    compiled: Option<Arc<Compiled>>,
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Template {}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Template").field(&self.source).finish()
    }
}

impl Template {
    /// Compiles a text; all that is wrong with it at once. A text without `{{` and `{%` stays as it is.
    ///
    /// ```
    /// use onceward::flow::expression::Template;
    /// assert!(Template::compile("no expression").unwrap().is_literal());
    /// let problems = Template::compile("{{ inputs.name | uper }}").unwrap_err();
    /// assert_eq!(problems[0].nearest.as_deref(), Some("upper"));
    /// ```
    ///
    /// # Errors
    /// What is wrong, in the order of the text.
    pub fn compile(text: &str) -> Result<Self, Vec<TemplateProblem>> {
        let compiled = if is_template(text) {
            Some(Arc::new(Compiled::new(text)?))
        } else {
            None
        };
        Ok(Self {
            source: text.into(),
            compiled,
        })
    }

    /// The text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether there is nothing to render.
    pub fn is_literal(&self) -> bool {
        self.compiled.is_none()
    }

    /// Renders it as a text. The second part are the secrets that were asked for.
    ///
    /// # Errors
    /// If something is missing, has to be looked up first, or is too large.
    pub fn text(&self, scope: &Scope<'_>) -> Result<(String, Vec<String>), Stop> {
        let Some(compiled) = &self.compiled else {
            return Ok((self.source.to_string(), Vec::new()));
        };
        let (outcome, secrets) = session::evaluate(compiled, &self.source, scope)?;
        let text = outcome.cell.text();
        if compiled.single() {
            let (before, after) = self.blanks();
            return Ok((format!("{before}{text}{after}"), secrets));
        }
        Ok((text.into_owned(), secrets))
    }

    /// Renders it. One single expression keeps its type; anything else is a text.
    ///
    /// ```
    /// use onceward::flow::expression::{Fixed, Scope, Template};
    /// let roots = serde_json::json!({ "inputs": { "n": 12345678901234567890_u64 } });
    /// let scope = Scope { roots: roots.as_object().unwrap(), outside: &Fixed::default() };
    /// let value = Template::compile("{{ inputs.n }}").unwrap().value(&scope).unwrap().value;
    /// assert_eq!(value, 12345678901234567890_u64);
    /// ```
    ///
    /// # Errors
    /// As of [`Template::text`].
    pub fn value(&self, scope: &Scope<'_>) -> Result<Rendered, Stop> {
        if let Some(compiled) = &self.compiled
            && compiled.single()
        {
            let (outcome, secrets) = session::evaluate(compiled, &self.source, scope)?;
            let value = match outcome.cell.plain() {
                Value::String(text) => {
                    let (before, after) = self.blanks();
                    Value::String(format!("{before}{text}{after}"))
                }
                other => other.clone(),
            };
            return Ok(Rendered { value, secrets });
        }
        let (text, secrets) = self.text(scope)?;
        Ok(Rendered {
            value: Value::String(text),
            secrets,
        })
    }

    /// Blanks around a single expression, as far as it does not take them away itself.
    fn blanks(&self) -> (&str, &str) {
        let trimmed = self.source.trim();
        let start = self.source.len() - self.source.trim_start().len();
        let before = if trimmed.starts_with("{{-") {
            ""
        } else {
            &self.source[..start]
        };
        let after = if trimmed.ends_with("-}}") {
            ""
        } else {
            &self.source[start + trimmed.len()..]
        };
        (before, after)
    }

    /// The variables that it names, but for its own.
    pub fn references(&self) -> Vec<Reference> {
        self.compiled
            .as_ref()
            .map_or_else(Vec::new, |compiled| compiled.references().to_vec())
    }
}

/// Whether something in a text is to be rendered.
fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// An outside that is known from the beginning: nothing in it has to be looked up.
///
/// ```
/// use onceward::flow::expression::{Fixed, Outside};
/// let mut outside = Fixed::default();
/// outside.secrets.insert("TOKEN".into(), "s3cr3t".into());
/// assert_eq!(outside.secret("TOKEN").as_deref(), Some("s3cr3t"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// Secrets by name.
    pub secrets: BTreeMap<String, String>,
    /// Values by namespace and key.
    pub kv: BTreeMap<(String, String), Value>,
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
}

impl Outside for Fixed {
    fn secret(&self, name: &str) -> Option<String> {
        self.secrets.get(name).cloned()
    }

    fn kv(&self, namespace: &str, key: &str) -> Option<Option<Value>> {
        Some(
            self.kv
                .get(&(namespace.to_owned(), key.to_owned()))
                .cloned(),
        )
    }

    fn now_ms(&self) -> Option<u64> {
        Some(self.now_ms)
    }

    fn uuid(&self) -> Uuid {
        Uuid::nil()
    }
}

/// All that can be called.
fn tables() -> [&'static [catalog::Callable]; 8] {
    [
        operators::ALL,
        functions::ALL,
        texts::ALL,
        figures::ALL,
        lists::ALL,
        dates::ALL,
        encodings::ALL,
        jq::ALL,
    ]
}
