//! Flows as data: `cases/*.toml` say what a flow does with a delivery, `expressions/*.toml` what an expression gives.
//! Every case is run as it stands, and again with a crash at every point.
//!
//! One case: `ONCEWARD_CASE="part of its name" cargo test --test native flow`.

mod case;
mod check;
mod crash;
mod diagnostics;
mod expressions;
mod run;
mod world;

use case::Case;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/native/flow")
        .join(name)
}

/// Names of the files of a folder of cases, without their ending.
fn themes(name: &str) -> Vec<String> {
    let listed = fs::read_dir(folder(name)).expect("a readable folder");
    let names = listed.map(|entry| entry.expect("a readable entry").file_name());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect();
    names.sort();
    names
}

fn read<T: serde::de::DeserializeOwned>(name: &str, theme: &str) -> T {
    let path = folder(name).join(format!("{theme}.toml"));
    let text = fs::read_to_string(&path).expect("a readable file");
    toml::from_str(&text).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()))
}

/// Those cases of a file that were asked for.
fn cases(theme: &str) -> Vec<Case> {
    let wanted = std::env::var("ONCEWARD_CASE").unwrap_or_default();
    let file: case::File = read("cases", theme);
    file.case
        .into_iter()
        .filter(|case| case.name.contains(&wanted))
        .collect()
}

/// Fails with everything that is wrong with a file at once.
fn require_none(theme: &str, problems: &[(String, Vec<String>)]) {
    let mut message = String::new();
    for (name, lines) in problems.iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = writeln!(message, "{theme}: {name}");
        for line in lines {
            let _ = writeln!(message, "    {line}");
        }
    }
    assert!(message.is_empty(), "\n{message}");
}

/// A test of each file: that its cases do what they say, and that they do it through crashes.
macro_rules! themes {
    ($($theme:ident),* $(,)?) => {
        /// The files that are tested.
        const THEMES: &[&str] = &[$(stringify!($theme)),*];

        mod cases {
            $(#[test]
            fn $theme() {
                let theme = stringify!($theme);
                let run = |case: super::Case| (case.name.clone(), super::run::run(&case));
                super::require_none(theme, &super::cases(theme).into_iter().map(run).collect::<Vec<_>>());
            })*
        }

        mod crashes {
            $(#[test]
            fn $theme() {
                let theme = stringify!($theme);
                let run = |case: super::Case| (case.name.clone(), super::crash::everywhere(&case));
                super::require_none(theme, &super::cases(theme).into_iter().map(run).collect::<Vec<_>>());
            })*
        }
    };
}

themes!(
    branch,
    errors,
    execution,
    flow_level,
    flows,
    foreach,
    http,
    inputs,
    kv,
    load_errors,
    log_return,
    loop_pause,
    options,
    parallel,
    reference,
    retry,
    subflow,
    undo,
    webhook,
);

#[test]
fn every_file_is_tested() {
    assert_eq!(themes("cases"), THEMES);
    let all: usize = THEMES
        .iter()
        .map(|theme| read::<case::File>("cases", theme).case.len())
        .sum();
    assert!(all >= 150, "{all} cases");
}

#[test]
fn names_are_used_once() {
    for theme in THEMES {
        let mut names: Vec<String> = read::<case::File>("cases", theme)
            .case
            .into_iter()
            .map(|case| case.name)
            .collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "{theme}: a name is used twice");
    }
}

/// Every flow of the repository is run by some case, so that it goes through crashes as well.
#[test]
fn every_flow_of_the_repository_has_cases() {
    let mut missing = Vec::new();
    for folder in ["flows", "examples/flows"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in fs::read_dir(path).expect("a readable folder") {
            let name = entry.expect("an entry").file_name();
            missing.push(format!("{folder}/{}", name.to_string_lossy()));
        }
    }
    assert!(missing.len() >= 9);
    for theme in THEMES {
        for case in read::<case::File>("cases", theme).case {
            missing.retain(|flow| {
                case.flow_file.as_ref() != Some(flow) && !case.more_flow_files.contains(flow)
            });
        }
    }
    assert!(missing.is_empty(), "no case runs {missing:?}");
}
