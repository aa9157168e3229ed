//! Functions and sources put together and checked.

use super::{ConfigProblem, Named, Source, is_route_name};
use crate::types::Policy;
use crate::webhook::Secret;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Collects functions and sources. Nothing is checked before [`Builder::build`].
#[derive(Debug)]
pub struct Builder<F> {
    functions: Vec<F>,
    sources: Vec<Source>,
}

impl<F> Default for Builder<F> {
    fn default() -> Self {
        Self {
            functions: Vec::new(),
            sources: Vec::new(),
        }
    }
}

impl<F: Named> Builder<F> {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function.
    #[must_use]
    pub fn function(mut self, function: F) -> Self {
        self.functions.push(function);
        self
    }

    /// Adds a source.
    #[must_use]
    pub fn source(mut self, source: Source) -> Self {
        self.sources.push(source);
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    /// Every problem at once, so that one start is enough to see them all.
    pub fn build(self) -> Result<App<F>, Vec<ConfigProblem>> {
        let mut problems = Vec::new();
        let mut functions = BTreeMap::new();
        for function in self.functions {
            let name = function.name().to_owned();
            let mut wrong = function.policy().problems();
            wrong.extend(function.rules().problems(function.policy()));
            if !is_route_name(&name) {
                wrong.push("its name must match [a-z0-9][a-z0-9_-]{0,63}".to_owned());
            }
            if functions.contains_key(&name) {
                wrong.push("two functions have this name".to_owned());
            }
            problems.extend(at(&format!("function {name}"), wrong));
            functions.entry(name).or_insert(function);
        }
        let mut sources = BTreeMap::new();
        for source in self.sources {
            let name = source.name().to_owned();
            let mut wrong = source.problems();
            wrong.extend(fit(&source, &functions));
            if sources.contains_key(&name) {
                wrong.push("two sources have this name".to_owned());
            }
            problems.extend(at(&format!("source {name}"), wrong));
            sources.entry(name).or_insert(source);
        }
        if problems.is_empty() {
            let functions = Functions(Rc::new(functions));
            Ok(App { functions, sources })
        } else {
            Err(problems)
        }
    }
}

fn at(place: &str, problems: Vec<String>) -> impl Iterator<Item = ConfigProblem> {
    problems
        .into_iter()
        .map(move |problem| ConfigProblem::new(place, problem))
}

/// What is wrong between a source and its function.
fn fit<F: Named>(source: &Source, functions: &BTreeMap<String, F>) -> Vec<String> {
    let wanted = source.function();
    let Some(function) = functions.get(wanted) else {
        return if wanted.is_empty() {
            Vec::new()
        } else {
            vec![format!("no function is named {wanted:?}")]
        };
    };
    let Some(ms) = source.own_respond_within_ms() else {
        return Vec::new();
    };
    let alone = function.policy().problems();
    let together = Policy {
        respond_within_ms: ms,
        ..function.policy().clone()
    };
    together
        .problems()
        .into_iter()
        .filter(|problem| !alone.contains(problem) && !problem.starts_with("respond_within"))
        .map(|problem| format!("its respond_within does not fit function {wanted}: {problem}"))
        .collect()
}

/// All functions, by name. Cheap to clone: what runs beside a request takes it along.
#[derive(Debug)]
pub struct Functions<F>(Rc<BTreeMap<String, F>>);

// Derived, it would ask for functions that can be cloned.
impl<F> Clone for Functions<F> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<F> Functions<F> {
    /// A function by its name.
    pub fn get(&self, name: &str) -> Option<&F> {
        self.0.get(name)
    }
}

/// A checked configuration. Cheap to look things up in; made once per instance.
#[derive(Debug)]
pub struct App<F> {
    functions: Functions<F>,
    sources: BTreeMap<String, Source>,
}

impl<F: Named> App<F> {
    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<&F> {
        self.functions.get(name)
    }

    /// All functions, to take along.
    pub fn shared_functions(&self) -> Functions<F> {
        self.functions.clone()
    }

    /// A source by its name.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.sources.get(name)
    }

    /// All functions, by name.
    pub fn functions(&self) -> impl Iterator<Item = &F> {
        self.functions.0.values()
    }

    /// All sources, by name.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.sources.values()
    }

    /// The secrets of a source, looked up by name.
    ///
    /// # Errors
    /// One of them is not set, empty or has white space around it. The delivery must then be
    /// refused: going on with fewer secrets, or none, would open the door.
    pub fn secrets(
        &self,
        source: &Source,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Secret>, ConfigProblem> {
        let place = || format!("source {}", source.name());
        source
            .secret_names()
            .iter()
            .map(|name| {
                let text = lookup(name).ok_or_else(|| {
                    ConfigProblem::new(place(), format!("secret {name} is not set"))
                })?;
                Secret::new(&text)
                    .map_err(|fault| ConfigProblem::new(place(), format!("secret {name} {fault}")))
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
