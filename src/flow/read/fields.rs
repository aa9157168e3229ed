//! The properties of one map, read by their description.

use super::reader::Reader;
use super::spec::{Kind, PropertySpec};
use crate::flow::diagnostic::Position;
use crate::flow::expression::Template;
use crate::flow::model::{
    Block, Condition, Idempotency, Input, Output, Property, Retry, Task, Trigger,
};
use crate::flow::yaml::{Entry, shortened};
use serde_json::Value;

/// What a property has been read to.
pub enum Got {
    /// Rendered later.
    Property(Property),
    /// An expression.
    Template(Template),
    /// Rendered later, by key.
    Pairs(Vec<(String, Property)>),
    /// True or false.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Factor(f64),
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// A value.
    Value(Value),
    /// Values.
    Values(Vec<Value>),
    /// Values by key.
    Variables(Vec<(String, Value)>),
    /// Tasks.
    Tasks(Vec<Task>),
    /// Tasks by value.
    Cases(Vec<(String, Vec<Task>)>),
    /// Triggers.
    Triggers(Vec<Trigger>),
    /// Conditions.
    Conditions(Vec<Condition>),
    /// Inputs.
    Inputs(Vec<Input>),
    /// Outputs.
    Outputs(Vec<Output>),
    /// How something is tried again.
    Retry(Retry),
    /// Exactly-once.
    Idempotency(Idempotency),
    /// A map.
    Fields(Fields),
}

/// The properties of one map. What is wrong with them has been told; what could not be read is not there.
pub struct Fields {
    /// Where the map begins.
    pub at: Position,
    /// Its path.
    pub path: String,
    got: Vec<(&'static str, Position, Got)>,
    written: Vec<&'static str>,
}

macro_rules! takes {
    ($($(#[$doc:meta])* $name:ident: $variant:ident($type:ty);)*) => {
        $(
            $(#[$doc])*
            pub fn $name(&mut self, name: &str) -> Option<$type> {
                match self.take(name)? {
                    Got::$variant(value) => Some(value),
                    _ => None,
                }
            }
        )*
    };
}

impl Fields {
    takes! {
        /// A value that is rendered later.
        property: Property(Property);
        /// An expression.
        template: Template(Template);
        /// Values that are rendered later, by key.
        pairs: Pairs(Vec<(String, Property)>);
        /// True or false.
        flag: Flag(bool);
        /// A whole number.
        count: Count(u64);
        /// A number.
        factor: Factor(f64);
        /// A text.
        text: Text(String);
        /// Texts.
        texts: Texts(Vec<String>);
        /// A value.
        value: Value(Value);
        /// Values.
        values: Values(Vec<Value>);
        /// Values by key.
        variables: Variables(Vec<(String, Value)>);
        /// Tasks by value.
        cases: Cases(Vec<(String, Vec<Task>)>);
        /// Triggers.
        triggers: Triggers(Vec<Trigger>);
        /// Inputs.
        inputs: Inputs(Vec<Input>);
        /// Outputs.
        outputs: Outputs(Vec<Output>);
        /// How something is tried again.
        retry: Retry(Retry);
        /// Exactly-once.
        idempotency: Idempotency(Idempotency);
        /// A map.
        fields: Fields(Fields);
    }

    fn take(&mut self, name: &str) -> Option<Got> {
        let index = self.got.iter().position(|(got, ..)| *got == name)?;
        Some(self.got.swap_remove(index).2)
    }

    /// Whether it is there and was read.
    pub fn has(&self, name: &str) -> bool {
        self.got.iter().any(|(got, ..)| *got == name)
    }

    /// Whether it is there, whatever came of it.
    pub fn wrote(&self, name: &str) -> bool {
        self.written.contains(&name)
    }

    /// Where its value stands, or the map if it is not there.
    pub fn at_of(&self, name: &str) -> Position {
        let found = self.got.iter().find(|(got, ..)| *got == name);
        found.map_or(self.at, |(_, at, _)| *at)
    }

    /// A value that has to be there; that it is not has been told.
    pub fn needed(&mut self, name: &str) -> Property {
        self.property(name)
            .unwrap_or(Property::Literal(Value::Null))
    }

    /// Tasks; none if it is not there.
    pub fn tasks(&mut self, name: &str) -> Vec<Task> {
        match self.take(name) {
            Some(Got::Tasks(tasks)) => tasks,
            _ => Vec::new(),
        }
    }

    /// Conditions; none if it is not there.
    pub fn conditions(&mut self, name: &str) -> Vec<Condition> {
        match self.take(name) {
            Some(Got::Conditions(conditions)) => conditions,
            _ => Vec::new(),
        }
    }

    /// `tasks`, `errors`, `finally`.
    pub fn block(&mut self) -> Block {
        Block {
            tasks: self.tasks("tasks"),
            errors: self.tasks("errors"),
            finally: self.tasks("finally"),
        }
    }

    /// A count that is at most `u32::MAX` by its description.
    pub fn small(&mut self, name: &str) -> Option<u32> {
        self.count(name).and_then(|count| u32::try_from(count).ok())
    }

    /// The path of a property.
    pub fn path_of(&self, name: &str) -> String {
        inside(&self.path, name)
    }
}

/// The path of a key within a map.
pub fn inside(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

impl Reader<'_> {
    /// Reads a map by its description. `whose` names it in what is told.
    pub fn fields(
        &mut self,
        entries: &[Entry],
        at: Position,
        path: &str,
        whose: &str,
        specs: &[&'static [PropertySpec]],
    ) -> Fields {
        let mut fields = Fields {
            at,
            path: path.to_owned(),
            got: Vec::new(),
            written: Vec::new(),
        };
        let all = || specs.iter().copied().flatten();
        let mut seen: Vec<(&'static str, &str)> = Vec::new();
        let mut meant: Vec<String> = Vec::new();
        for entry in entries {
            let path = inside(path, &entry.key);
            let Some(spec) = all().find(|spec| spec.is(&entry.key)) else {
                let usable = all().filter(|spec| !matches!(spec.kind, Kind::Refused(_)));
                let names = usable
                    .flat_map(|spec| std::iter::once(spec.name).chain(spec.old.iter().copied()));
                let near = self.near(&entry.key, names);
                let key = shortened(&entry.key);
                let detail = format!("`{key}` is no property of {whose}.");
                meant.extend(near.clone());
                self.problem_near(entry.at, &path, detail, near);
                continue;
            };
            if let Some((_, other)) = seen.iter().find(|(name, _)| *name == spec.name) {
                let detail = format!("This is the same as `{other}`, which is there too.");
                self.problem(entry.at, &path, detail);
                continue;
            }
            seen.push((spec.name, &entry.key));
            fields.written.push(spec.name);
            if let Kind::Refused(reason) = spec.kind {
                self.problem(entry.at, &path, format!("Not supported: {reason}"));
                continue;
            }
            if entry.value.is_null() && !matches!(spec.kind, Kind::Any | Kind::Value) {
                if spec.required {
                    self.problem(entry.at, &path, "It has no value, and needs one.");
                }
                continue;
            }
            if let Some(got) = self.value(&entry.value, &path, &spec.kind) {
                fields.got.push((spec.name, entry.value.at, got));
            }
        }
        for spec in all().filter(|spec| spec.required) {
            let misspelt = meant.iter().any(|name| spec.is(name));
            if !misspelt && !seen.iter().any(|(name, _)| *name == spec.name) {
                let detail = format!("`{}` is missing; {whose} needs it.", spec.name);
                self.problem(at, path, detail);
            }
        }
        fields
    }
}
