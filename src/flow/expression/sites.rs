//! What a program calls, one thing at a time.

use super::ast::Coalesce;
use super::call::{BYTES_PER_FUEL, Call};
use super::catalog::Callable;
use super::cell::{Cell, Part, holds, joined, kind, part};
use super::engine::{Held, Run, Site, into_engine, nested};
use super::halt::{Halt, failed};
use minijinja::Value;
use serde_json::Value as Json;
use std::sync::Arc;

/// A call of a program under way.
pub(super) struct Doing<'a> {
    pub(super) run: &'a Arc<Run>,
    pub(super) fuel: &'a dyn Fn(u64) -> Result<(), Halt>,
    pub(super) arguments: &'a [Value],
}

fn held(value: &Value) -> Option<Arc<Held>> {
    value.downcast_object::<Held>()
}

fn missing(detail: &str) -> Halt {
    Halt::Failed {
        code: "variable_missing",
        message: detail.to_owned(),
    }
}

impl Doing<'_> {
    fn charge(&self, bytes: usize) -> Result<(), Halt> {
        (self.fuel)(bytes as u64 / BYTES_PER_FUEL)
    }

    fn first(&self) -> Result<Arc<Held>, Halt> {
        self.arguments
            .first()
            .and_then(held)
            .ok_or_else(|| failed("the engine lost its way"))
    }

    fn made(&self, cell: Cell) -> Result<Value, Halt> {
        self.charge(cell.bytes())?;
        Ok(into_engine(cell))
    }

    pub(super) fn site(&self, site: &Site) -> Result<Value, Halt> {
        match site {
            Site::Print => {
                let cell = &self.first()?.cell;
                self.charge(cell.bytes())?;
                Ok(Value::from(cell.text().into_owned()))
            }
            Site::Truth => {
                let cell = &self.first()?.cell;
                let truth = holds(cell.plain());
                let cell = match &**cell {
                    Cell::Missing(_) => cell.clone(),
                    Cell::Value { .. } => Arc::new(truth.into()),
                };
                Ok(Value::from_object(Held { cell, truth }))
            }
            Site::Present(kind) => {
                let cell = self.first()?.cell.clone();
                let truth = match &*cell {
                    Cell::Missing(_) => false,
                    Cell::Value { value, .. } => *kind == Coalesce::Missing || !value.is_null(),
                };
                Ok(Value::from_object(Held { cell, truth }))
            }
            Site::Iterate => self.iterate(),
            Site::Turn => self.turn(),
            Site::List { tolerant } => self.collect(*tolerant, |cells| {
                Json::Array(cells.iter().map(|held| held.cell.plain().clone()).collect())
            }),
            Site::Map { tolerant } => self.collect(*tolerant, |cells| {
                let pair = |pair: &[Arc<Held>]| {
                    (
                        pair[0].cell.text().into_owned(),
                        pair[1].cell.plain().clone(),
                    )
                };
                Json::Object(cells.chunks_exact(2).map(pair).collect())
            }),
            Site::Path { steps, tolerant } => {
                let base = self.first()?;
                self.follow(base, "…", steps, &self.arguments[1..], *tolerant)
            }
            Site::Variable {
                name,
                slot,
                candidates,
                steps,
                tolerant,
            } => {
                let (own, rest) = self.arguments.split_at(*candidates);
                let base = match (own.iter().find_map(held), slot) {
                    (Some(own), _) => own,
                    (None, Some(slot)) => self.slot(*slot)?,
                    (None, None) => return Err(missing(&format!("there is no variable `{name}`"))),
                };
                let path = match slot.filter(|_| *candidates == 0) {
                    Some(slot) => {
                        let slot = &self.run.compiled.program.slots[slot];
                        slot.path
                            .iter()
                            .fold(slot.root.clone(), |path, key| joined(&path, key))
                    }
                    None => name.clone(),
                };
                self.follow(base, &path, steps, rest, *tolerant)
            }
            Site::Call { callable, tolerant } => self.call(callable, *tolerant),
        }
    }

    /// A variable of the surroundings; those of the flow are rendered if that is asked for.
    fn slot(&self, number: usize) -> Result<Arc<Held>, Halt> {
        let found = self
            .run
            .slots
            .get(number)
            .cloned()
            .ok_or_else(|| failed("the engine lost its way"))?;
        let of_flow = self.run.compiled.program.slots[number].root == "vars";
        if self.run.recursive && of_flow && super::property::holds_template(found.cell.raw()) {
            let rendered = nested(self.run, found.cell.raw(), true, self.fuel)?;
            return Ok(Held::new(rendered.into()));
        }
        Ok(found)
    }

    fn follow(
        &self,
        base: Arc<Held>,
        path: &str,
        steps: &[Option<String>],
        dynamic: &[Value],
        tolerant: bool,
    ) -> Result<Value, Halt> {
        let absent = |detail: String| {
            if tolerant {
                Ok(into_engine(Cell::Missing(detail)))
            } else {
                Err(missing(&detail))
            }
        };
        let (mut value, mut role) = match &*base.cell {
            Cell::Value { value, role } => (value, *role),
            Cell::Missing(detail) => return absent(detail.clone()),
        };
        if steps.is_empty() {
            return Ok(Value::from_dyn_object(base));
        }
        let mut path = path.to_owned();
        let mut dynamic = dynamic.iter();
        for step in steps {
            let key = if let Some(name) = step {
                name.clone()
            } else {
                let index = dynamic.next().and_then(held);
                let index = index.ok_or_else(|| failed("an index is missing"))?;
                if let Cell::Missing(detail) = &*index.cell {
                    return absent(detail.clone());
                }
                index.cell.text().into_owned()
            };
            (value, role) = match part(value, role, &key, &path) {
                Part::Found(value, role) => (value, role),
                Part::Null(role) => (&Json::Null, role),
                Part::Missing(detail) => return absent(detail),
            };
            path = joined(&path, &key);
        }
        self.made(Cell::Value {
            value: value.clone(),
            role,
        })
    }

    fn collect(&self, tolerant: bool, make: impl Fn(&[Arc<Held>]) -> Json) -> Result<Value, Halt> {
        let cells: Vec<_> = self.arguments.iter().filter_map(held).collect();
        for cell in &cells {
            if let Cell::Missing(detail) = &*cell.cell {
                return if tolerant {
                    Ok(Value::from_dyn_object(cell.clone()))
                } else {
                    Err(missing(detail))
                };
            }
        }
        self.made(make(&cells).into())
    }

    fn iterate(&self) -> Result<Value, Halt> {
        let first = self.first()?;
        let list = first.cell.raw();
        self.charge(first.cell.bytes())?;
        let items: Vec<Value> = match list {
            Json::Null => Vec::new(),
            Json::Array(items) => items
                .iter()
                .map(|item| into_engine(item.clone().into()))
                .collect(),
            Json::Object(map) => map
                .iter()
                .map(|(key, value)| {
                    into_engine(serde_json::json!({ "key": key, "value": value }).into())
                })
                .collect(),
            other => {
                return Err(failed(format!(
                    "`for` takes a list or a map, not {}",
                    kind(other)
                )));
            }
        };
        Ok(Value::from(items))
    }

    /// `loop`: counts from 0.
    fn turn(&self) -> Result<Value, Halt> {
        let number = |index: usize| {
            self.arguments
                .get(index)
                .and_then(|value| usize::try_from(value.clone()).ok())
                .unwrap_or_default()
        };
        let (index, length) = (number(0), number(1));
        self.made(
            serde_json::json!({
                "index": index, "length": length, "first": index == 0, "last": index + 1 == length,
                "revindex": length.saturating_sub(index + 1),
            })
            .into(),
        )
    }

    fn call(&self, callable: &'static Callable, tolerant: bool) -> Result<Value, Halt> {
        let arguments: Vec<_> = self.arguments.iter().map(held).collect();
        let declared = arguments.len() - callable.surroundings.len();
        for (index, argument) in arguments[..declared].iter().enumerate() {
            let Some(argument) = argument else { continue };
            if let Cell::Missing(detail) = &*argument.cell
                && !(index == 0 && callable.tolerant)
            {
                return if tolerant {
                    Ok(Value::from_dyn_object(argument.clone()))
                } else {
                    Err(missing(detail))
                };
            }
        }
        let call = Call {
            name: callable.name,
            arguments,
            run: self.run,
            fuel: self.fuel,
        };
        self.made((callable.body)(&call)?)
    }
}
