//! The text around expressions: prints, tags, comments.

use super::TemplateProblem;
use super::ast::{Expr, Node};
use super::catalog::{REFUSED_TAGS, TAGS};
use super::lex::{problem, tokens};
use super::nearest::nearest;
use super::parse::Parser;
use crate::limits::{MAX_EXPRESSION_BYTES, MAX_TAG_DEPTH};

/// A tag that is open.
enum Open {
    If {
        branches: Vec<(Expr, Vec<Node>)>,
        otherwise: Option<Vec<Node>>,
        offset: usize,
    },
    For {
        name: String,
        list: Expr,
        body: Vec<Node>,
        otherwise: Option<Vec<Node>>,
        offset: usize,
    },
}

impl Open {
    fn nodes(&mut self) -> Option<&mut Vec<Node>> {
        match self {
            Self::If {
                otherwise: Some(nodes),
                ..
            }
            | Self::For {
                otherwise: Some(nodes),
                ..
            } => Some(nodes),
            Self::If { branches, .. } => branches.last_mut().map(|(_, nodes)| nodes),
            Self::For { body, .. } => Some(body),
        }
    }

    fn name(&self) -> (&'static str, usize) {
        match self {
            Self::If { offset, .. } => ("if", *offset),
            Self::For { offset, .. } => ("for", *offset),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    top: Vec<Node>,
    open: Vec<Open>,
    /// Whether blanks at the beginning of the next text are left out.
    trim: bool,
    problems: Vec<TemplateProblem>,
}

/// Reads a template; all that is wrong with it at once.
pub(super) fn read(text: &str) -> Result<Vec<Node>, Vec<TemplateProblem>> {
    if text.len() > MAX_EXPRESSION_BYTES {
        let detail = format!(
            "a template may have {MAX_EXPRESSION_BYTES} bytes, this one has {}",
            text.len()
        );
        return Err(vec![problem(0, detail)]);
    }
    let mut reader = Reader {
        text,
        at: 0,
        top: Vec::new(),
        open: Vec::new(),
        trim: false,
        problems: Vec::new(),
    };
    reader.run();
    while let Some(open) = reader.open.pop() {
        let (name, offset) = open.name();
        reader
            .problems
            .push(problem(offset, format!("this `{name}` has no `end{name}`")));
    }
    if reader.problems.is_empty() {
        return Ok(reader.top);
    }
    reader.problems.sort_by_key(|found| found.offset);
    Err(reader.problems)
}

impl Reader<'_> {
    fn run(&mut self) {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let opening = ["{{", "{%", "{#"]
                .into_iter()
                .filter_map(|open| rest.find(open).map(|at| (at, open)));
            let Some((found, open)) = opening.min() else {
                self.plain(rest, false);
                return;
            };
            let offset = self.at + found;
            let before = &self.text[self.at..offset];
            let inner = offset + 2;
            let left = self.text[inner..].starts_with('-');
            self.plain(before, left);
            self.at = inner + usize::from(left);
            let done = match open {
                "{{" => self.print(offset),
                "{%" => self.tag(offset),
                _ => self.comment(offset),
            };
            if let Err(found) = done {
                self.problems.push(found);
                self.skip(if open == "{%" { "%}" } else { "}}" });
            }
        }
    }

    fn skip(&mut self, close: &str) {
        self.at = self.text[self.at..]
            .find(close)
            .map_or(self.text.len(), |found| self.at + found + 2);
    }

    fn push(&mut self, node: Node) {
        match self.open.last_mut().and_then(Open::nodes) {
            Some(nodes) => nodes.push(node),
            None => self.top.push(node),
        }
    }

    fn plain(&mut self, text: &str, trim_end: bool) {
        let mut text = text;
        if self.trim {
            text = text.trim_start();
        }
        if trim_end {
            text = text.trim_end();
        }
        self.trim = false;
        if !text.is_empty() {
            self.push(Node::Text(text.to_owned()));
        }
    }

