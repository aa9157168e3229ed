//! `docs/openapi.json`: that it is what the code says, and that it has every route and nothing else.

use onceward::http::bulk::{Operation, Wish, tried};
use onceward::http::code::Code;
use onceward::http::document::{TaskDocument, TaskState};
use onceward::http::filter::PARAMETERS;
use onceward::http::openapi::{TEXT, build};
use onceward::http::problem::{Cause, Problem};
use onceward::http::route::Access;
use onceward::http::stats::{StatsQuery, Sums};
use onceward::types::{TaskKey, TaskKind};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const FILE: &str = "docs/openapi.json";

fn document() -> Value {
    build::document().unwrap_or_else(|missing| {
        panic!("src/http/openapi/paths.rs describes these routes not: {missing:?}")
    })
}

#[test]
fn the_file_is_what_the_code_says() {
    let text = serde_json::to_string_pretty(&document()).expect("JSON") + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os("ONCEWARD_UPDATE").is_some() {
        std::fs::write(&path, &text).expect("written");
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text && TEXT == text,
        "{FILE} is not what the code says; run ONCEWARD_UPDATE=1 cargo test --features lab --test native openapi, and commit it"
    );
}

#[test]
fn it_has_every_route_of_the_table_and_nothing_else() {
    let document = document();
    let mut want = BTreeSet::new();
    for entry in build::deployed() {
        for method in build::methods(entry) {
            let (path, method) = (build::address(entry.pattern), method.to_lowercase());
            let operation = &document["paths"][&path][&method];
            let shown = format!("{method} {path}: {operation}");
            assert!(operation["operationId"].is_string(), "{shown}");
            let scope = &operation["x-onceward-scope"];
            let security = &operation["security"];
            match entry.access {
                Access::Token(right) | Access::TokenOrOneTime(right) => {
                    assert_eq!(scope, right.as_str(), "{shown}");
                    assert_eq!(security[0]["token"][0], right.as_str(), "{shown}");
                    for status in ["401", "403"] {
                        assert!(
                            operation["responses"][status].is_object(),
                            "{status} {shown}"
                        );
                    }
                }
                Access::Public | Access::Signature | Access::Ticket => {
                    assert_eq!(
                        (scope, security.as_array().map(Vec::len)),
                        (&Value::Null, Some(0)),
                        "{shown}"
                    );
                }
            }
            assert!(operation["responses"]["503"].is_object(), "{shown}");
            for name in path
                .split('/')
                .filter_map(|s| s.strip_prefix('{')?.strip_suffix('}'))
            {
                let parameters = operation["parameters"].as_array().expect("parameters");
                assert!(
                    parameters
                        .iter()
                        .any(|p| p["name"] == name && p["in"] == "path"),
                    "{name} {shown}"
                );
            }
            want.insert((path, method));
        }
    }
    let paths = document["paths"].as_object().expect("paths");
    let there: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().expect("a path").keys();
            methods.map(|method| (path.clone(), method.clone()))
        })
        .collect();
    assert_eq!(there, want);
}

#[test]
fn what_takes_a_filter_takes_all_of_it() {
    let document = document();
    for (method, path) in [
        ("get", "/v1/tasks"),
        ("delete", "/v1/tasks"),
        ("post", "/v1/tasks/cancel"),
        ("post", "/v1/tasks/retry"),
        ("post", "/v1/tasks/undo"),
        ("get", "/v1/events"),
    ] {
        let parameters = document["paths"][path][method]["parameters"]
            .as_array()
            .expect("parameters");
        for (name, _) in PARAMETERS {
            let reference = format!("#/components/parameters/filter.{name}");
            let has = parameters.iter().any(|p| p["$ref"] == reference.as_str());
            assert!(has, "{name} {method} {path}");
        }
    }
}

