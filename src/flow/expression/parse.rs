//! Tokens become expressions.

use super::TemplateProblem;
use super::arrange::operation;
use super::ast::{Coalesce, Expr, What};
use super::catalog::CallKind;
use super::lex::{Kind, Token, problem};
use crate::limits::MAX_EXPRESSION_DEPTH;

/// What stands between two operands, and how tight it binds.
enum Infix {
    And,
    Or,
    Coalesce(Coalesce),
    Test,
    Filter,
    Concat,
    Operator(&'static str),
    NotIn,
}

/// Longest chain of `and`, `or` or `??`: the engine reads one by recursion.
const MAX_CHAIN: usize = 64;

/// `not` binds less than a comparison: `not a == b` says that they differ.
const NOT: u8 = 16;
const SIGN: u8 = 130;

fn infix(token: &Token, next: &Token) -> Option<(Infix, u8)> {
    Some(match &token.kind {
        Kind::Name(word) => match word.as_str() {
            "or" => (Infix::Or, 10),
            "and" => (Infix::And, 15),
            "is" => (Infix::Test, 20),
            "contains" => (Infix::Operator("contains"), 20),
            "in" => (Infix::Operator("in"), 20),
            "matches" => (Infix::Operator("matches"), 20),
            "not" if next.kind == Kind::Name("in".to_owned()) => (Infix::NotIn, 20),
            "equals" => (Infix::Operator("=="), 30),
            _ => return None,
        },
        Kind::Symbol(symbol) => match *symbol {
            "==" | "!=" | ">" | "<" | ">=" | "<=" => (Infix::Operator(symbol), 30),
            "+" | "-" => (Infix::Operator(symbol), 40),
            "*" | "/" | "%" => (Infix::Operator(symbol), 60),
            "|" => (Infix::Filter, 100),
            "~" => (Infix::Concat, 110),
            ".." => (Infix::Operator(".."), 120),
            "??" => (Infix::Coalesce(Coalesce::Null), 120),
            "???" => (Infix::Coalesce(Coalesce::Missing), 120),
            _ => return None,
        },
        _ => return None,
    })
}

/// Reads expressions from tokens.
pub(super) struct Parser<'a> {
    tokens: &'a [Token],
    pub(super) at: usize,
    pub(super) depth: usize,
    /// What is wrong but does not end the reading.
    pub(super) problems: Vec<TemplateProblem>,
}

pub(super) type Parsed<T> = Result<T, TemplateProblem>;

impl<'a> Parser<'a> {
    /// `tokens` ends with [`Kind::End`].
    pub(super) fn new(tokens: &'a [Token]) -> Self {
        Self {
            tokens,
            at: 0,
            depth: 0,
            problems: Vec::new(),
        }
    }