    fn comment(&mut self, offset: usize) -> Result<(), TemplateProblem> {
        let Some(end) = self.text[self.at..].find("#}") else {
            self.at = self.text.len();
            return Err(problem(offset, "this comment has no `#}`"));
        };
        self.trim = self.text[self.at..self.at + end].ends_with('-');
        self.at += end + 2;
        Ok(())
    }

    /// Behind the last token: `-` takes the blanks of the next text away.
    fn close(&mut self, end: usize) {
        self.trim = self.text[end..].starts_with('-');
        self.at = end + 2 + usize::from(self.trim);
    }

    /// Reads the inside of one pair of braces. What is wrong inside it does not stop the reading behind it.
    fn inside<T>(
        &mut self,
        close: &str,
        read: impl FnOnce(&mut Parser<'_>) -> Result<T, TemplateProblem>,
    ) -> Result<Option<T>, TemplateProblem> {
        let (tokens, end) = tokens(self.text, self.at, close)?;
        self.close(end);
        let mut parser = Parser::new(&tokens);
        let found = read(&mut parser).and_then(|found| parser.end().map(|()| found));
        self.problems.append(&mut parser.problems);
        match found {
            Ok(found) => Ok(Some(found)),
            Err(found) => {
                self.problems.push(found);
                Ok(None)
            }
        }
    }

    fn print(&mut self, offset: usize) -> Result<(), TemplateProblem> {
        let empty = self.text[self.at..].trim_start().starts_with("}}");
        if empty {
            return Err(problem(offset, "there is no expression in these braces"));
        }
        if let Some(expr) = self.inside("}}", expression)? {
            self.push(Node::Print(expr));
        }
        Ok(())
    }

    fn tag(&mut self, offset: usize) -> Result<(), TemplateProblem> {
        let rest = &self.text[self.at..];
        let blanks = rest.len() - rest.trim_start().len();
        let word = &rest[blanks..];
        let length = word
            .find(|c: char| c != '_' && !c.is_alphanumeric())
            .unwrap_or(word.len());
        let name = word[..length].to_owned();
        let name_at = self.at + blanks;
        self.at = name_at + length;
        match name.as_str() {
            "raw" | "verbatim" => self.raw(&name, offset),
            "if" => {
                let condition = self.inside("%}", expression)?;
                let branches = vec![(condition.unwrap_or_else(null), Vec::new())];
                self.nest(Open::If {
                    branches,
                    otherwise: None,
                    offset,
                })
            }
            "for" => {
                let read = |parser: &mut Parser<'_>| {
                    let name = parser.name()?;
                    if !parser.eat_word("in") {
                        return Err(problem(parser.offset(), "`in` is expected"));
                    }
                    Ok((name, parser.expression()?))
                };
                let (name, list) = self
                    .inside("%}", read)?
                    .unwrap_or_else(|| (String::new(), null()));
                self.nest(Open::For {
                    name,
                    list,
                    body: Vec::new(),
                    otherwise: None,
                    offset,
                })
            }
            "set" => {
                let read = |parser: &mut Parser<'_>| {
                    let name = parser.name()?;
                    parser.expect("=")?;
                    Ok((name, parser.expression()?))
                };
                if let Some((name, value)) = self.inside("%}", read)? {
                    self.push(Node::Set { name, value });
                }
                Ok(())
            }
            "elseif" | "elif" | "elsif" => self.elseif(name_at),
            "else" => self.otherwise(name_at),
            "endif" | "endfor" => self.end(&name[3..], name_at),
            _ => Err(unknown(&name, name_at)),
        }
    }

    fn nest(&mut self, open: Open) -> Result<(), TemplateProblem> {
        let offset = open.name().1;
        self.open.push(open);
        if self.open.len() > MAX_TAG_DEPTH {
            self.at = self.text.len();
            self.open.clear();
            return Err(problem(offset, "tags are nested too deep here"));
        }
        Ok(())
    }

    fn elseif(&mut self, at: usize) -> Result<(), TemplateProblem> {
        let condition = self.inside("%}", expression)?.unwrap_or_else(null);
        if let Some(Open::If {
            branches,
            otherwise: None,
            ..
        }) = self.open.last_mut()
        {
            branches.push((condition, Vec::new()));
        } else {
            let detail = "there is no `if` for this `elseif`";
            self.problems.push(problem(at, detail));
        }
        Ok(())
    }

    fn otherwise(&mut self, at: usize) -> Result<(), TemplateProblem> {
        self.inside("%}", |_| Ok(()))?;
        match self.open.last_mut() {
            Some(Open::If { otherwise, .. } | Open::For { otherwise, .. })
                if otherwise.is_none() =>
            {
                *otherwise = Some(Vec::new());
            }
            _ => self
                .problems
                .push(problem(at, "there is no `if` or `for` for this `else`")),
        }
        Ok(())
    }

    fn end(&mut self, name: &str, at: usize) -> Result<(), TemplateProblem> {
        self.inside("%}", |_| Ok(()))?;
        match self.open.pop() {
            Some(Open::If {
                branches,
                otherwise,
                ..
            }) if name == "if" => {
                self.push(Node::If {
                    branches,
                    otherwise: otherwise.unwrap_or_default(),
                });
            }
            Some(Open::For {
                name: variable,
                list,
                body,
                otherwise,
                ..
            }) if name == "for" => {
                let otherwise = otherwise.unwrap_or_default();
                self.push(Node::For {
                    name: variable,
                    list,
                    body,
                    otherwise,
                });
            }
            Some(open) => {
                let wanted = open.name().0;
                self.problems.push(problem(
                    at,
                    format!("`end{wanted}` is expected, not `end{name}`"),
                ));
                self.open.push(open);
            }
            None => self.problems.push(problem(
                at,
                format!("there is no `{name}` for this `end{name}`"),
            )),
        }
        Ok(())
    }

    /// Nothing is rendered up to the tag that ends it.
    fn raw(&mut self, name: &str, offset: usize) -> Result<(), TemplateProblem> {
        self.inside("%}", |_| Ok(()))?;
        let rest = &self.text[self.at..];
        let mut from = 0;
        while let Some(found) = rest[from..].find("{%").map(|found| from + found) {
            let tag = &rest[found + 2..];
            let left = tag.starts_with('-');
            let tag = tag.strip_prefix('-').unwrap_or(tag).trim_start();
            let tail = tag
                .strip_prefix("end")
                .and_then(|tag| tag.strip_prefix(name))
                .map(str::trim_start);
            if let Some(tail) = tail
                && let right = tail.starts_with('-')
                && let Some(behind) = tail.strip_prefix('-').unwrap_or(tail).strip_prefix("%}")
            {
                self.plain(&rest[..found], left);
                self.trim = right;
                self.at = self.text.len() - behind.len();
                return Ok(());
            }
            from = found + 2;
        }
        self.at = self.text.len();
        Err(problem(offset, format!("this `{name}` has no `end{name}`")))
    }
}

/// [`Parser::expression`], for any lifetime.
fn expression(parser: &mut Parser<'_>) -> Result<Expr, TemplateProblem> {
    parser.expression()
}

fn null() -> Expr {
    Expr::new(0, super::ast::What::Literal(serde_json::Value::Null))
}

fn unknown(name: &str, at: usize) -> TemplateProblem {
    if name.is_empty() {
        return problem(at, "the name of a tag is expected");
    }
    if REFUSED_TAGS.contains(&name.trim_start_matches("end")) {
        return problem(
            at,
            format!("the tag `{name}` is not supported: templates are single texts"),
        );
    }
    let mut found = problem(at, format!("there is no tag `{name}`"));
    found.nearest = nearest(
        name,
        TAGS.iter().copied().chain(["endif", "endfor", "endraw"]),
    );
    found
}
