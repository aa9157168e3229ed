//! What is called is found, and its arguments are put into its order.

use super::TemplateProblem;
use super::ast::{Expr, What};
use super::catalog::{self, CallKind, Callable};
use super::lex::problem;
use super::nearest::nearest;
use super::parse::Parser;
use serde_json::Value;

impl Parser<'_> {
    /// Finds what is called and puts the arguments into its order. If that fails, the reading goes on with null.
    pub(super) fn call(
        &mut self,
        kind: CallKind,
        name: &str,
        given: Vec<Expr>,
        named: Vec<(String, Expr)>,
        at: usize,
    ) -> What {
        let arranged = match catalog::find(kind, name) {
            Some(callable) => arrange(callable, given, named, at),
            None => Err(unknown(kind, name, at)),
        };
        arranged.unwrap_or_else(|found| {
            self.problems.push(found);
            What::Literal(Value::Null)
        })
    }
}

fn unknown(kind: CallKind, name: &str, at: usize) -> TemplateProblem {
    let word = kind.word();
    if let Some(reason) = catalog::refused(kind, name) {
        return problem(
            at,
            format!("the {word} `{name}` is not supported: {reason}"),
        );
    }
    let other = match kind {
        CallKind::Function => CallKind::Filter,
        _ => CallKind::Function,
    };
    let mut found = problem(at, format!("there is no {word} `{name}`"));
    found.nearest = nearest(name, catalog::names(kind));
    if catalog::find(other, name).is_some() {
        found.detail = format!("`{name}` is a {}, not a {word}", other.word());
        found.nearest = None;
    }
    found
}

fn arrange(
    callable: &'static Callable,
    given: Vec<Expr>,
    named: Vec<(String, Expr)>,
    at: usize,
) -> Result<What, TemplateProblem> {
    let before = usize::from(callable.applied());
    let declared = callable.parameters.len() + before;
    let wrong = |detail: String| {
        problem(
            at,
            format!("the {} `{}` {detail}", callable.kind.word(), callable.name),
        )
    };
    if given.len() > declared && !callable.open_ended {
        return Err(wrong(format!(
            "takes {} at most",
            counted(callable.parameters.len())
        )));
    }
    let mut arguments: Vec<_> = given.into_iter().map(Some).collect();
    arguments.resize_with(arguments.len().max(declared), || None);
    for (name, value) in named {
        let Some(index) = callable.parameters.iter().position(|p| *p == name) else {
            let mut found = wrong(format!("has no argument `{name}`"));
            found.nearest = nearest(&name, callable.parameters.iter().copied());
            return Err(found);
        };
        let place = &mut arguments[index + before];
        if place.is_some() {
            return Err(wrong(format!("gets `{name}` twice")));
        }
        *place = Some(value);
    }
    let missing = (0..callable.required).find(|index| arguments[index + before].is_none());
    if let Some(name) = missing.map(|index| callable.parameters[index]) {
        return Err(wrong(format!("needs `{name}`")));
    }
    if let Some(check) = callable.check {
        let written: Vec<Option<&Value>> = arguments
            .iter()
            .map(|argument| written(argument.as_ref()?))
            .collect();
        check(&written).map_err(|detail| problem(at, detail))?;
    }
    Ok(What::Call {
        callable,
        arguments,
    })
}

fn written(expr: &Expr) -> Option<&Value> {
    match &expr.what {
        What::Literal(value) => Some(value),
        _ => None,
    }
}

fn counted(number: usize) -> String {
    match number {
        0 => "no arguments".to_owned(),
        1 => "one argument".to_owned(),
        _ => format!("{number} arguments"),
    }
}

pub(super) fn operation(
    name: &str,
    operands: Vec<Expr>,
    at: usize,
) -> Result<What, TemplateProblem> {
    let callable = catalog::find(CallKind::Operator, name)
        .ok_or_else(|| problem(at, format!("there is no operator `{name}`")))?;
    let arguments = operands.into_iter().map(Some).collect();
    Ok(What::Call {
        callable,
        arguments,
    })
}
