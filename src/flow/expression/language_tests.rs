use super::Template;
use super::expression_tests::{are, failure, text};
use serde_json::json;

#[test]
fn operators() {
    are(&[
        ("1 + 2 * 3", json!(7)),
        ("(1 + 2) * 3", json!(9)),
        ("7 / 2", json!(3)),
        ("7.0 / 2", json!(3.5)),
        ("7 % 4", json!(3)),
        ("-inputs.n + 1", json!(-6)),
        ("1.5 + 1", json!(2.5)),
        ("'a' + 1", json!("a1")),
        ("[1] + 2", json!([1, 2])),
        ("[1, 2, 3] - [2]", json!([1, 3])),
        ("'a' ~ 1 ~ null ~ true", json!("a1true")),
        ("'a' ~ 'b' | upper", json!("AB")),
        ("1..4", json!([1, 2, 3, 4])),
        ("3..1", json!([3, 2, 1])),
        ("1 == 1.0", json!(true)),
        ("'1' == 1", json!(false)),
        ("'a' equals 'a'", json!(true)),
        ("1 != 2", json!(true)),
        ("[1, {'a': 2}] == [1.0, {'a': 2}]", json!(true)),
        ("2 > 1 and 1 < 2 and 2 >= 2 and 1 <= 1", json!(true)),
        ("'2026-01-02' > '2026-01-01'", json!(true)),
        ("inputs.price > 9", json!(true)),
        ("inputs.nothing > 1", json!(false)),
        ("true and false or true", json!(true)),
        ("not true and false", json!(false)),
        ("not inputs.n == 8", json!(true)),
        ("not inputs.gone is defined", json!(true)),
        ("inputs.n > 5 ? 'big' : 'small'", json!("big")),
        ("false ? 1 : true ? 2 : 3", json!(2)),
        ("inputs.list contains 3", json!(true)),
        ("inputs.list contains [1, 3]", json!(true)),
        ("inputs.list contains [1, 4]", json!(false)),
        ("inputs.map contains 'a'", json!(true)),
        ("inputs.name contains 'Love'", json!(true)),
        ("inputs.nothing contains 'x'", json!(false)),
        ("2 in inputs.list", json!(true)),
        ("9 not in inputs.list", json!(true)),
        ("inputs.name matches '[A-Z].*e'", json!(true)),
        ("inputs.name matches 'Ada'", json!(false)),
        ("inputs.n is odd and not (inputs.n is even)", json!(true)),
        (
            "inputs.map is map and inputs.list is iterable and inputs.n is not iterable",
            json!(true),
        ),
        (
            "inputs.json is json and inputs.name is not json",
            json!(true),
        ),
        (
            "inputs.empty is empty and inputs.nothing is null and inputs.name is not empty",
            json!(true),
        ),
    ]);
}

#[test]
fn what_is_missing() {
    are(&[
        ("inputs.gone is defined", json!(false)),
        ("inputs.gone is not defined", json!(true)),
        ("inputs.nothing is defined", json!(true)),
        ("gone.a.b is defined", json!(false)),
        ("inputs.gone ?? 'x'", json!("x")),
        ("inputs.nothing ?? 'x'", json!("x")),
        ("inputs.empty ?? 'x'", json!("")),
        ("inputs.no ?? 'x'", json!(false)),
        ("inputs.nothing ??? 'x'", json!(null)),
        ("inputs.gone ??? 'x'", json!("x")),
        ("inputs.gone ?? gone.too ?? inputs.n", json!(7)),
        ("inputs.gone | upper ?? 'x'", json!("x")),
        ("inputs.gone | default('x')", json!("x")),
        ("inputs.empty | default('x')", json!("x")),
        ("inputs.map.gone.deeper | default('x') | upper", json!("X")),
        ("(inputs.gone ~ 'y') ?? 'x'", json!("x")),
        ("'a' ~ inputs.gone ?? 'b'", json!("ab")),
        ("inputs[inputs.gone] ?? 'x'", json!("x")),
        // What is not needed is not looked at.
        ("inputs.n ?? inputs.gone", json!(7)),
        ("true ? 1 : inputs.gone", json!(1)),
        ("false and inputs.gone", json!(false)),
        // Outputs of known tasks.
        ("outputs['check-duplicate'].value", json!(null)),
        ("outputs['check-duplicate'].value == null", json!(true)),
        (
            "outputs['check-duplicate'].value.deeper is null",
            json!(true),
        ),
        ("outputs.call.gone ?? 'x'", json!("x")),
        ("outputs.gone ?? 'x'", json!("x")),
    ]);
    for (template, nearest) in [
        (
            "{{ input.name }}",
            "there is no variable `input`; nearest: `inputs`",
        ),
        (
            "{{ inputs.nmae }}",
            "there is no `inputs.nmae`; nearest: `inputs.name`",
        ),
        (
            "{{ outputs.cal.code }}",
            "there is no `outputs.cal`; nearest: `outputs.call`",
        ),
        (
            "{{ outputs.call.a.b.c }}",
            "there is no `outputs.call.a.b.c`: `outputs.call.a.b` is null",
        ),
        (
            "{{ outputs['check-dup'].value }}",
            "there is no `outputs['check-dup']`",
        ),
        (
            "{{ inputs.list[3] }}",
            "there is no `inputs.list[3]`: `inputs.list` is a list of 3",
        ),
        (
            "{{ inputs.name.first }}",
            "there is no `inputs.name.first`: `inputs.name` is a text",
        ),
        ("{{ inputs.gone is null }}", "there is no `inputs.gone`"),
        (
            "{{ inputs.gone ?? inputs.gone2 }}",
            "there is no `inputs.gone2`",
        ),
    ] {
        let (code, message) = failure(template);
        assert_eq!(code, "variable_missing", "{template}");
        assert!(message.starts_with(nearest), "{template}: {message}");
        assert!(message.contains(template), "{template}: {message}");
    }
}

