//! The corpora of the fuzz targets, without a fuzzer: whatever was found once stays mended.
#![cfg(feature = "entry")]

#[path = "../../fuzz/props/mod.rs"]
mod props;

use std::fs;
use std::path::{Path, PathBuf};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_input_of_every_corpus_keeps_its_properties() {
    for (target, property) in props::TARGETS {
        let folder = fuzz().join("corpus").join(target);
        let inputs = names(&folder);
        assert!(!inputs.is_empty(), "{target} has no corpus");
        for name in inputs {
            let bytes = fs::read(folder.join(&name)).expect("a file");
            let kept = std::panic::catch_unwind(|| property(&bytes));
            assert!(
                kept.is_ok(),
                "fuzz/corpus/{target}/{name}: see the panic above"
            );
        }
    }
}

/// A target that is not built, or not replayed, is none.
#[test]
fn targets_properties_and_corpora_match_one_to_one() {
    let known: Vec<String> = props::TARGETS
        .iter()
        .map(|(t, _)| (*t).to_owned())
        .collect();
    assert_eq!(names(&fuzz().join("corpus")), known);
    let files: Vec<String> = known.iter().map(|t| format!("{t}.rs")).collect();
    assert_eq!(names(&fuzz().join("fuzz_targets")), files);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("the manifest");
    for target in &known {
        let line = format!("[[bin]]\nname = \"{target}\"\npath = \"fuzz_targets/{target}.rs\"");
        assert!(manifest.contains(&line), "fuzz/Cargo.toml has no {target}");
    }
}
