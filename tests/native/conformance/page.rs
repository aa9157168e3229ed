//! Finds the tests of each item, and makes the page that lists them.

use super::items::{Item, STANDARDS, Who};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/conformance.md";

/// A test, and where it runs.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    name: String,
    level: &'static str,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

fn level(path: &Path) -> &'static str {
    let path = path.strip_prefix(root()).expect("below the root");
    let mut parts = path.iter().map(|part| part.to_string_lossy().into_owned());
    match (parts.next().as_deref(), parts.next().as_deref()) {
        (Some("tests"), Some("e2e")) => "workerd",
        (Some("tests"), Some("simulation")) => "runtime",
        _ => "native",
    }
}

/// The names of tests in a source: a function below `#[test]`.
fn tests(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        if line == "#[test]" {
            marked = true;
        } else if let Some(rest) = line.strip_prefix("fn ") {
            let name = rest.split('(').next().unwrap_or_default();
            if marked {
                found.push(name.to_owned());
            }
            marked = false;
        }
    }
    found
}

/// Every test whose name begins as those of the standards do, by item.
fn found() -> (BTreeMap<&'static str, Vec<Found>>, Vec<String>) {
    let mut files = Vec::new();
    sources(&root().join("tests"), &mut files);
    sources(&root().join("src"), &mut files);
    let (mut by_item, mut strays) = (BTreeMap::<_, Vec<Found>>::new(), Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).expect("a readable file");
        for name in tests(&text) {
            let mut all = STANDARDS.iter();
            let Some(standard) = all.find(|standard| name.starts_with(standard.prefix)) else {
                continue;
            };
            let of = |item: &&Item| name.starts_with(&format!("{}_", item.id));
            match standard.items.iter().find(of) {
                Some(item) => by_item.entry(item.id).or_default().push(Found {
                    name,
                    level: level(&file),
                }),
                None => strays.push(format!("{}: {name}", file.display())),
            }
        }
    }
    for tests in by_item.values_mut() {
        tests.sort();
    }
    (by_item, strays)
}

fn met(item: &Item, tests: Option<&Vec<Found>>) -> String {
    let mut parts: Vec<String> = match item.who {
        Who::Tested => Vec::new(),
        Who::Documented(page) => vec![format!("[documented]({page})")],
        Who::Clients(page) => vec![format!("[for clients]({page})")],
        Who::Senders => vec!["for senders: Onceward sends no webhooks yet".to_owned()],
    };
    let tests = tests.into_iter().flatten();
    parts.extend(tests.map(|test| format!("`{}` ({})", test.name, test.level)));
    parts.join("<br>")
}

fn page() -> String {
    let (by_item, _) = found();
    let mut out = "# Conformance\n\n\
        Made by the tests from their own names; `tests/native/conformance` holds the list of items. Levels: *native*, one function alone; \
        *runtime*, the whole runtime on a virtual clock; *workerd*, the built Worker over HTTP. \
        A test that fails fails the build, so what is listed here holds.\n"
        .to_owned();
    for standard in STANDARDS {
        let _ = write!(
            out,
            "\n## {}\n\n| item | what it asks | met by | note |\n|---|---|---|---|\n",
            standard.title
        );
        for item in standard.items {
            let id = item.id.trim_start_matches(standard.prefix);
            let (wants, met) = (item.wants, met(item, by_item.get(item.id)));
            let _ = writeln!(out, "| {id} | {wants} | {met} | {} |", item.note);
        }
    }
    out
}

#[test]
fn every_item_has_its_test_and_every_test_its_item() {
    let (by_item, strays) = found();
    assert!(
        strays.is_empty(),
        "tests of items that there are none of: {strays:#?}"
    );
    let items = || STANDARDS.iter().flat_map(|standard| standard.items);
    let untested: Vec<&str> = items()
        .filter(|item| item.who == Who::Tested && !by_item.contains_key(item.id))
        .map(|item| item.id)
        .collect();
    assert!(untested.is_empty(), "items without a test: {untested:#?}");
    let mut ids: Vec<&str> = items().map(|item| item.id).collect();
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "an item is listed twice");
}

/// A page that says what nobody tests says it where the list points to.
#[test]
fn what_is_documented_is_on_the_page_that_is_named() {
    for item in STANDARDS.iter().flat_map(|standard| standard.items) {
        let (Who::Documented(place) | Who::Clients(place)) = item.who else {
            continue;
        };
        let (file, anchor) = place.split_once('#').expect("page#heading");
        let text = fs::read_to_string(root().join("docs").join(file)).expect("the page");
        let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
        let mut anchors = headings.map(|heading| heading.to_lowercase().replace(' ', "-"));
        assert!(anchors.any(|a| a == anchor), "{}: {place}", item.id);
    }
}

#[test]
fn the_page_is_up_to_date() {
    let (path, made) = (root().join(PAGE), page());
    if std::env::var_os("ONCEWARD_UPDATE").is_some() {
        fs::write(&path, &made).expect("a writable page");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "{PAGE} is not what the tests say; run ONCEWARD_UPDATE=1 cargo test --features lab --test native conformance"
    );
}

#[test]
fn names_are_found_as_they_are_written() {
    let text = "#[test]\nfn ietf_i_01_a() {\n}\n#[test]\n#[ignore]\nfn b() {}\nfn ietf_i_02_no_test() {}\n";
    assert_eq!(tests(text), ["ietf_i_01_a", "b"]);
}
