//! What a template says.

use super::catalog::Callable;
use serde_json::Value;

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) what: What,
    pub(super) offset: usize,
    /// How deep it is nested, itself included.
    pub(super) depth: usize,
}

/// How `a ?? b` looks at `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coalesce {
    /// `??`: neither missing nor null.
    Null,
    /// `???`: not missing.
    Missing,
}

/// Part of a path.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// `.name`, `['name']` or `[0]`.
    Fixed(String),
    /// `[…]`.
    Of(Expr),
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub(super) enum What {
    Literal(Value),
    /// A variable, of the template or of the surroundings.
    Variable {
        name: String,
        path: Vec<Step>,
    },
    /// A path behind anything else.
    Path {
        of: Box<Expr>,
        path: Vec<Step>,
    },
    /// A function, filter, test or operator; arguments as declared, those that are not given are `None`.
    Call {
        callable: &'static Callable,
        arguments: Vec<Option<Expr>>,
    },
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Coalesce(Coalesce, Vec<Expr>),
    Choice {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
}

/// A part of a template.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Text(String),
    Print(Expr),
    If {
        branches: Vec<(Expr, Vec<Node>)>,
        otherwise: Vec<Node>,
    },
    For {
        name: String,
        list: Expr,
        body: Vec<Node>,
        otherwise: Vec<Node>,
    },
    Set {
        name: String,
        value: Expr,
    },
}

impl Expr {
    /// The expressions in it.
    pub(super) fn children(&self) -> Vec<&Expr> {
        fn of(path: &[Step]) -> impl Iterator<Item = &Expr> {
            path.iter().filter_map(|step| match step {
                Step::Fixed(_) => None,
                Step::Of(expr) => Some(expr),
            })
        }
        match &self.what {
            What::Literal(_) => Vec::new(),
            What::Variable { path, .. } => of(path).collect(),
            What::Path { of: base, path } => std::iter::once(&**base).chain(of(path)).collect(),
            What::Call { arguments, .. } => arguments.iter().flatten().collect(),
            What::List(all) | What::And(all) | What::Or(all) | What::Coalesce(_, all) => {
                all.iter().collect()
            }
            What::Map(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
            What::Choice {
                condition,
                then,
                otherwise,
            } => vec![condition, then, otherwise],
        }
    }

    pub(super) fn new(offset: usize, what: What) -> Self {
        let mut expr = Self {
            what,
            offset,
            depth: 1,
        };
        expr.depth += expr
            .children()
            .iter()
            .map(|child| child.depth)
            .max()
            .unwrap_or(0);
        expr
    }
}
