//! Every parameter, every mistake.

use super::*;

fn wrong(query: &str) -> Vec<String> {
    let problem = Listing::read(&format!("/v1/tasks?{query}")).expect_err(query);
    let document = problem.document();
    let errors = document["errors"].as_array().expect("errors");
    errors
        .iter()
        .map(|e| e["pointer"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn every_parameter_is_taken() {
    let query = "state=failed&state=running,failed&source=a&function=b&tenant=&key=k%201&key_prefix=k\
        &error_code=boom&label=shop:eu:1&label=a:&trace_id=4BF92F3577B34DA6A3CE929D0E0E4736\
        &created_after=1970-01-01T00:00:01Z&created_before=2000&updated_after=0&updated_before=4\
        &resumable=false&undone=partial&limit=200";
    let read = Listing::read(&format!("/v1/tasks?{query}")).expect("fine");
    let want = Filter {
        states: vec![TaskState::Failed, TaskState::Running],
        source: Some("a".into()),
        function: Some("b".into()),
        tenant: Some(String::new()),
        key: Some("k 1".into()),
        key_prefix: Some("k".into()),
        error_code: Some("boom".into()),
        labels: vec![("shop".into(), "eu:1".into()), ("a".into(), String::new())],
        trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736".into()),
        created_after_ms: Some(1_000),
        created_before_ms: Some(2_000),
        updated_after_ms: Some(0),
        updated_before_ms: Some(4),
        resumable: Some(false),
        undone: Some(UndoneWord::Partial),
    };
    assert_eq!((read.filter, read.limit), (want, 200));
    for (name, _) in PARAMETERS {
        assert!(query.contains(&format!("{name}=")), "{name}");
        assert!(Filter::default().take(name, "\0").is_some(), "{name}");
    }
}

#[test]
fn each_mistake_is_named_once_with_all_others() {
    for (query, want) in [
        ("state=", "state"),
        ("state=Failed", "state"),
        ("state=failed,", "state"),
        ("source=", "source"),
        ("source=a&source=a", "source"),
        ("label=x", "label"),
        ("label=:x", "label"),
        ("trace_id=4bf92f3577b34da6a3ce929d0e0e473", "trace_id"),
        ("created_after=yesterday", "created_after"),
        ("created_before=-1", "created_before"),
        ("created_before=1.5", "created_before"),
        ("updated_after=4503599627370496", "updated_after"),
        ("updated_before=2027-01-31", "updated_before"),
        ("resumable=yes", "resumable"),
        ("undone=none", "undone"),
        ("since=1", "since"),
        ("limit=201", "limit"),
        ("cursor=x", "cursor"),
        ("limit=1&limit=1", "limit"),
    ] {
        assert_eq!(wrong(query), [want], "{query}");
    }
    assert_eq!(
        wrong("a=1&state=x&b=2&cursor="),
        ["a", "state", "b", "cursor"]
    );
    let long = "x".repeat(MAX_VALUE_CHARS + 1);
    assert_eq!(wrong(&format!("key={long}")), ["key"]);
    let wide = "\u{1d11e}".repeat(MAX_VALUE_CHARS);
    assert!(Filter::default().take("key", &wide).expect("known").is_ok());
    assert_eq!(wrong(&format!("kez={long}")), ["kez"]);
    let labels = "label=a:b&".repeat(MAX_LABELS + 1);
    assert_eq!(wrong(&labels), ["label"]);
}

#[test]
fn what_cannot_be_rules_states_out() {
    let with_code = Filter {
        error_code: Some("boom".into()),
        ..Filter::default()
    };
    let possible = with_code.possible_states().expect("some");
    assert_eq!(possible.len(), TaskState::ALL.len() - 1);
    assert!(!possible.contains(&TaskState::Succeeded));
}

#[test]
fn every_parameter_is_on_its_page() {
    let page = include_str!("../../docs/tasks.md");
    let table = page.lines().filter(|line| line.starts_with("| `"));
    let names: Vec<&str> = table.filter_map(|line| line.split(" | ").next()).collect();
    for (name, _) in PARAMETERS {
        let name = format!("`{name}`");
        assert!(names.iter().any(|cell| cell.contains(&name)), "{name}");
    }
}

#[test]
fn a_filter_alone_takes_no_page() {
    assert!(read("/v1/events?source=a").is_ok());
    assert!(read("/v1/events?limit=1").is_err());
    assert!(read("/v1/events?cursor=x").is_err());
}
