use super::*;
use crate::flow::diagnostic::Position;

fn name() -> FlowName {
    FlowName::read("team", "sync").expect("a name")
}

fn pointer() -> Pointer {
    let pointer = Pointer::default().with_bundled("b", 0).expect("new");
    let trigger = TriggerLine {
        id: "in".into(),
        kind: "Webhook".into(),
    };
    pointer
        .with_deployed("a", "ops", vec![trigger], 1_000)
        .expect("new")
}

#[test]
fn revisions_are_listed_the_newest_first() {
    let list = RevisionList::of(&name(), &pointer(), Some(2));
    let shown = serde_json::to_value(list).expect("JSON");
    let want = json!({ "namespace": "team", "id": "sync", "revisions": [
        { "revision": 2, "current": true, "source": "api", "digest": "a", "at": "1970-01-01T00:00:01.000Z", "by": "ops" },
        { "revision": 1, "current": false, "source": "bundle", "digest": "b", "at": "1970-01-01T00:00:00.000Z" },
    ] });
    assert_eq!(shown, want);
}

#[test]
fn a_list_shows_what_counts() {
    let line = deployed_line(&name(), &pointer()).expect("deployed");
    let want = json!({
        "namespace": "team", "id": "sync", "revision": 2, "source": "api", "disabled": false,
        "triggers": [{ "id": "in", "type": "Webhook" }],
    });
    assert_eq!(serde_json::to_value(line).expect("JSON"), want);
    let gone = pointer().without_deployed().expect("deleted");
    assert_eq!(deployed_line(&name(), &gone), None);
}

#[test]
fn everything_that_is_wrong_has_its_place() {
    let fault = |line, nearest: Option<&str>| Diagnostic {
        path: format!("tasks[{line}]"),
        at: Position { line, column: 3 },
        detail: "no such type".into(),
        nearest: nearest.map(str::to_owned),
    };
    let problem = invalid(vec![fault(4, Some("log.Log")), fault(9, None)]);
    let document = problem.document();
    assert_eq!(document["status"], 422);
    assert_eq!(document["code"], "flow_invalid");
    let want = json!([
        { "detail": "no such type", "pointer": "tasks[4]", "line": 4, "column": 3, "nearest": "log.Log" },
        { "detail": "no such type", "pointer": "tasks[9]", "line": 9, "column": 3 },
    ]);
    assert_eq!(document["errors"], want);
    let one = invalid(vec![fault(4, None)]);
    assert_eq!(one.detail, "4:3 tasks[4]: no such type");
}

#[test]
fn the_text_is_for_whoever_asks_for_it() {
    let with = |accept: &str| wants_yaml(&[("Accept", accept)].into_iter().collect());
    for accept in [
        "application/yaml",
        "text/html, Text/YAML;q=0.9",
        "application/x-yaml",
    ] {
        assert!(with(accept), "{accept}");
    }
    for accept in ["", "*/*", "application/json"] {
        assert!(!with(accept), "{accept}");
    }
    assert!(!wants_yaml(&Headers::default()));
}

#[test]
fn equal_texts_differ_in_nothing() {
    assert_eq!(diff(("1", "a: 1"), ("2", "a: 1")), "");
    let shown = diff(("r1", "a: 1"), ("r2", "a: 2\n"));
    assert!(shown.starts_with("--- r1\n+++ r2\n"), "{shown}");
    assert!(shown.contains("No newline"), "{shown}");
}
