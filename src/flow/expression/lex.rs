//! The text of an expression, cut into tokens.

use super::TemplateProblem;

/// A piece of a double-quoted text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// As it is.
    Text(String),
    /// `#{ … }`.
    Expression(Vec<Token>),
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A name, or an operator that is a word.
    Name(String),
    /// A number as written.
    Number(String),
    /// A text.
    Text(Vec<Piece>),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// After the last one.
    End,
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) offset: usize,
}

/// Texts within expressions within texts.
const MAX_TEXTS_WITHIN: usize = 4;

/// Longer ones first.
const SYMBOLS: [&str; 29] = [
    "???", "??", "==", "!=", ">=", "<=", "..", "&&", "||", "=", ">", "<", "+", "-", "*", "/", "%",
    "|", "~", "(", ")", "[", "]", "{", "}", "?", ":", ".", ",",
];

pub(super) fn problem(offset: usize, detail: impl Into<String>) -> TemplateProblem {
    TemplateProblem {
        offset,
        detail: detail.into(),
        nearest: None,
    }
}

/// Reads tokens from `start` up to `close`, and says where it ended.
pub(super) fn tokens(
    text: &str,
    start: usize,
    close: &str,
) -> Result<(Vec<Token>, usize), TemplateProblem> {
    tokens_within(text, start, close, 0)
}

fn tokens_within(
    text: &str,
    start: usize,
    close: &str,
    within: usize,
) -> Result<(Vec<Token>, usize), TemplateProblem> {
    let mut lexer = Lexer {
        text,
        at: start,
        found: Vec::new(),
        open: Vec::new(),
        within,
    };
    lexer.run(close)?;
    lexer.found.push(Token {
        kind: Kind::End,
        offset: lexer.at,
    });
    Ok((lexer.found, lexer.at))
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    found: Vec<Token>,
    open: Vec<(&'static str, usize)>,
    /// Texts around this one.
    within: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn run(&mut self, close: &str) -> Result<(), TemplateProblem> {
        let start = self.at;
        loop {
            let blank = self.rest().len() - self.rest().trim_start().len();
            self.at += blank;
            let rest = self.rest();
            if self.open.is_empty() && rest.starts_with(close) {
                return Ok(());
            }
            // `-}}` takes the blanks behind it away.
            if self.open.is_empty()
                && close.len() == 2
                && rest.starts_with('-')
                && rest[1..].starts_with(close)
            {
                return Ok(());
            }
            let Some(first) = rest.chars().next() else {
                return Err(match self.open.last() {
                    Some((bracket, at)) => problem(*at, format!("this `{bracket}` is not closed")),
                    None => problem(start.saturating_sub(2), format!("`{close}` is missing")),
                });
            };
            self.token(first)?;
        }
    }

    fn token(&mut self, first: char) -> Result<(), TemplateProblem> {
        let offset = self.at;
        let rest = self.rest();
        let kind = if first == '_' || first.is_alphabetic() {
            let end = rest
                .find(|c: char| c != '_' && !c.is_alphanumeric())
                .unwrap_or(rest.len());
            let name = rest[..end].to_owned();
            self.at += end;
            Kind::Name(name)
        } else if first.is_ascii_digit() {
            Kind::Number(self.number())
        } else if first == '\'' || first == '"' {
            Kind::Text(self.quoted(first)?)
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            self.at += symbol.len();
            self.bracket(symbol, offset)?;
            Kind::Symbol(symbol)
        } else {
            return Err(problem(offset, format!("`{first}` means nothing here")));
        };
        self.found.push(Token { kind, offset });
        Ok(())
    }

    fn number(&mut self) -> String {
        let rest = self.rest();
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut end = digits(rest);
        let fraction = rest[end..].strip_prefix('.').map_or(0, digits);
        if fraction > 0 {
            end += 1 + fraction;
        }
        let number = rest[..end].to_owned();
        self.at += end;
        // `5L` is a long one; all are.
        if fraction == 0 && self.rest().starts_with('L') {
            self.at += 1;
        }
        number
    }

    fn bracket(&mut self, symbol: &'static str, offset: usize) -> Result<(), TemplateProblem> {
        let opens = match symbol {
            "(" | "[" | "{" => {
                self.open.push((symbol, offset));
                return Ok(());
            }
            ")" => "(",
            "]" => "[",
            "}" => "{",
            _ => return Ok(()),
        };
        match self.open.pop() {
            Some((bracket, _)) if bracket == opens => Ok(()),
            Some((bracket, at)) => Err(problem(at, format!("this `{bracket}` is not closed"))),
            None => Err(problem(offset, format!("`{symbol}` closes nothing"))),
        }
    }

    /// Only the quote itself and the backslash are escaped; `\n` stays what it is.
    fn quoted(&mut self, quote: char) -> Result<Vec<Piece>, TemplateProblem> {
        let start = self.at;
        self.at += 1;
        let mut pieces = Vec::new();
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let mut chars = rest.chars();
            match (chars.next(), chars.next()) {
                (None, _) => return Err(problem(start, format!("this {quote} is not closed"))),
                (Some(c), _) if c == quote => {
                    self.at += 1;
                    break;
                }
                (Some('\\'), Some(next)) => {
                    if next != quote && next != '\\' {
                        text.push('\\');
                    }
                    text.push(next);
                    self.at += 1 + next.len_utf8();
                }
                (Some('#'), Some('{')) if quote == '"' => {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    if self.within >= MAX_TEXTS_WITHIN {
                        return Err(problem(self.at, "texts within texts go too deep here"));
                    }
                    let (inner, end) = tokens_within(self.text, self.at + 2, "}", self.within + 1)?;
                    pieces.push(Piece::Expression(inner));
                    self.at = end + 1;
                }
                (Some(c), _) => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
        if !text.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(pieces)
    }
}