    pub(super) fn ahead(&self, by: usize) -> &'a Token {
        &self.tokens[(self.at + by).min(self.tokens.len() - 1)]
    }

    pub(super) fn offset(&self) -> usize {
        self.ahead(0).offset
    }

    pub(super) fn is(&self, symbol: &str) -> bool {
        self.is_at(0, symbol)
    }

    pub(super) fn is_at(&self, by: usize, symbol: &str) -> bool {
        matches!(&self.ahead(by).kind, Kind::Symbol(s) if *s == symbol)
    }

    /// Takes this symbol if it comes next.
    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    /// Takes this word if it comes next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(&self.ahead(0).kind, Kind::Name(name) if name == word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.eat(symbol) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{symbol}` is expected")))
    }

    pub(super) fn end(&self) -> Parsed<()> {
        match self.ahead(0).kind {
            Kind::End => Ok(()),
            _ => Err(self.unexpected("an operator or the end is expected")),
        }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> TemplateProblem {
        let got = match &self.ahead(0).kind {
            Kind::Name(name) => format!("`{name}`"),
            Kind::Number(number) => format!("`{number}`"),
            Kind::Text(_) => "a text".to_owned(),
            Kind::Symbol(symbol) => format!("`{symbol}`"),
            Kind::End => "the end of the expression".to_owned(),
        };
        let mut found = problem(self.offset(), format!("{wanted}, not {got}"));
        found.nearest = match &self.ahead(0).kind {
            Kind::Symbol("&&") => Some("and".to_owned()),
            Kind::Symbol("||") => Some("or".to_owned()),
            Kind::Symbol("=") => Some("==".to_owned()),
            _ => None,
        };
        found
    }

    pub(super) fn name(&mut self) -> Parsed<String> {
        match &self.ahead(0).kind {
            Kind::Name(name) => {
                self.at += 1;
                Ok(name.clone())
            }
            _ => Err(self.unexpected("a name is expected")),
        }
    }

    pub(super) fn made(&self, offset: usize, what: What) -> Parsed<Expr> {
        let expr = Expr::new(offset, what);
        if expr.depth + self.depth > MAX_EXPRESSION_DEPTH {
            return Err(problem(offset, "this is nested too deep"));
        }
        Ok(expr)
    }

    /// A whole expression.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let condition = self.binary(0)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let then = Box::new(self.nested(Self::expression)?);
        self.expect(":")?;
        let otherwise = Box::new(self.nested(Self::expression)?);
        let condition = Box::new(condition);
        self.made(
            condition.offset,
            What::Choice {
                condition,
                then,
                otherwise,
            },
        )
    }

    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > MAX_EXPRESSION_DEPTH {
            return Err(problem(self.offset(), "this is nested too deep"));
        }
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let Some((operator, binds)) = infix(self.ahead(0), self.ahead(1)) {
            if binds < least {
                break;
            }
            let at = self.offset();
            self.at += 1 + usize::from(matches!(operator, Infix::NotIn));
            left = match operator {
                Infix::Filter => self.filter(left)?,
                Infix::Test => self.test(left, at)?,
                operator => {
                    let right = self.nested(|parser| parser.binary(binds + 1))?;
                    self.joined(&operator, left, right, at)?
                }
            };
        }
        Ok(left)
    }

    /// Chains of the same operator stay flat.
    fn joined(&self, operator: &Infix, left: Expr, right: Expr, at: usize) -> Parsed<Expr> {
        let chained = match &left.what {
            What::And(all) | What::Or(all) | What::Coalesce(_, all) => all.len(),
            _ => 0,
        };
        if chained >= MAX_CHAIN {
            return Err(problem(at, format!("a chain may have {MAX_CHAIN} parts")));
        }
        let offset = left.offset;
        let what = match (operator, left.what) {
            (Infix::And, What::And(mut all)) => {
                all.push(right);
                What::And(all)
            }
            (Infix::Or, What::Or(mut all)) => {
                all.push(right);
                What::Or(all)
            }
            (Infix::Coalesce(kind), What::Coalesce(of, mut all)) if *kind == of => {
                all.push(right);
                What::Coalesce(of, all)
            }
            (
                Infix::Concat,
                What::Call {
                    callable,
                    mut arguments,
                },
            ) if callable.name == "~" => {
                arguments.push(Some(right));
                What::Call {
                    callable,
                    arguments,
                }
            }
            (operator, what) => {
                let left = Expr {
                    what,
                    offset,
                    depth: left.depth,
                };
                match operator {
                    Infix::And => What::And(vec![left, right]),
                    Infix::Or => What::Or(vec![left, right]),
                    Infix::Coalesce(kind) => What::Coalesce(*kind, vec![left, right]),
                    Infix::Concat => operation("~", vec![left, right], at)?,
                    Infix::NotIn => {
                        let within = Expr::new(at, operation("in", vec![left, right], at)?);
                        operation("not", vec![within], at)?
                    }
                    Infix::Operator(name) => operation(name, vec![left, right], at)?,
                    Infix::Filter | Infix::Test => {
                        return Err(problem(at, "nothing to apply this to"));
                    }
                }
            }
        };
        self.made(offset, what)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let offset = self.offset();
        let (name, binds) = if self.eat_word("not") {
            ("not", NOT)
        } else if self.eat("-") {
            ("negative", SIGN)
        } else if self.eat("+") {
            ("positive", SIGN)
        } else {
            let primary = self.primary()?;
            return self.postfix(primary);
        };
        let operand = self.nested(|parser| parser.binary(binds))?;
        self.made(offset, operation(name, vec![operand], offset)?)
    }

    fn filter(&mut self, input: Expr) -> Parsed<Expr> {
        let at = self.offset();
        let name = self.name()?;
        let (mut given, named) = if self.is("(") {
            self.arguments()?
        } else {
            Default::default()
        };
        let offset = input.offset;
        given.insert(0, input);
        let what = self.call(CallKind::Filter, &name, given, named, at);
        self.made(offset, what)
    }

    fn test(&mut self, input: Expr, at: usize) -> Parsed<Expr> {
        let not = self.eat_word("not");
        let named_at = self.offset();
        let name = self.name()?;
        let offset = input.offset;
        let what = self.call(CallKind::Test, &name, vec![input], Vec::new(), named_at);
        let test = self.made(offset, what)?;
        if not {
            self.made(offset, operation("not", vec![test], at)?)
        } else {
            Ok(test)
        }
    }
}
