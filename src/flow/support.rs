//! What of flows is supported, as Markdown; made from what the reader reads by.

use super::read::{
    About, COMMON, CONDITION, CONDITIONS, DEFAULT, FLOW, IDEMPOTENCY, INPUT, Kind, OUTPUT,
    PRECONDITION_FLOW, PRECONDITIONS, PropertySpec, RETRY, ROOTS, TRIGGER, TRIGGERS, TYPES,
    UNSUPPORTED, tasks,
};
use std::fmt::Write as _;

/// The tables of `docs/flows-support.md`.
///
/// ```
/// let table = onceward::flow::support::table();
/// assert!(table.contains("| `kv.Get` |") && table.contains("`io.kestra.plugin.core.tasks.kv.Get`"));
/// ```
pub fn table() -> String {
    let mut page = String::from(
        "# Flows: what is supported\n\n\
         Made from the code that reads flows. Whatever is not here is refused when a flow is loaded, with its place.\n\
         Names of types begin with `io.kestra.plugin.core.`, which is left out here; that of the Slack task begins with\n\
         `io.kestra.plugin.`. A property in **bold** has to be there.\n",
    );
    properties(&mut page, "A flow", FLOW);
    let all: Vec<&About> = tasks().map(|spec| &spec.about).collect();
    types(&mut page, "Tasks", &all);
    properties(&mut page, "Every task", COMMON);
    properties(&mut page, "`retry`", RETRY);
    let all: Vec<&About> = TRIGGERS.iter().map(|spec| &spec.about).collect();
    types(&mut page, "Triggers", &all);
    properties(&mut page, "Every trigger", TRIGGER);
    properties(&mut page, "`idempotency`, if it is a map", IDEMPOTENCY);
    properties(&mut page, "`preconditions`", PRECONDITIONS);
    properties(&mut page, "A flow of `preconditions`", PRECONDITION_FLOW);
    let all: Vec<&About> = CONDITIONS.iter().map(|spec| &spec.about).collect();
    types(&mut page, "Conditions", &all);
    properties(&mut page, "Every condition", CONDITION);
    properties(&mut page, "An input", INPUT);
    let names: Vec<String> = TYPES.iter().map(|(name, _)| format!("`{name}`")).collect();
    let _ = writeln!(page, "\nTypes of inputs: {}.", names.join(", "));
    properties(&mut page, "An output", OUTPUT);
    properties(&mut page, "`pluginDefaults`", DEFAULT);
    let roots: Vec<String> = ROOTS.iter().map(|root| format!("`{root}`")).collect();
    let _ = writeln!(
        page,
        "\n## Variables of expressions\n\n{}.",
        roots.join(", ")
    );
    page.push_str("\n## Not supported\n\n| type | reason |\n|---|---|\n");
    for (name, reason) in UNSUPPORTED {
        let any = if name.ends_with('.') { "…" } else { "" };
        let _ = writeln!(page, "| `{name}{any}` | {reason} |");
    }
    page
}

fn types(page: &mut String, title: &str, abouts: &[&About]) {
    let _ = writeln!(
        page,
        "\n## {title}\n\n| type | what | properties | other names |\n|---|---|---|---|"
    );
    for about in abouts {
        let own = about.properties.iter();
        let own = own.filter(|spec| !matches!(spec.kind, Kind::Refused(_)));
        let own: Vec<String> = own.map(named).collect();
        let others: Vec<String> = about
            .aliases
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            about.short(),
            about.doc,
            own.join(", "),
            others.join(", ")
        );
    }
    let refused = abouts.iter().flat_map(|about| {
        let own = about.properties.iter();
        own.filter_map(|spec| match spec.kind {
            Kind::Refused(reason) => Some((about.short(), spec.name, reason)),
            _ => None,
        })
    });
    let mut refused = refused.peekable();
    if refused.peek().is_some() {
        page.push_str("\nNot supported of them:\n\n");
    }
    for (name, property, reason) in refused {
        let _ = writeln!(page, "- `{property}` of `{name}`: {reason}");
    }
}

fn named(spec: &PropertySpec) -> String {
    let name = if spec.required {
        format!("**`{}`**", spec.name)
    } else {
        format!("`{}`", spec.name)
    };
    match spec.old {
        [] => name,
        old => {
            let old: Vec<String> = old.iter().map(|old| format!("`{old}`")).collect();
            format!("{name} (or {})", old.join(", "))
        }
    }
}

fn properties(page: &mut String, title: &str, specs: &[PropertySpec]) {
    let _ = writeln!(
        page,
        "\n## {title}\n\n| property | takes | what |\n|---|---|---|"
    );
    for spec in specs {
        if let Kind::Refused(reason) = spec.kind {
            let _ = writeln!(page, "| {} | not supported | {reason} |", named(spec));
        } else {
            let takes = takes(&spec.kind);
            let _ = writeln!(page, "| {} | {takes} | {} |", named(spec), spec.doc);
        }
        if let Kind::Object(inner) = spec.kind {
            for inner in inner {
                let name = named(inner);
                let takes = takes(&inner.kind);
                let _ = writeln!(
                    page,
                    "| {}: {name} | {takes} | {} |",
                    named(spec),
                    inner.doc
                );
            }
        }
    }
}

fn words(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// What a property takes, in words. What may hold expressions says so.
fn takes(kind: &Kind) -> String {
    let takes = match kind {
        Kind::Any => "anything, with expressions",
        Kind::Text => "a text, with expressions",
        Kind::Lines => "a text or a list of texts, with expressions",
        Kind::Truth => "a boolean or an expression",
        Kind::Duration => "an ISO 8601 duration or an expression",
        Kind::Whole => "a whole number or an expression",
        Kind::Choice(choices) => return format!("{}, or an expression", words(choices)),
        Kind::Map => "a map, with expressions",
        Kind::Items => "a list, or a text or an expression that comes to one",
        Kind::Labels => "a map or a list of `key` and `value`, with expressions",
        Kind::Expression => "an expression",
        Kind::Pairs => "a map, with expressions in its values",
        Kind::LabelPairs => "a map or a list of `key` and `value`, with expressions in the values",
        Kind::Flag => "`true` or `false`",
        Kind::Count(least, most) if *most >= u64::from(u32::MAX) => {
            return format!("a whole number from {least} on");
        }
        Kind::Count(least, most) => return format!("a whole number from {least} to {most}"),
        Kind::Factor => "a number from 1 on",
        Kind::Plain | Kind::Prose => "a text",
        Kind::Word(choices) => return words(choices),
        Kind::Words(choices) => return format!("a list of {}", words(choices)),
        Kind::Name(naming) => return format!("`{}`", naming.pattern()),
        Kind::Period => "an ISO 8601 duration",
        Kind::Cron => "a schedule",
        Kind::Zone => "a time zone",
        Kind::Pattern => "a regular expression",
        Kind::Value => "a value",
        Kind::Values => "a list of values",
        Kind::Tasks => "tasks, at least one",
        Kind::MoreTasks => "tasks",
        Kind::Cases => "a map of tasks",
        Kind::Undo => "a task",
        Kind::Triggers => "triggers",
        Kind::Conditions => "conditions",
        Kind::Inputs => "inputs",
        Kind::Outputs => "outputs",
        Kind::Idempotency => "`on`, `off` or a map",
        Kind::Variables | Kind::Retry | Kind::Preconditions | Kind::Object(_) => "a map",
        Kind::Defaults => "a list",
        Kind::Ignored => "anything",
        Kind::Refused(_) => "nothing",
    };
    takes.to_owned()
}

#[cfg(test)]
#[path = "support_tests.rs"]
mod tests;
