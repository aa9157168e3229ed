//! How a type of task, trigger or condition is described. One description serves the reader, the JSON Schema and the
//! table of what is supported.

use super::fields::Fields;
use super::reader::Reader;

/// What a property takes. Those of the first group may hold expressions and are rendered when they are needed; those
/// of the second are known when the flow is read.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    /// Anything.
    Any,
    /// A text; a number or a boolean is one as it is written.
    Text,
    /// A text or a list of texts.
    Lines,
    /// A boolean, or a text that is truthy or falsy.
    Truth,
    /// An ISO 8601 duration.
    Duration,
    /// A whole number.
    Whole,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A map.
    Map,
    /// A list, or a text that holds one.
    Items,
    /// A map, or a list of `key` and `value`.
    Labels,

    /// An expression or a text, not rendered to a value of the file.
    Expression,
    /// Keys with values that are rendered.
    Pairs,
    /// The same from a map, or a list of `key` and `value`.
    LabelPairs,
    /// True or false.
    Flag,
    /// A whole number between these.
    Count(u64, u64),
    /// A number above 0.
    Factor,
    /// A text without expressions.
    Plain,
    /// A text for readers; nothing in it is rendered.
    Prose,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// A name; which characters it takes.
    Name(Naming),
    /// An ISO 8601 duration, in milliseconds.
    Period,
    /// A schedule of five fields.
    Cron,
    /// A time zone.
    Zone,
    /// A regular expression.
    Pattern,
    /// Any value, not rendered.
    Value,
    /// A list of values, not rendered.
    Values,
    /// A map of values, not rendered.
    Variables,
    /// One task or more.
    Tasks,
    /// Tasks, or none.
    MoreTasks,
    /// Tasks by value.
    Cases,
    /// A task that undoes another.
    Undo,
    /// Triggers.
    Triggers,
    /// Conditions.
    Conditions,
    /// Inputs.
    Inputs,
    /// Outputs of the flow.
    Outputs,
    /// How something is tried again.
    Retry,
    /// `off`, `on`, or a map.
    Idempotency,
    /// Flows that a trigger waits for: one.
    Preconditions,
    /// Defaults of types.
    Defaults,
    /// A map with these properties.
    Object(&'static [PropertySpec]),
    /// Taken, without effect.
    Ignored,
    /// Not supported, and why.
    Refused(&'static str),
}

/// Which characters a name takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// `[a-zA-Z0-9][a-zA-Z0-9._-]*`.
    Flow,
    /// `[a-z0-9][a-z0-9._-]*`.
    Namespace,
    /// `[a-zA-Z0-9][a-zA-Z0-9_-]*`.
    Task,
    /// `[a-zA-Z0-9][a-zA-Z0-9_-]*`, parts of which are joined by dots.
    Input,
}

impl Naming {
    /// As a regular expression.
    pub fn pattern(self) -> &'static str {
        match self {
            Self::Flow => "[a-zA-Z0-9][a-zA-Z0-9._-]*",
            Self::Namespace => "[a-z0-9][a-z0-9._-]*",
            Self::Task => "[a-zA-Z0-9][a-zA-Z0-9_-]*",
            Self::Input => "[a-zA-Z0-9][.a-zA-Z0-9_-]*",
        }
    }

    /// Whether a name is one.
    pub fn fits(self, name: &str) -> bool {
        let first = |c: char| match self {
            Self::Namespace => c.is_ascii_lowercase() || c.is_ascii_digit(),
            _ => c.is_ascii_alphanumeric(),
        };
        let other = |c: char| {
            first(c) || matches!(c, '_' | '-') || (c == '.' && !matches!(self, Self::Task))
        };
        name.starts_with(first) && name.chars().all(other)
    }
}

/// A property.
#[derive(Clone, Copy, Debug)]
pub struct PropertySpec {
    /// Its name.
    pub name: &'static str,
    /// Other names of it.
    pub old: &'static [&'static str],
    /// What it takes.
    pub kind: Kind,
    /// Whether it has to be there.
    pub required: bool,
    /// What it is for.
    pub doc: &'static str,
}

/// A property that has to be there.
pub const fn need(name: &'static str, kind: Kind, doc: &'static str) -> PropertySpec {
    PropertySpec {
        name,
        old: &[],
        kind,
        required: true,
        doc,
    }
}

/// A property that may be there.
pub const fn may(name: &'static str, kind: Kind, doc: &'static str) -> PropertySpec {
    PropertySpec {
        required: false,
        ..need(name, kind, doc)
    }
}

/// A property that is taken, without effect.
pub const fn ignored(name: &'static str) -> PropertySpec {
    may(name, Kind::Ignored, "Taken, without effect.")
}

/// A property that is not supported.
pub const fn refused(name: &'static str, reason: &'static str) -> PropertySpec {
    may(name, Kind::Refused(reason), reason)
}

impl PropertySpec {
    /// With other names.
    pub const fn or(self, old: &'static [&'static str]) -> Self {
        Self { old, ..self }
    }

    /// Whether this is one of its names.
    pub fn is(&self, name: &str) -> bool {
        self.name == name || self.old.contains(&name)
    }
}

/// What is told of a type.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// What it is for.
    pub doc: &'static str,
    /// Its own properties, besides those that all of its group have.
    pub properties: &'static [PropertySpec],
}

impl About {
    /// The name without the part that all have: `kv.Get`.
    pub fn short(&self) -> &'static str {
        self.name
            .strip_prefix("io.kestra.plugin.core.")
            .or_else(|| self.name.strip_prefix("io.kestra.plugin."))
            .unwrap_or(self.name)
    }
}

/// A type, with what makes it from its properties.
pub struct TypeSpec<T> {
    /// What is told of it.
    pub about: About,
    /// Makes it.
    pub build: fn(&mut Fields, &mut Reader<'_>) -> T,
}

/// The type with this name.
pub fn find<T: 'static>(
    mut types: impl Iterator<Item = &'static TypeSpec<T>>,
    name: &str,
) -> Option<&'static TypeSpec<T>> {
    types.find(|spec| spec.about.name == name || spec.about.aliases.contains(&name))
}
