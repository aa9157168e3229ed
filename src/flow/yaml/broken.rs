//! What the parser stumbles over, in words.

use super::Source;
use super::build::place;
use crate::flow::diagnostic::{Diagnostic, Position};
use saphyr_parser::ScanError;

/// What the parser stumbled over. Tabs are named wherever they stand, since a file that has one has more.
pub(super) fn broken(text: &str, error: &ScanError) -> Vec<Diagnostic> {
    let source = Source::new(text);
    let at = place(*error.marker());
    let problem = |at, detail: String| Diagnostic {
        path: String::new(),
        at,
        detail,
        nearest: None,
    };
    let indentation = |line: &str| {
        let content = line.trim_start_matches([' ', '\t']);
        let before = &line[..line.len() - content.len()];
        before
            .find('\t')
            .filter(|_| !content.is_empty() && !content.starts_with('#'))
    };
    let from = at.line.saturating_sub(1).max(1);
    let near =
        (from..=at.line.saturating_add(1)).any(|line| indentation(source.line(line)).is_some());
    if !near {
        return vec![problem(at, explained(error.info()))];
    }
    let tabs = (from..=source.lines()).filter_map(|line| {
        let column = indentation(source.line(line))? + 1;
        let column = u32::try_from(column).unwrap_or(u32::MAX);
        let detail = "A tab stands in the indentation; YAML takes spaces only.";
        Some(problem(Position { line, column }, detail.to_owned()))
    });
    tabs.collect()
}

/// The parser's words in ours, for what happens most.
fn explained(info: &str) -> String {
    let ours = match info {
        "mapping values are not allowed in this context" => {
            "A `:` is not allowed here; a text with `: ` in it has to stand in quotes."
        }
        "while parsing node, found unknown anchor" => "There is no anchor of this name before.",
        "while scanning a quoted scalar, found unexpected end of stream" => {
            "The quote that begins here is never closed."
        }
        "simple key expect ':'" | "simple key expected" => {
            "A `:` is missing after this key, or the indentation is wrong."
        }
        "while parsing a quoted scalar, found unknown escape character" => {
            "This escape is not known; in single quotes a backslash stands for itself."
        }
        "block sequence entries are not allowed in this context" => {
            "A list item is not allowed here; look at the indentation."
        }
        other => return format!("This is not YAML: {other}."),
    };
    ours.to_owned()
}
