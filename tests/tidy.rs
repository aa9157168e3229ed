//! Rules of the source tree that the compiler can't check. Each failure says what to do instead.
//!
//! The text is read by a small scanner, not a parser: rustfmt (checked by `make lint`) makes its
//! assumptions about layout hold.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "tidy/scan.rs"]
mod scan;
use scan::{Source, blank_tests, code_only, crate_paths, functions};

/// Ring of each module of the crate, as in the architecture notes: a module may name modules of
/// lower rings; those of ring 0 and those of ring 2 also each other.
const RINGS: &[(&str, u8)] = &[
    ("types", 0),
    ("limits", 0),
    ("protocol", 1),
    ("flow", 1),
    ("webhook", 1),
    ("function", 2),
    ("store", 2),
    ("http", 2),
    ("maintenance", 2),
    ("dashboard", 2),
    ("config", 2),
    ("runtime", 2),
    ("testing", 2),
    ("platform", 3),
];
/// Files above the limit of length, with the reason why they are not split.
const LONG_FILES: &[(&str, &str)] = &[];
const SRC_LINES: usize = 400;
const OTHER_LINES: usize = 700;
const FUNCTION_LINES: usize = 70;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below `folder` with one of the extensions, by its path from the root.
fn files(folder: &str, extensions: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    let mut queue = vec![root().join(folder)];
    while let Some(path) = queue.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a readable folder");
            queue.extend(entries.map(|entry| entry.expect("a readable entry").path()));
        } else if path
            .extension()
            .is_some_and(|e| extensions.contains(&e.to_string_lossy().as_ref()))
            && let Ok(text) = fs::read_to_string(&path)
        {
            let name = path.strip_prefix(root()).expect("a path below the root");
            found.push(Source {
                name: name.to_string_lossy().replace('\\', "/"),
                text,
            });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Fails with all findings at once, and with what to do about them.
fn require_none(findings: &[String], advice: &str) {
    let mut message = String::new();
    for finding in findings {
        let _ = writeln!(message, "  {finding}");
    }
    assert!(findings.is_empty(), "\n{message}\n{advice}\n");
}

/// The module right below `src/` that a file belongs to.
fn module(name: &str) -> &str {
    let inside = name.strip_prefix("src/").unwrap_or(name);
    inside.split(['/', '.']).next().unwrap_or(inside)
}

fn may_import(from: &str, to: &str) -> bool {
    let ring = |module: &str| {
        RINGS
            .iter()
            .find(|(name, _)| *name == module)
            .map(|(_, ring)| *ring)
    };
    match (from, ring(from), ring(to)) {
        // The crate root declares and re-exports everything; macros and items of its own are free to use.
        ("lib", _, _) | (_, _, None) => true,
        ("functions", ..) => matches!(to, "function"),
        // JSON is read by one set of rules.
        ("flow", ..) if to == "webhook" => true,
        (_, Some(_), _) if from == to => true,
        (_, Some(2 | 3), Some(to)) => to <= 2,
        (_, Some(0), Some(0)) => true,
        (_, Some(from), Some(to)) => to < from,
        (_, None, _) => false,
    }
}

#[test]
fn modules_import_inwards_only() {
    let mut findings = Vec::new();
    for source in files("src", &["rs"]) {
        let from = module(&source.name);
        for (line, to) in crate_paths(&blank_tests(&source.name, &code_only(&source.text))) {
            if to == "functions" && !matches!(from, "lib" | "platform") {
                findings.push(format!("{}:{line}: {from} names functions", source.name));
            } else if !may_import(from, &to) {
                findings.push(format!("{}:{line}: {from} names {to}", source.name));
            }
        }
    }
    require_none(
        &findings,
        "Rings: 0 types, limits; 1 protocol, flow, webhook; 2 function, store, http, maintenance, dashboard, config, runtime; \
         3 platform. A module names only lower rings (rings 0 and 2 also their own, flow also webhook); functions name only `function`. \
         Move the shared part inwards, or hand it in as an argument. A new module belongs into RINGS of tests/tidy.rs.",
    );
}

#[test]
fn only_platform_knows_the_platform() {
    let mut findings = Vec::new();
    for source in files("src", &["rs"]) {
        if module(&source.name) == "platform" {
            continue;
        }
        for (index, line) in code_only(&source.text).lines().enumerate() {
            for word in ["worker::", "js_sys", "wasm_bindgen"] {
                if scan::has_word(line, word) {
                    findings.push(format!("{}:{}: {word}", source.name, index + 1));
                }
            }
        }
    }
    require_none(
        &findings,
        "Only src/platform may use `worker`, `js_sys` and `wasm_bindgen`: everything else has to compile and be tested \
         natively. Put a trait or plain data in the inner ring, and its implementation in src/platform.",
    );
}

#[test]
fn files_are_short() {
    let mut findings = Vec::new();
    let limits = [
        ("src", SRC_LINES),
        ("tests", OTHER_LINES),
        ("scripts", OTHER_LINES),
    ];
    for (folder, limit) in limits {
        for source in files(folder, &["rs", "mjs", "js", "sh"]) {
            let lines = source.text.lines().count();
            let rust = Path::new(&source.name)
                .extension()
                .is_some_and(|e| e == "rs");
            let limit = if rust { limit } else { OTHER_LINES };
            if lines > limit && !LONG_FILES.iter().any(|(name, _)| *name == source.name) {
                findings.push(format!("{}: {lines} lines, allowed {limit}", source.name));
            } else if lines > SRC_LINES {
                eprintln!(
                    "warning: {} has {lines} lines; above {SRC_LINES} think of splitting it",
                    source.name
                );
            }
        }
    }
    require_none(
        &findings,
        "Split the file by its reasons to change. If it really is one thing, add it to LONG_FILES of tests/tidy.rs with the reason.",
    );
}

#[test]
fn functions_are_short() {
    let mut findings = Vec::new();
    for source in files("src", &["rs"]) {
        for function in functions(&blank_tests(&source.name, &code_only(&source.text))) {
            let lines = function.last - function.first + 1;
            if lines > FUNCTION_LINES {
                findings.push(format!(
                    "{}:{}: fn {} has {lines} lines",
                    source.name, function.first, function.name
                ));
            }
        }
    }
    require_none(
        &findings,
        &format!(
            "Functions have at most {FUNCTION_LINES} lines: name the parts and make them functions."
        ),
    );
}

#[test]
fn src_keeps_to_what_the_platform_can_do() {
    let mut findings = Vec::new();
    for source in files("src", &["rs"]) {
        let code = blank_tests(&source.name, &code_only(&source.text));
        for (index, line) in code.lines().enumerate() {
            let at = format!("{}:{}", source.name, index + 1);
            if line.contains("std::time::")
                && (scan::has_word(line, "SystemTime") || scan::has_word(line, "Instant"))
            {
                findings.push(format!(
                    "{at}: no clock in wasm: take `now` from the caller or the host"
                ));
            }
            if line.contains(".unwrap()") {
                findings.push(format!(
                    "{at}: .unwrap(): return an error, or .expect(\"why it can't happen\")"
                ));
            }
            for unfinished in ["todo!", "unimplemented!", "dbg!"] {
                if scan::has_word(line, unfinished) {
                    findings.push(format!(
                        "{at}: {unfinished}: finish it, or return an error that says so"
                    ));
                }
            }
        }
    }
    require_none(
        &findings,
        "In src outside of #[cfg(test)]; see each line for what to do instead.",
    );
}

#[test]
fn tests_wait_for_conditions_not_for_time() {
    // A helper says by its own name or that of its file that it waits for something.
    let helper = |name: &str| {
        ["wait", "poll", "until", "eventually"]
            .iter()
            .any(|word| name.contains(word))
    };
    let mut findings = Vec::new();
    for source in files("tests", &["rs"])
        .into_iter()
        .filter(|source| !source.name.starts_with("tests/tidy"))
    {
        let code = code_only(&source.text);
        let functions = functions(&code);
        for (index, line) in code.lines().enumerate() {
            let number = index + 1;
            let inside = functions
                .iter()
                .rfind(|f| f.first <= number && number <= f.last);
            if line.contains("thread::sleep")
                && !inside.is_some_and(|f| helper(&f.name) || helper(&source.name))
            {
                findings.push(format!("{}:{number}: sleep", source.name));
            }
        }
    }
    require_none(
        &findings,
        "A fixed sleep is slow or flaky. Poll for the condition with a deadline, in a helper whose name says so \
         (wait_…, poll_…, until_…, eventually_…), or move the virtual clock.",
    );
}

#[test]
fn migrations_are_never_edited() {
    use sha2::{Digest, Sha256};
    let list = fs::read_to_string(root().join("migrations/SHA256SUMS")).unwrap_or_default();
    let mut findings = Vec::new();
    let migrations = files("migrations", &["sql"]);
    for source in &migrations {
        let name = source.name.trim_start_matches("migrations/");
        let sum =
            Sha256::digest(source.text.as_bytes())
                .iter()
                .fold(String::new(), |mut text, byte| {
                    let _ = write!(text, "{byte:02x}");
                    text
                });
        match list
            .lines()
            .find_map(|line| line.strip_suffix(name)?.strip_suffix("  "))
        {
            None => findings.push(format!("{}: not in migrations/SHA256SUMS", source.name)),
            Some(known) if known != sum => findings.push(format!("{}: was changed", source.name)),
            Some(_) => {}
        }
    }
    for name in list.lines().filter_map(|line| line.split("  ").nth(1)) {
        if !migrations.iter().any(|source| source.name.ends_with(name)) {
            findings.push(format!("migrations/{name}: was removed"));
        }
    }
    require_none(
        &findings,
        "Databases out there have applied it already: write a new migration instead. For a new one, or one that no \
         release has had yet: (cd migrations && sha256sum *.sql >SHA256SUMS)",
    );
}

#[test]
fn no_file_knows_this_machine() {
    // Put together here, so that this file doesn't find itself.
    let places = ["work", "root", "home/[a-z]"]
        .map(|place| format!("/{}/", place.trim_end_matches("/[a-z]")));
    let temporary = format!("/{}/", "tmp");
    let mut sources: Vec<Source> = [
        "src",
        "tests",
        "scripts",
        "docs",
        "migrations",
        "examples",
        "flows",
        "benches",
        ".ci",
    ]
    .iter()
    .filter(|folder| root().join(folder).exists())
    .flat_map(|folder| {
        files(
            folder,
            &[
                "rs", "mjs", "js", "sh", "md", "toml", "sql", "html", "yaml", "json",
            ],
        )
    })
    .filter(|source| !source.name.starts_with("tests/samples/"))
    .collect();
    for name in [
        "README.md",
        "Makefile",
        "wrangler.toml",
        "Cargo.toml",
        "package.json",
        ".npmrc",
        ".ci/run",
    ] {
        if let Ok(text) = fs::read_to_string(root().join(name)) {
            sources.push(Source {
                name: name.to_owned(),
                text,
            });
        }
    }
    let mut findings = Vec::new();
    for source in sources {
        let is_document = Path::new(&source.name)
            .extension()
            .is_some_and(|e| e == "md");
        for (index, line) in source.text.lines().enumerate() {
            let found = places.iter().find(|place| starts_a_path(line, place));
            let found = found
                .or_else(|| (is_document && starts_a_path(line, &temporary)).then_some(&temporary));
            if let Some(place) = found {
                findings.push(format!("{}:{}: {place}", source.name, index + 1));
            }
        }
    }
    let lock = fs::read_to_string(root().join("package-lock.json")).unwrap_or_default();
    if lock.contains("\"resolved\"") {
        findings.push(
            "package-lock.json: names a registry host; run npm install with this folder's .npmrc"
                .to_owned(),
        );
    }
    require_none(
        &findings,
        "The repository has to work in any folder of any machine: use paths relative to its root.",
    );
}

/// True where the line has `place` at the start of a path (not in the middle of an address or a longer path).
fn starts_a_path(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| {
            c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '}' | ')' | '~')
        })
    })
}
