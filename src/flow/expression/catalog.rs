//! What expressions can call, and what they can't.

use super::call::Call;
use super::cell::Cell;
use super::halt::Halt;
use serde_json::Value;

/// What is called.
pub(super) type Body = fn(&Call<'_>) -> Result<Cell, Halt>;

/// Looks at arguments when a template is compiled; those that are not written down are `None`.
pub(super) type Check = fn(&[Option<&Value>]) -> Result<(), String>;

/// Kinds of what is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    Function,
    Filter,
    Test,
    Operator,
}

impl CallKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Filter => "filter",
            Self::Test => "test",
            Self::Operator => "operator",
        }
    }
}

/// A function, filter, test or operator.
pub(super) struct Callable {
    pub(super) kind: CallKind,
    pub(super) name: &'static str,
    /// Names of its arguments; of a filter and a test without what they are applied to, which is the first of all.
    pub(super) parameters: &'static [&'static str],
    /// How many of them have to be given.
    pub(super) required: usize,
    /// Whether more may follow.
    pub(super) open_ended: bool,
    /// Whether what it is applied to may be missing.
    pub(super) tolerant: bool,
    /// Variables that it sees; they come behind its arguments.
    pub(super) surroundings: &'static [&'static str],
    /// What is wrong with arguments that are written down.
    pub(super) check: Option<Check>,
    pub(super) body: Body,
}

impl std::fmt::Debug for Callable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.word(), self.name)
    }
}

impl Callable {
    const fn new(
        kind: CallKind,
        name: &'static str,
        parameters: &'static [&'static str],
        required: usize,
        body: Body,
    ) -> Self {
        Self {
            kind,
            name,
            parameters,
            required,
            open_ended: false,
            tolerant: false,
            surroundings: &[],
            check: None,
            body,
        }
    }

    pub(super) const fn function(
        name: &'static str,
        parameters: &'static [&'static str],
        required: usize,
        body: Body,
    ) -> Self {
        Self::new(CallKind::Function, name, parameters, required, body)
    }

    pub(super) const fn filter(
        name: &'static str,
        parameters: &'static [&'static str],
        required: usize,
        body: Body,
    ) -> Self {
        Self::new(CallKind::Filter, name, parameters, required, body)
    }

    pub(super) const fn test(name: &'static str, body: Body) -> Self {
        Self::new(CallKind::Test, name, &[], 0, body)
    }

    pub(super) const fn operator(
        name: &'static str,
        parameters: &'static [&'static str],
        body: Body,
    ) -> Self {
        Self::new(CallKind::Operator, name, parameters, parameters.len(), body)
    }

    /// It takes more arguments than it names.
    pub(super) const fn open_ended(mut self) -> Self {
        self.open_ended = true;
        self
    }

    /// It takes what is missing.
    pub(super) const fn tolerant(mut self) -> Self {
        self.tolerant = true;
        self
    }

    /// It sees these variables.
    pub(super) const fn sees(mut self, roots: &'static [&'static str]) -> Self {
        self.surroundings = roots;
        self
    }

    /// Its arguments are looked at when the template is compiled.
    pub(super) const fn checked(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// Whether the first argument stands before the name.
    pub(super) fn applied(&self) -> bool {
        matches!(self.kind, CallKind::Filter | CallKind::Test)
    }
}