#[test]
fn names_are_used_once_and_references_lead_somewhere() {
    fn references<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
        match value {
            Value::Object(members) => {
                into.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|v| references(v, into));
            }
            Value::Array(items) => items.iter().for_each(|v| references(v, into)),
            _ => {}
        }
    }
    let document = document();
    let (mut ids, mut operations) = (BTreeSet::new(), 0);
    for item in document["paths"].as_object().expect("paths").values() {
        for operation in item.as_object().expect("a path").values() {
            operations += 1;
            ids.insert(operation["operationId"].to_string());
        }
    }
    assert_eq!(ids.len(), operations);
    let mut all = Vec::new();
    references(&document, &mut all);
    let mut used = BTreeSet::new();
    for reference in all {
        let pointer = reference.strip_prefix('#').expect("within the document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
        used.insert(pointer.to_owned());
    }
    for kind in ["schemas", "parameters", "responses"] {
        for name in document["components"][kind]
            .as_object()
            .expect("components")
            .keys()
        {
            assert!(
                used.contains(&format!("/components/{kind}/{name}")),
                "{name} is not used"
            );
        }
    }
}

/// Statistics of some tasks, and of none.
fn stats() -> Value {
    let of = |target, row: Value| {
        let query = StatsQuery::read(target, 1_795_989_751_097).expect("a query");
        let sums = Sums::of_row(row.as_object().expect("a row"));
        query.document(&[((0, "f".into()), sums)], &json!({}))
    };
    json!({
        "all": of("/v1/stats?by=hour", json!({ "accepted": 1, "took_0": 1 })),
        "none": of("/v1/stats", json!({})),
    })
}

fn preview() -> Value {
    let target = "/v1/tasks/cancel?state=running";
    let wish = Wish::read(Operation::Cancel, target).expect("a wish");
    serde_json::from_slice(&tried(&wish, 0, true, &[]).body).expect("JSON")
}

/// The members of a document that a schema has, and those that it must have.
fn members(document: &Value, name: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let schema = &document["components"]["schemas"][name];
    let properties = schema["properties"].as_object().expect("properties");
    let required = schema["required"].as_array().expect("required").iter();
    let required = required.map(|name| name.as_str().expect("a name").to_owned());
    (properties.keys().cloned().collect(), required.collect())
}

#[test]
fn schemas_are_those_of_what_is_sent() {
    let document = document();
    let key = TaskKey::new(TaskKind::Source, "shop", "", "k");
    let task = TaskDocument::new(&key, "f", TaskState::Running, 0);
    let mut problem = Problem::new(Code::KeyReused, "d")
        .policy("/p")
        .errors(vec![Cause {
            detail: "d".into(),
            pointer: "/a".into(),
        }])
        .task(key.task_id());
    problem.instance = Some("urn:uuid:1".into());
    let problem: Value = serde_json::from_slice(&problem.to_answer().body).expect("JSON");
    let stats = stats();
    let sent = [
        ("TaskDocument", serde_json::to_value(&task).expect("JSON")),
        ("Problem", problem),
        ("BulkPreview", preview()),
        ("Stats", stats["all"].clone()),
        ("StatsSums", stats["all"]["total"].clone()),
        ("StatsSums", stats["none"]["total"].clone()),
        ("Took", stats["all"]["total"]["took_ms"].clone()),
        ("Took", stats["none"]["total"]["took_ms"].clone()),
        ("Costs", stats["all"]["total"]["cost"].clone()),
        ("Costs", stats["none"]["total"]["cost"].clone()),
        ("Duplicates", stats["all"]["total"]["duplicates"].clone()),
    ];
    for (name, value) in sent {
        let (properties, required) = members(&document, name);
        let there: BTreeSet<String> = value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        assert!(there.is_subset(&properties), "{name}: {there:?}");
        assert!(required.is_subset(&there), "{name}: {required:?}");
    }
    let (properties, _) = members(&document, "TaskDocument");
    for renamed in ["created_at", "expires_at", "waiting", "lock", "cost"] {
        assert!(properties.contains(renamed), "{renamed}");
    }
}
