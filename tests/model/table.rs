//! The table of mutants, as it is committed: made by the test, and compared with what is there.

use std::fmt::Write as _;
use std::path::PathBuf;

/// One mutant: what is taken away, what noticed it, after how many events, in which bound.
pub struct Row {
    pub without: &'static str,
    pub by: &'static str,
    pub events: usize,
    pub bound: &'static str,
}

const HEAD: &str = "# Mutants of the machine

Each guard of the task machine, taken away in turn, and the property of [the model](proof.md#the-model) that noticed.
`after` is the length of the shortest history that shows it, in events. This page is written by the test
`every_mutant_is_noticed`, which fails while it differs from what was found; `ONCEWARD_UPDATE=1 cargo test --test model`
writes it anew.

| without | noticed by | after | bound |
|---|---|---:|---|
";

fn page(rows: &[Row]) -> String {
    let mut page = HEAD.to_owned();
    for row in rows {
        let Row {
            without,
            by,
            events,
            bound,
        } = row;
        let _ = writeln!(page, "| {without} | {by} | {events} | {bound} |");
    }
    page
}

/// Compares the committed table with this one, or writes it.
pub fn is_as_committed(rows: &[Row]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/proof-mutants.md");
    let found = page(rows);
    if std::env::var_os("ONCEWARD_UPDATE").is_some() {
        std::fs::write(&path, &found).expect("docs/proof-mutants.md is writable");
        return;
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    for (at, line) in found.lines().enumerate() {
        let there = committed.lines().nth(at).unwrap_or("nothing");
        assert!(
            there == line,
            "docs/proof-mutants.md is not what was found.\n  committed: {there}\n  found:     {line}\n\
             If that is meant: ONCEWARD_UPDATE=1 cargo test --test model, and commit the page."
        );
    }
    assert_eq!(
        committed.lines().count(),
        found.lines().count(),
        "docs/proof-mutants.md has lines too many: ONCEWARD_UPDATE=1 cargo test --test model"
    );
}