#[test]
fn problems_are_found_when_compiling() {
    for (template, offset, detail, nearest) in [
        (
            "{{ inputs.name | uper }}",
            17,
            "there is no filter `uper`",
            Some("upper"),
        ),
        (
            "{{ secrets('x') }}",
            3,
            "there is no function `secrets`",
            Some("secret"),
        ),
        (
            "{{ read('x') }}",
            3,
            "the function `read` is not supported: there are no files",
            None,
        ),
        (
            "{{ upper(inputs.n) }}",
            3,
            "`upper` is a filter, not a function",
            None,
        ),
        (
            "{{ inputs.n is evn }}",
            15,
            "there is no test `evn`",
            Some("even"),
        ),
        (
            "{{ secret() }}",
            3,
            "the function `secret` needs `key`",
            None,
        ),
        (
            "{{ inputs.n | upper(1) }}",
            14,
            "the filter `upper` takes no arguments at most",
            None,
        ),
        (
            "{{ kv('x', namspace='y') }}",
            3,
            "the function `kv` has no argument `namspace`",
            Some("namespace"),
        ),
        (
            "{{ inputs.n && true }}",
            12,
            "an operator or the end is expected, not `&&`",
            Some("and"),
        ),
        (
            "{{ inputs.n = 1 }}",
            12,
            "an operator or the end is expected, not `=`",
            Some("=="),
        ),
        ("{{ inputs. }}", 11, "a name is expected, not the end", None),
        ("{{ }}", 0, "there is no expression in these braces", None),
        ("{{ inputs.n ", 0, "`}}` is missing", None),
        ("{{ (1 }}", 3, "this `(` is not closed", None),
        ("{{ 'a }}", 3, "this ' is not closed", None),
        ("{% fro x in y %}", 3, "there is no tag `fro`", Some("for")),
        (
            "{% include 'x' %}",
            3,
            "the tag `include` is not supported",
            None,
        ),
        ("{% if true %}", 0, "this `if` has no `endif`", None),
        (
            "{% if true %}{% endfor %}{% endif %}",
            16,
            "`endif` is expected, not `endfor`",
            None,
        ),
        ("{% endif %}", 3, "there is no `if` for this `endif`", None),
        (
            "{{ inputs.name.trim() }}",
            15,
            "values have no methods; use a filter",
            None,
        ),
    ] {
        let problems = Template::compile(template).unwrap_err();
        let found = &problems[0];
        assert!(found.detail.starts_with(detail), "{template}: {problems:?}");
        assert_eq!(
            (found.offset, found.nearest.as_deref()),
            (offset, nearest),
            "{template}: {problems:?}"
        );
    }
    let all = Template::compile("{{ a | b }} {{ c( }} {{ d(1) }}").unwrap_err();
    assert_eq!(all.len(), 3, "{all:?}");
}

#[test]
fn references() {
    let template = Template::compile(
        "{{ outputs['call'].body }}{% for i in inputs.list %}{{ i.x }}{{ outputs[i].y }}{% endfor %}\
         {{ vars.a ?? trigger.b }}{% set z = 1 %}{{ z }}",
    )
    .unwrap();
    let found: Vec<_> = template
        .references()
        .into_iter()
        .map(|found| (found.root, found.path.join("."), found.may_be_missing))
        .collect();
    let wanted = [
        ("outputs", "call.body", false),
        ("inputs", "list", false),
        ("outputs", "", false),
        ("vars", "a", true),
        ("trigger", "b", false),
    ];
    let wanted: Vec<_> = wanted
        .map(|(root, path, may)| (root.to_owned(), path.to_owned(), may))
        .into();
    assert_eq!(found, wanted);
    assert_eq!(template.references()[0].offset, 3);
}

#[test]
fn fields_of_a_webhook() {
    are(&[
        ("trigger.headers['Idempotency-Key']", json!("abc")),
        ("trigger.headers['idempotency-key'] == 'abc'", json!(true)),
        ("trigger.headers['IDEMPOTENCY-KEY'] | first", json!("abc")),
        ("trigger.headers['Idempotency-Key'][0]", json!("abc")),
        ("trigger.headers['X-Two']", json!(["a", "b"])),
        ("trigger.headers['X-Upper'] | lower", json!("loud")),
        (
            "trigger.headers['Idempotency-Key'] in ['abc', 'def']",
            json!(true),
        ),
        (
            "trigger.headers['Idempotency-Key'] contains 'ab'",
            json!(true),
        ),
        ("'k-' ~ trigger.headers['Idempotency-Key']", json!("k-abc")),
        ("inputs[trigger.parameters.kind].a", json!(1)),
        ("trigger.parameters.page | number + 1", json!(3)),
        ("trigger['headers']['x-upper']", json!("LOUD")),
        ("trigger.headers['X-Gone'] ?? 'none'", json!("none")),
        ("trigger.headers['X-Gone'] is defined", json!(false)),
    ]);
    assert_eq!(
        text("key: {{ trigger.headers['Idempotency-Key'] }}"),
        "key: abc"
    );
    assert_eq!(text("{{ trigger.headers['X-Two'] }}"), r#"["a","b"]"#);
    assert_eq!(
        failure("{{ trigger.parameters.PAGE }}").0,
        "variable_missing"
    );
}
