//! What is said of flows is made from the code that reads them.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name)
}

fn require(name: &str, wanted: &str) {
    let path = path(name);
    let found = fs::read_to_string(&path).unwrap_or_default();
    if found == wanted {
        return;
    }
    if std::env::var_os("ONCEWARD_UPDATE").is_some() {
        fs::write(&path, wanted).expect("a file that can be written");
        return;
    }
    panic!(
        "docs/{name} is not what the code does: ONCEWARD_UPDATE=1 cargo test --test native flow_docs, and read what changed"
    );
}

#[test]
fn the_table_of_what_is_supported_is_that_of_the_reader() {
    const BEGIN: &str = "<!-- support: made from the code -->\n";
    const END: &str = "<!-- end of support -->\n";
    let page = fs::read_to_string(path("flows.md")).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the beginning of the table");
    let (_, after) = rest.split_once(END).expect("the end of the table");
    let table = onceward::flow::support::table();
    let table = table
        .split_once("\n\n")
        .expect("a heading")
        .1
        .replace("\n## ", "\n### ");
    let words = words();
    require(
        "flows.md",
        &format!("{before}{BEGIN}{table}{words}{END}{after}"),
    );
}

/// What expressions know, and what they refuse.
fn words() -> String {
    let mut page = String::from("\n### Expressions\n\n| | |\n|---|---|\n");
    for (kind, names) in onceward::flow::expression::supported() {
        let names: Vec<String> = names
            .iter()
            .map(|name| format!("`{}`", name.replace('|', "\\|")))
            .collect();
        let _ = writeln!(page, "| {kind}s | {} |", names.join(", "));
    }
    page.push_str("\nNot supported in them:\n\n");
    for (kind, name, reason) in onceward::flow::expression::unsupported() {
        let _ = writeln!(page, "- {kind} `{name}`: {reason}");
    }
    page.push('\n');
    page
}

#[test]
fn the_schema_is_that_of_the_reader() {
    let schema = serde_json::to_string_pretty(&onceward::flow::schema::schema()).expect("JSON");
    require("flow.schema.json", &format!("{schema}\n"));
}
