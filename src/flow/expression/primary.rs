//! The parts of expressions between operators.

use super::arrange::operation;
use super::ast::{Expr, Step, What};
use super::catalog::CallKind;
use super::lex::{Kind, Piece, problem};
use super::parse::{Parsed, Parser};
use serde_json::Value;

impl<'a> Parser<'a> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let token = self.ahead(0);
        let offset = token.offset;
        let what = match &token.kind {
            Kind::Number(text) => {
                self.at += 1;
                let number = text.trim_start_matches('0');
                let whole = number.is_empty() || number.starts_with('.');
                let number = if whole {
                    format!("0{number}")
                } else {
                    number.to_owned()
                };
                What::Literal(number.parse().map(Value::Number).unwrap_or_default())
            }
            Kind::Text(pieces) => {
                self.at += 1;
                self.text(pieces, offset)?
            }
            Kind::Name(name) => {
                self.at += 1;
                match name.as_str() {
                    "true" | "TRUE" => What::Literal(Value::Bool(true)),
                    "false" | "FALSE" => What::Literal(Value::Bool(false)),
                    "null" | "NULL" | "none" | "NONE" => What::Literal(Value::Null),
                    _ if self.is("(") => {
                        let (given, named) = self.arguments()?;
                        self.call(CallKind::Function, name, given, named, offset)
                    }
                    _ => What::Variable {
                        name: name.clone(),
                        path: Vec::new(),
                    },
                }
            }
            Kind::Symbol("(") => {
                self.at += 1;
                let inner = self.nested(Self::expression)?;
                self.expect(")")?;
                return Ok(inner);
            }
            Kind::Symbol("[") => {
                self.at += 1;
                What::List(self.list("]", |parser| parser.nested(Self::expression))?)
            }
            Kind::Symbol("{") => {
                self.at += 1;
                What::Map(self.list("}", |parser| {
                    let key = parser.nested(Self::expression)?;
                    parser.expect(":")?;
                    Ok((key, parser.nested(Self::expression)?))
                })?)
            }
            _ => return Err(self.unexpected("a value is expected")),
        };
        self.made(offset, what)
    }

    fn text(&mut self, pieces: &'a [Piece], offset: usize) -> Parsed<What> {
        let mut parts = Vec::new();
        for piece in pieces {
            parts.push(match piece {
                Piece::Text(text) => Expr::new(offset, What::Literal(text.clone().into())),
                Piece::Expression(tokens) => {
                    let mut inner = Parser::new(tokens);
                    inner.depth = self.depth;
                    let expr = inner.nested(Self::expression)?;
                    inner.end()?;
                    self.problems.append(&mut inner.problems);
                    expr
                }
            });
        }
        match (parts.len(), parts.pop()) {
            (
                1,
                Some(Expr {
                    what: What::Literal(text),
                    ..
                }),
            ) => Ok(What::Literal(text)),
            (_, last) => {
                parts.extend(last);
                operation("~", parts, offset)
            }
        }
    }

    fn list<T>(
        &mut self,
        close: &str,
        mut one: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut all = Vec::new();
        while !self.eat(close) {
            if !all.is_empty() {
                self.expect(",")?;
            }
            all.push(one(self)?);
        }
        Ok(all)
    }

    pub(super) fn postfix(&mut self, base: Expr) -> Parsed<Expr> {
        let mut path = Vec::new();
        loop {
            if self.eat(".") {
                let at = self.offset();
                path.push(Step::Fixed(self.name()?));
                if self.is("(") {
                    return Err(problem(at, "values have no methods; use a filter"));
                }
            } else if self.eat("[") {
                let index = self.nested(Self::expression)?;
                self.expect("]")?;
                path.push(match index.what {
                    What::Literal(Value::String(text)) => Step::Fixed(text),
                    What::Literal(Value::Number(number)) => Step::Fixed(number.to_string()),
                    _ => Step::Of(index),
                });
            } else {
                break;
            }
        }
        if path.is_empty() {
            return Ok(base);
        }
        let offset = base.offset;
        let what = match base.what {
            What::Variable {
                name,
                path: mut begun,
            } => {
                begun.append(&mut path);
                What::Variable { name, path: begun }
            }
            _ => What::Path {
                of: Box::new(base),
                path,
            },
        };
        self.made(offset, what)
    }

    #[allow(clippy::type_complexity)]
    pub(super) fn arguments(&mut self) -> Parsed<(Vec<Expr>, Vec<(String, Expr)>)> {
        self.expect("(")?;
        let mut named = Vec::new();
        let given = self.list(")", |parser| {
            let at = parser.offset();
            let name = if parser.is_at(1, "=") {
                Some(parser.name()?)
            } else {
                None
            };
            if name.is_some() {
                parser.expect("=")?;
            }
            let value = parser.nested(Self::expression)?;
            match name {
                None if !named.is_empty() => {
                    Err(problem(at, "arguments without a name come first"))
                }
                None => Ok(Some(value)),
                Some(name) => {
                    named.push((name, value));
                    Ok(None)
                }
            }
        })?;
        Ok((given.into_iter().flatten().collect(), named))
    }
}
