//! Places in a file: of a byte of a scalar's text, whatever the scalar is written like.

use super::{Node, Scalar, Style};
use crate::flow::diagnostic::Position;
use crate::flow::yaml::Kind;

/// The text of a file, with the beginnings of its lines.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    text: &'a str,
    lines: Vec<usize>,
}

/// The text without a byte order mark.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

impl<'a> Source<'a> {
    /// Of a text that is read with [`super::parse`].
    pub fn new(text: &'a str) -> Self {
        let text = without_mark(text);
        let mut lines = vec![0];
        let bytes = text.as_bytes();
        for (index, byte) in bytes.iter().enumerate() {
            let ends = match byte {
                b'\n' => true,
                b'\r' => bytes.get(index + 1) != Some(&b'\n'),
                _ => false,
            };
            if ends {
                lines.push(index + 1);
            }
        }
        Self { text, lines }
    }

    /// One line, without its end.
    pub fn line(&self, line: u32) -> &'a str {
        let index = line as usize;
        let from = *self.lines.get(index.saturating_sub(1)).unwrap_or(&0);
        let to = *self.lines.get(index).unwrap_or(&self.text.len());
        self.text[from..to].trim_end_matches(['\n', '\r'])
    }

    /// How many lines there are.
    pub fn lines(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    fn byte_at(&self, at: Position) -> usize {
        let line = *self
            .lines
            .get((at.line as usize).saturating_sub(1))
            .unwrap_or(&self.text.len());
        let column = (at.column as usize).saturating_sub(1);
        let rest = &self.text[line..];
        let within = rest.char_indices().nth(column).map(|(index, _)| index);
        line + within.unwrap_or(rest.len())
    }

    /// The place of a byte of the file.
    pub fn position(&self, byte: usize) -> Position {
        let index = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines[index.saturating_sub(1)];
        let column = self.text[start..byte].chars().count() + 1;
        Position {
            line: u32::try_from(index).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    /// Where a byte of a scalar's text stands in the file. Escapes, folds and the indentation of blocks are counted
    /// with; where the two texts can't be laid side by side, it is the beginning of the scalar.
    ///
    /// ```
    /// # use onceward::flow::yaml::{parse, Source};
    /// let text = "a: |\n  one\n  two\n";
    /// let root = parse(text).root.expect("a document");
    /// let at = Source::new(text).locate(root.get("a").expect("a value"), 4);
    /// assert_eq!((at.line, at.column), (3, 3));
    /// ```
    pub fn locate(&self, node: &Node, offset: usize) -> Position {
        let bytes = self.bytes_of(node, &[offset]);
        self.position(bytes[0])
    }

    /// Where bytes of a scalar's text stand in the file, in bytes; in one go, since a text can have thousands.
    pub fn bytes_of(&self, node: &Node, offsets: &[usize]) -> Vec<usize> {
        let start = self.byte_at(node.at);
        let mut found = vec![start; offsets.len()];
        let Kind::Scalar(scalar) = &node.kind else {
            return found;
        };
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        order.sort_by_key(|index| offsets[*index]);
        let mut next = order.into_iter().peekable();
        let whole = self.walk(scalar, start, |index, at| {
            while let Some(due) = next.next_if(|due| offsets[*due] <= index) {
                found[due] = at;
            }
            next.peek().is_some()
        });
        if let Some(end) = whole {
            next.for_each(|due| found[due] = end);
        }
        found
    }

    /// Lays text and file side by side: white space counts as nothing in either. Calls with each byte of the text that
    /// begins a character and its byte in the file, until that has enough; the end, if it has not and they fit.
    fn walk(
        &self,
        scalar: &Scalar,
        start: usize,
        mut step: impl FnMut(usize, usize) -> bool,
    ) -> Option<usize> {
        let mut at = start;
        if !matches!(scalar.style, Style::Literal | Style::Folded) {
            at += properties(&self.text[start..]);
        }
        at += opening(&self.text[at..], scalar.style)?;
        for (index, wanted) in scalar.text.char_indices() {
            if !wanted.is_whitespace() {
                at += blank(&self.text[at..], scalar.style);
            }
            if !step(index, at) {
                return None;
            }
            if !wanted.is_whitespace() {
                at += one(&self.text[at..], scalar.style, wanted)?;
            }
        }
        Some(at)
    }
}

/// An anchor and a tag before a scalar.
fn properties(text: &str) -> usize {
    let mut rest = text;
    while rest.starts_with(['&', '!']) {
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = rest[word..].trim_start();
    }
    text.len() - rest.len()
}

/// What stands before the first character.
fn opening(text: &str, style: Style) -> Option<usize> {
    match style {
        // A block begins with its first character.
        Style::Plain | Style::Literal | Style::Folded => Some(0),
        Style::Single => text.starts_with('\'').then_some(1),
        Style::Double => text.starts_with('"').then_some(1),
    }
}

/// White space, and escapes that stand for some.
fn blank(text: &str, style: Style) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let space = rest.len() - rest.trim_start().len();
        let escape = ["\\n", "\\t", "\\r", "\\ ", "\\\n", "\\\r\n"]
            .iter()
            .find(|escape| style == Style::Double && rest.starts_with(**escape))
            .map_or(0, |escape| escape.len());
        if space + escape == 0 {
            return at;
        }
        at += if space > 0 { space } else { escape };
    }
}

/// The bytes that stand for one character that is not white space.
fn one(text: &str, style: Style, wanted: char) -> Option<usize> {
    let mut chars = text.chars();
    let first = chars.next()?;
    match (style, first) {
        (Style::Double, '\\') => Some(match chars.next()? {
            'x' => 4,
            'u' => 6,
            'U' => 10,
            other => 1 + other.len_utf8(),
        })
        .filter(|bytes| text.is_char_boundary(*bytes)),
        (Style::Single, '\'') => text.starts_with("''").then_some(2),
        _ => (first == wanted).then_some(first.len_utf8()),
    }
}
