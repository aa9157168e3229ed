//! Just enough reading of Rust text for the rules in `tidy.rs`.

/// A file by its path from the root.
pub struct Source {
    pub name: String,
    pub text: String,
}

/// A function, by its first and last line, counted from 1.
pub struct Function {
    pub name: String,
    pub first: usize,
    pub last: usize,
}

/// The text with comments and the insides of literals blanked; lines stay where they are.
pub fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end > at {
            // What stays is the line structure.
            out.extend(
                chars[at..end]
                    .iter()
                    .map(|c| if *c == '\n' { '\n' } else { ' ' }),
            );
            at = end;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// The end of a comment, string or character that starts at `at`; `at` itself if none does.
fn literal_end(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let word_before = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match rest {
        ['/', '/', ..] => at + rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => at + block_comment_len(rest),
        ['"', ..] => at + quoted_len(rest, '"'),
        ['r', '"' | '#', ..] if !word_before => at + raw_len(rest),
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => at + quoted_len(rest, '\''),
        _ => at,
    }
}

fn quoted_len(rest: &[char], quote: char) -> usize {
    let mut len = 1;
    while len < rest.len() && rest[len] != quote {
        len += if rest[len] == '\\' { 2 } else { 1 };
    }
    (len + 1).min(rest.len())
}

/// Length of a raw string; 0 for a raw identifier such as `r#type`.
fn raw_len(rest: &[char]) -> usize {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let mut end = vec!['"'];
    end.extend(std::iter::repeat_n('#', hashes));
    let start = 2 + hashes;
    let found = rest[start..]
        .windows(end.len())
        .position(|window| window == end);
    found.map_or(rest.len(), |len| start + len + end.len())
}

fn block_comment_len(rest: &[char]) -> usize {
    let mut depth = 0;
    let mut len = 0;
    while len < rest.len() {
        match rest[len..] {
            ['/', '*', ..] => (depth, len) = (depth + 1, len + 2),
            ['*', '/', ..] => (depth, len) = (depth - 1, len + 2),
            _ => len += 1,
        }
        if depth == 0 {
            break;
        }
    }
    len
}

/// Blanks test code: whole files of tests, and items under `#[cfg(test)]`. Takes blanked code.
pub fn blank_tests(name: &str, code: &str) -> String {
    let file = name.rsplit('/').next().unwrap_or(name);
    if file == "tests.rs" || file.ends_with("_tests.rs") || name.contains("/tests/") {
        return "\n".repeat(code.lines().count());
    }
    let mut out = String::with_capacity(code.len());
    // The closing line of the test item that we are in.
    let mut closing: Option<String> = None;
    let mut pending = false;
    for line in code.lines() {
        let keep = closing.is_none() && !pending;
        if let Some(end) = &closing {
            if line.trim_end() == end {
                closing = None;
            }
        } else if pending && !line.trim_start().starts_with("#[") && !line.trim().is_empty() {
            pending = false;
            if !line.trim_end().ends_with([';', '}']) {
                closing = Some(format!("{}}}", indent(line)));
            }
        } else if line.trim_start().starts_with("#[cfg(test)]") {
            pending = true;
        }
        out.push_str(if keep { line } else { "" });
        out.push('\n');
    }
    out
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// All functions with a body, outer ones first. Takes blanked, rustfmt'ed code.
pub fn functions(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else {
            continue;
        };
        let end = format!("{}}}", indent(line));
        for (later, candidate) in lines.iter().enumerate().skip(index) {
            let candidate = candidate.trim_end();
            // A declaration without a body, or a body on the same line.
            let one_line = later == index && candidate.ends_with(['}', ';']);
            let declaration = later > index
                && candidate.starts_with(&format!("{})", indent(line)))
                && candidate.ends_with(';');
            if one_line || declaration {
                break;
            }
            if later > index && candidate == end {
                found.push(Function {
                    name: name.to_owned(),
                    first: index + 1,
                    last: later + 1,
                });
                break;
            }
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if rest.starts_with("pub") {
        rest = rest.trim_start_matches("pub").trim_start();
        if rest.starts_with('(') {
            rest = rest.split_once(')')?.1.trim_start();
        }
    }
    for word in ["const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next()
        .filter(|name| !name.is_empty())
}

/// True where `word` stands alone in the line: no part of a longer name.
pub fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open_end = word.ends_with(|c: char| inside(c));
        let part_of_longer = before.is_some_and(inside) || (open_end && after.is_some_and(inside));
        !part_of_longer
    })
}

/// The modules named as `crate::module` or in `crate::{module::…, …}`, each with its line.
pub fn crate_paths(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, prefix) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + prefix.len()..];
        let names = if let Some(group) = rest.strip_prefix('{') {
            group_heads(group)
        } else {
            vec![head(rest)]
        };
        found.extend(names.into_iter().map(|name| (line, name)));
    }
    found
}

fn head(path: &str) -> String {
    path.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// The first names of the parts of a group, up to its closing brace.
fn group_heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let name = head(group[start..at].trim_start());
                heads.extend((!name.is_empty()).then_some(name));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    heads
}

#[test]
fn literals_and_comments_are_no_code() {
    let text = "let a = \"x // y\"; // .unwrap()\nlet b = r#\"dbg!\"#; /* a /* b */ c */ let c = '\"'; let d: &'a str;";
    let code = code_only(text);
    assert_eq!(code.len(), text.len());
    assert!(code.contains("let a =") && code.contains("let c =") && code.contains("&'a str"));
    assert!(
        ["unwrap", "dbg", "//", "b */"]
            .iter()
            .all(|word| !code.contains(word))
    );
}

#[test]
fn test_items_are_blanked_and_the_rest_stays() {
    let code = "fn a() {\n}\n#[cfg(test)]\nmod tests {\n    fn b() {\n    }\n}\nfn c() {\n}\n";
    let names = |code: &str| -> Vec<String> {
        functions(code)
            .into_iter()
            .map(|function| function.name)
            .collect()
    };
    assert_eq!(names(code), ["a", "b", "c"]);
    assert_eq!(names(&blank_tests("src/x.rs", code)), ["a", "c"]);
    assert!(names(&blank_tests("src/x/tests.rs", code)).is_empty());
}

#[test]
fn functions_are_measured_by_their_layout() {
    let code = "trait T {\n    fn one(\n        a: u8,\n    );\n    fn two(&self);\n}\n\
                impl T for X {\n    pub(crate) async fn three(\n        a: u8,\n    ) -> u8 {\n        a\n    }\n}\n";
    let found = functions(code);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].name.as_str(), found[0].first, found[0].last),
        ("three", 8, 12)
    );
}

#[test]
fn imports_are_found_in_every_form() {
    let code =
        "use crate::{\n    limits,\n    types::{Id, Time},\n};\nlet x = crate::flow::plan();\n";
    let found = crate_paths(code);
    let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["limits", "types", "flow"]);
    assert_eq!(found[2].0, 5);
}