/// Names that authors know and that are not there, with the reason.
const REFUSED: &[(CallKind, &str, &str)] = &[
    (
        CallKind::Function,
        "read",
        "there are no files; pass the value through `outputs` or `kv`",
    ),
    (CallKind::Function, "fileURI", "there are no files"),
    (CallKind::Function, "fileSize", "there are no files"),
    (CallKind::Function, "fileExists", "there are no files"),
    (CallKind::Function, "fileEmpty", "there are no files"),
    (CallKind::Function, "isFileEmpty", "there are no files"),
    (
        CallKind::Function,
        "fromIon",
        "there are no files in the Ion format",
    ),
    (
        CallKind::Function,
        "ionDecode",
        "there are no files in the Ion format",
    ),
    (
        CallKind::Function,
        "http",
        "a request is a task of its own: `http.Request`",
    ),
    (
        CallKind::Function,
        "encrypt",
        "keys do not belong into expressions; use `secret`",
    ),
    (
        CallKind::Function,
        "decrypt",
        "keys do not belong into expressions; use `secret`",
    ),
    (
        CallKind::Function,
        "printContext",
        "it would print everything that the flow knows",
    ),
    (
        CallKind::Function,
        "fetchContext",
        "it would show everything that the flow knows",
    ),
    (CallKind::Function, "appLink", "there are no apps"),
    (CallKind::Function, "block", "templates do not inherit"),
    (CallKind::Function, "parent", "templates do not inherit"),
    (
        CallKind::Filter,
        "toIon",
        "there are no files in the Ion format",
    ),
    (CallKind::Filter, "md5", "it is broken; use `sha256`"),
    (CallKind::Filter, "string", "`~ ''` makes a text of a value"),
    (CallKind::Filter, "raw", "nothing is escaped"),
    (
        CallKind::Filter,
        "escape",
        "nothing is HTML here; see `escapeChar`",
    ),
];

/// Tags that authors know and that are not there.
pub(super) const REFUSED_TAGS: &[&str] = &[
    "autoescape",
    "block",
    "cache",
    "embed",
    "extends",
    "filter",
    "flush",
    "from",
    "import",
    "include",
    "macro",
    "parallel",
];

/// Tags that are there.
pub(super) const TAGS: &[&str] = &["if", "elseif", "else", "for", "set", "raw", "verbatim"];

/// Variables that there are.
pub(super) const ROOTS: &[&str] = &[
    "flow",
    "execution",
    "inputs",
    "outputs",
    "labels",
    "tasks",
    "trigger",
    "vars",
    "taskrun",
    "task",
    "parent",
    "parents",
    "error",
    "errorLogs",
    "envs",
    "globals",
    "namespace",
];

/// Operators that the engine or the parser has itself.
const OWN_OPERATORS: &[&str] = &[
    "and", "or", "??", "???", "? :", "is", "is not", "|", ".", "[]",
];

fn all() -> impl Iterator<Item = &'static Callable> {
    super::tables().into_iter().flatten()
}

/// Looks one up.
pub(super) fn find(kind: CallKind, name: &str) -> Option<&'static Callable> {
    all().find(|callable| callable.kind == kind && callable.name == name)
}

/// Why there is no such thing, if that is known.
pub(super) fn refused(kind: CallKind, name: &str) -> Option<&'static str> {
    REFUSED
        .iter()
        .find(|(of, refused, _)| *of == kind && *refused == name)
        .map(|(_, _, reason)| *reason)
}

/// Names of one kind.
pub(super) fn names(kind: CallKind) -> Vec<&'static str> {
    let mut names: Vec<_> = all().filter(|c| c.kind == kind).map(|c| c.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What expressions support, by kind: functions, filters, tests, operators, tags, variables.
///
/// ```
/// let supported = onceward::flow::expression::supported();
/// assert!(supported.iter().any(|(kind, names)| *kind == "filter" && names.contains(&"upper")));
/// ```
pub fn supported() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut operators = names(CallKind::Operator);
    operators.extend(OWN_OPERATORS);
    operators.sort_unstable();
    vec![
        ("function", names(CallKind::Function)),
        ("filter", names(CallKind::Filter)),
        ("test", names(CallKind::Test)),
        ("operator", operators),
        ("tag", TAGS.to_vec()),
        ("variable", ROOTS.to_vec()),
    ]
}

/// What expressions refuse: kind, name and the reason.
///
/// ```
/// let refused = onceward::flow::expression::unsupported();
/// assert!(refused.iter().any(|(kind, name, _)| *kind == "function" && *name == "read"));
/// ```
pub fn unsupported() -> Vec<(&'static str, &'static str, &'static str)> {
    let calls = REFUSED
        .iter()
        .map(|(kind, name, reason)| (kind.word(), *name, *reason));
    let tags = REFUSED_TAGS
        .iter()
        .map(|name| ("tag", *name, "templates are single texts"));
    calls.chain(tags).collect()
}
