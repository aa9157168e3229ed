//! What is said of flows that are not loaded.

use super::case::Problem;
use onceward::flow::diagnostic::Diagnostic;

/// What is wrong with these diagnostics, where all of them are named in order.
pub fn all(found: &[Diagnostic], expected: &[Problem]) -> Vec<String> {
    let mut wrong = Vec::new();
    if found.len() != expected.len() {
        wrong.push(format!(
            "{} diagnostics, expected {}",
            found.len(),
            expected.len()
        ));
    }
    for (found, expected) in found.iter().zip(expected) {
        wrong.extend(mismatch(found, expected));
    }
    told(found, wrong)
}

/// The same where others may come besides.
pub fn some(found: &[Diagnostic], expected: &[Problem]) -> Vec<String> {
    let missing = expected
        .iter()
        .filter(|e| found.iter().all(|f| mismatch(f, e).is_some()));
    told(
        found,
        missing
            .map(|expected| format!("missing: {expected:?}"))
            .collect(),
    )
}

fn told(found: &[Diagnostic], mut wrong: Vec<String>) -> Vec<String> {
    if !wrong.is_empty() {
        wrong.extend(found.iter().map(|found| format!("found {found}")));
    }
    wrong
}

fn mismatch(found: &Diagnostic, expected: &Problem) -> Option<String> {
    let mut off = Vec::new();
    if expected
        .path
        .as_ref()
        .is_some_and(|path| *path != found.path)
    {
        off.push("path");
    }
    if expected.line.is_some_and(|line| line != found.at.line) {
        off.push("line");
    }
    if expected
        .column
        .is_some_and(|column| column != found.at.column)
    {
        off.push("column");
    }
    let said = found.to_string().to_lowercase();
    if expected
        .contains
        .iter()
        .any(|part| !said.contains(&part.to_lowercase()))
    {
        off.push("detail");
    }
    let nearest = found.nearest.as_deref().unwrap_or_default();
    if expected
        .nearest
        .as_ref()
        .is_some_and(|wanted| !nearest.contains(wanted.as_str()))
    {
        off.push("nearest");
    }
    (!off.is_empty()).then(|| format!("{}: expected {expected:?}, found {found:?}", off.join(", ")))
}
