//! Lists the flows of `flows/`, so that a release carries them.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

const FOLDER: &str = "flows";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={FOLDER}");
    println!("cargo:rerun-if-changed=build.rs");
    let mut names: Vec<String> = match fs::read_dir(FOLDER) {
        Ok(entries) => entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<_>>()?,
        Err(_) => Vec::new(),
    };
    names.retain(|name| {
        Path::new(name)
            .extension()
            .is_some_and(|e| e == "yaml" || e == "yml")
    });
    names.sort();
    let mut listed = "&[\n".to_owned();
    for name in names {
        println!("cargo:rerun-if-changed={FOLDER}/{name}");
        let path = format!("/{FOLDER}/{name}");
        // Writing to a string cannot fail.
        let _ = writeln!(
            listed,
            "include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?})),"
        );
    }
    listed.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?;
    fs::write(Path::new(&out).join("flows.rs"), listed)
}
