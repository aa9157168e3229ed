//! Programs and how the engine runs them.

use super::ast::Coalesce;
use super::catalog::Callable;
use super::cell::Cell;
use super::halt::{Ask, Halt, failed, from_engine};
use super::session::{Prepared, Session};
use super::sites::Doing;
use super::{Reference, TemplateProblem, emit, template};
use crate::limits::EXPRESSION_FUEL;
use minijinja::value::{Object, ObjectRepr, Rest};
use minijinja::{Environment, State, Value};
use serde_json::Value as Json;
use std::sync::{Arc, LazyLock};

/// A value in the engine.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) cell: Arc<Cell>,
    /// What the engine's `and`, `or` and `if` make of it.
    pub(super) truth: bool,
}

impl Object for Held {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.truth
    }
}

impl Held {
    pub(super) fn new(cell: Cell) -> Arc<Self> {
        Arc::new(Self {
            cell: Arc::new(cell),
            truth: false,
        })
    }
}

pub(super) fn into_engine(cell: Cell) -> Value {
    Value::from_dyn_object(Held::new(cell))
}

/// One thing that a program calls.
#[derive(Debug)]
pub(super) enum Site {
    Print,
    Truth,
    Present(Coalesce),
    Iterate,
    Turn,
    List {
        tolerant: bool,
    },
    Map {
        tolerant: bool,
    },
    Path {
        steps: Vec<Option<String>>,
        tolerant: bool,
    },
    Variable {
        name: String,
        slot: Option<usize>,
        /// How many of the arguments may be the variable of the template.
        candidates: usize,
        steps: Vec<Option<String>>,
        tolerant: bool,
    },
    Call {
        callable: &'static Callable,
        tolerant: bool,
    },
}

/// A variable of the surroundings.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) root: String,
    pub(super) path: Vec<String>,
}

/// A template as the engine takes it.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) source: String,
    pub(super) sites: Vec<Site>,
    pub(super) constants: Vec<Json>,
    pub(super) slots: Vec<Slot>,
    pub(super) references: Vec<Reference>,
    /// Whether it is one single expression.
    pub(super) single: bool,
}

/// A program in its engine.
pub(super) struct Compiled {
    pub(super) program: Program,
    constants: Vec<Arc<Held>>,
    engine: Environment<'static>,
}

static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = Environment::empty();
    engine.set_fuel(Some(EXPRESSION_FUEL));
    engine.add_function("f", dispatch);
    engine.add_function("namespace", minijinja::functions::namespace);
    engine
});

const NAME: &str = "t";

impl Compiled {
    /// Compiles a text.
    pub(super) fn new(text: &str) -> Result<Self, Vec<TemplateProblem>> {
        let nodes = template::read(text)?;
        let mut program = emit::program(&nodes, emit::single(&nodes));
        let mut engine = ENGINE.clone();
        let source = std::mem::take(&mut program.source);
        engine.add_template_owned(NAME, source).map_err(|error| {
            let detail = format!("the engine does not take this template ({})", error.kind());
            vec![super::lex::problem(0, detail)]
        })?;
        let constants = program
            .constants
            .drain(..)
            .map(|value| Held::new(value.into()))
            .collect();
        Ok(Self {
            program,
            constants,
            engine,
        })
    }

    pub(super) fn references(&self) -> &[Reference] {
        &self.program.references
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.program.slots
    }

    pub(super) fn single(&self) -> bool {
        self.program.single
    }
}

/// What came of one evaluation: the value of a single expression, or a text; and the fuel that it took.
pub(super) struct Outcome {
    pub(super) cell: Arc<Cell>,
    pub(super) fuel: u64,
}

/// One evaluation: the context in which the engine looks up constants, and what its functions see.
pub(super) struct Run {
    pub(super) compiled: Arc<Compiled>,
    pub(super) slots: Vec<Arc<Held>>,
    pub(super) session: Arc<Session>,
    /// Whether variables of the flow are rendered where they are named.
    pub(super) recursive: bool,
    /// How many renderings this one is within.
    pub(super) depth: usize,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Run")
    }
}

impl Object for Run {
    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if key == "run" {
            return Some(Value::from_dyn_object(self.clone()));
        }
        let index: usize = key.strip_prefix('k')?.parse().ok()?;
        Some(Value::from_dyn_object(
            self.compiled.constants.get(index)?.clone(),
        ))
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }
}

/// Evaluates a program.
pub(super) fn run(
    prepared: &Prepared,
    session: &Arc<Session>,
    recursive: bool,
    depth: usize,
) -> Result<Outcome, Halt> {
    let compiled = &prepared.compiled;
    let run = Run {
        compiled: compiled.clone(),
        slots: prepared.slots.clone(),
        session: session.clone(),
        recursive,
        depth,
    };
    let engine = |error: minijinja::Error| from_engine(&error);
    let template = compiled.engine.get_template(NAME).map_err(engine)?;
    let captured = template
        .render_captured(Value::from_object(run))
        .map_err(engine)?;
    let fuel = captured.state().fuel_levels().map_or(0, |(used, _)| used);
    let cell = if compiled.single() {
        let result = captured
            .state()
            .lookup("result")
            .and_then(|value| value.downcast_object::<Held>());
        result
            .ok_or_else(|| failed("there is no result"))?
            .cell
            .clone()
    } else {
        Arc::new(captured.into_output().into())
    };
    Ok(Outcome { cell, fuel })
}

/// The function through which a program does everything: what, by number, and with what.
#[allow(clippy::needless_pass_by_value)]
fn dispatch(state: &State<'_, '_>, arguments: Rest<Value>) -> Result<Value, minijinja::Error> {
    let run = state
        .lookup("run")
        .and_then(|run| run.downcast_object::<Run>());
    let number = arguments
        .first()
        .and_then(|number| usize::try_from(number.clone()).ok());
    let (Some(run), Some(number)) = (run, number) else {
        return Err(failed("the engine lost its way").into());
    };
    let site = run
        .compiled
        .program
        .sites
        .get(number)
        .ok_or_else(|| failed("the engine lost its way"))?;
    let fuel = |units: u64| {
        state
            .consume_fuel(units)
            .map_err(|error| from_engine(&error))
    };
    let doing = Doing {
        run: &run,
        fuel: &fuel,
        arguments: &arguments[1..],
    };
    Ok(doing.site(site)?)
}

/// Renders a value: the texts in it as templates. Nothing of the result is rendered again.
pub(super) fn nested(
    run: &Run,
    value: &Json,
    recursive: bool,
    fuel: &dyn Fn(u64) -> Result<(), Halt>,
) -> Result<Json, Halt> {
    match value {
        Json::String(source) if super::is_template(source) => {
            if run.depth >= crate::limits::MAX_RENDER_DEPTH {
                return Err(super::halt::too_large(
                    "`render` within `render` goes too deep",
                ));
            }
            let Some(prepared) = run.session.nested.get(source) else {
                return Err(Halt::Ask(Ask::Nested(source.clone())));
            };
            let outcome = self::run(prepared, &run.session, recursive, run.depth + 1)?;
            fuel(outcome.fuel)?;
            Ok(outcome.cell.plain().clone())
        }
        Json::Array(items) => items
            .iter()
            .map(|item| nested(run, item, recursive, fuel))
            .collect(),
        Json::Object(map) => map
            .iter()
            .map(|(key, value)| Ok((key.clone(), nested(run, value, recursive, fuel)?)))
            .collect(),
        other => Ok(other.clone()),
    }
}
