use super::*;

const HELLO: &str = "id: hello\nnamespace: team\ntasks:\n  - {id: hi, type: io.kestra.plugin.core.log.Log, message: hi}\n";

fn name(namespace: &str, id: &str) -> FlowName {
    FlowName::read(namespace, id).expect("a name")
}

#[test]
fn a_text_has_the_name_of_its_address() {
    let hello = || HELLO.as_bytes().to_vec();
    let (text, flow) = checked_text(&name("team", "hello"), hello()).expect("a flow");
    assert_eq!((text.as_str(), flow.id.as_str()), (HELLO, "hello"));
    let problem = checked_text(&name("shop", "other"), hello()).expect_err("another name");
    assert_eq!(problem.status(), 422);
    let places: Vec<(&str, u32)> = problem
        .diagnostics
        .iter()
        .map(|d| (d.path.as_str(), d.at.line))
        .collect();
    assert_eq!(places, [("namespace", 2), ("id", 1)]);
}

#[test]
fn what_is_no_text_is_told_with_its_line() {
    let problem = checked_text(&name("team", "a"), b"id: a\nb: \xff\n".to_vec());
    let problem = problem.expect_err("not UTF-8");
    assert_eq!((problem.status(), problem.diagnostics[0].at.line), (422, 2));
    let long = "\n".repeat(70_000).into_bytes();
    let problem = checked_text(&name("team", "a"), long).expect_err("too long");
    assert_eq!(problem.status(), 413);
}

#[test]
fn parameters_are_read_and_all_problems_told() {
    assert_eq!(
        namespace_in("/v1/flows?namespace=a.b"),
        Ok(Some("a.b".into()))
    );
    assert_eq!(revision_in("/x?revision=3"), Ok(Some(3)));
    assert_eq!(diff_query("/x?from=1&to=2"), Ok((Some(1), Some(2))));
    assert_eq!(diff_query("/x"), Ok((None, None)));
    assert_eq!(
        (is_dry_run("/x?dry_run=true"), is_dry_run("/x")),
        (Ok(true), Ok(false))
    );
    for (problem, count) in [
        (namespace_in("/x?namespace=A&b=1").map(drop), 2),
        (revision_in("/x?revision=0").map(drop), 1),
        (revision_in("/x?revision=1&revision=1").map(drop), 1),
        (diff_query("/x?from=a&to=b&c").map(drop), 3),
        (is_dry_run("/x?dry_run=1").map(drop), 1),
    ] {
        let problem = problem.expect_err("refused");
        assert_eq!((problem.status(), problem.errors.len()), (400, count));
    }
}

#[test]
fn the_schema_is_known_again() {
    let first = schema_answer(&Headers::default());
    let tag = first.headers.get("etag").expect("a tag");
    let known = [("If-None-Match", tag)].into_iter().collect();
    assert_eq!((first.status, schema_answer(&known).status), (200, 304));
}
