use super::expression_tests::{are, failure};
use super::{Fixed, Scope, Template};
use serde_json::{Value, json};

#[test]
fn programs() {
    are(&[
        ("outputs.call.body | jq('.id')", json!(["x1"])),
        ("outputs.call.body | jq('.id') | first", json!("x1")),
        ("outputs.call.body | jq('.items[].n')", json!([1, 2])),
        (
            "outputs.call.body | jq('[.items[] | select(.n > 1)] | length') | first",
            json!(1),
        ),
        ("inputs.json | jq('.a')", json!([[1, 2]])),
        (
            "inputs.map | jq('to_entries | map(.key)') | first",
            json!(["a", "b"]),
        ),
        (
            "inputs.list | jq('sort | join(\"-\")') | first",
            json!("1-2-3"),
        ),
        ("inputs.list | jq('map(. * 2) | add') | first", json!(12)),
        ("inputs.list | jq('[range(3)]') | first", json!([0, 1, 2])),
        (
            "inputs.list | jq('[range(0; 10; 5)]') | first",
            json!([0, 5]),
        ),
        ("inputs.list | jq('[limit(2; .[])]') | first", json!([3, 1])),
        (
            "inputs.list | jq('reduce .[] as $x (0; . + $x)') | first",
            json!(6),
        ),
        (
            "inputs.map | jq('.b.c |= ascii_upcase | .b') | first",
            json!({ "c": "DEEP" }),
        ),
        (
            "inputs.map | jq('[.. | scalars]') | first",
            json!([1, "deep"]),
        ),
        (
            "inputs.map | jq('has(\"a\"), (.gone // \"none\")')",
            json!([true, "none"]),
        ),
        (
            "inputs.map | jq('\"a is \\\\(.a)\"') | first",
            json!("a is 1"),
        ),
        (
            "inputs.map | jq('def twice(f): f | f; .a | twice(. + 1)') | first",
            json!(3),
        ),
        (
            "inputs.map | jq('if .a == 1 then \"one\" else \"other\" end') | first",
            json!("one"),
        ),
        (
            "inputs.map | jq('try error(\"x\") catch \"caught\"') | first",
            json!("caught"),
        ),
    ]);
}

#[test]
fn texts_numbers_and_loops() {
    are(&[
        (
            "inputs.name | toJson | jq('split(\" \") | last') | first",
            json!("Lovelace"),
        ),
        (
            "inputs.name | toJson | jq('test(\"^ada\"; \"i\")') | first",
            json!(true),
        ),
        (
            "inputs.name | toJson | jq('gsub(\"[aeiou]\"; \"_\")') | first",
            json!("Ad_ L_v_l_c_"),
        ),
        (
            "inputs.name | toJson | jq('[scan(\"[A-Z]\")]') | first",
            json!(["A", "L"]),
        ),
        (
            "inputs.name | toJson | jq('@base64, @uri')",
            json!(["QWRhIExvdmVsYWNl", "Ada%20Lovelace"]),
        ),
        (
            "'{\"n\":12345678901234567890123}' | jq('.n') | first | toJson",
            json!("12345678901234567890123"),
        ),
        ("'[1.10]' | jq('.[]') | first | toJson", json!("1.10")),
        (
            "inputs.list | jq('group_by(. > 1) | map(length)') | first",
            json!([1, 2]),
        ),
        (
            "inputs.list | jq('until(length < 2; .[1:])') | first",
            json!([2]),
        ),
        (
            "inputs.list | jq('[recurse(if length > 1 then .[1:] else empty end) | length]') | first",
            json!([3, 2, 1]),
        ),
        (
            "inputs.list | jq('paths | tojson')",
            json!(["[0]", "[1]", "[2]"]),
        ),
        (
            "inputs.list | jq('[.[] as $x | $x * $x]') | first",
            json!([9, 1, 4]),
        ),
        ("inputs.list | jq('empty')", json!([])),
        ("inputs.nothing | jq('.')", json!(null)),
    ]);
}

#[test]
fn what_is_refused_when_compiling() {
    for (program, detail) in [
        (".[", "this is no jq program"),
        ("nonsense", "jq has no `nonsense` here"),
        ("env", "jq has no `env` here"),
        ("$ENV", "jq has no `$ENV` here"),
        ("now", "jq has no `now` here"),
        ("input", "jq has no `input` here"),
        ("debug", "jq has no `debug` here"),
        ("halt", "jq has no `halt` here"),
        ("__ok", "jq has no `__ok` here"),
        ("def f: f; f", "the jq definition `f` calls itself"),
        (
            "def f: def g: f; g; f",
            "the jq definition `f` calls itself",
        ),
        (".a *= 2", "jq has no `*=` here"),
    ] {
        let problems =
            Template::compile(&format!("{{{{ inputs.map | jq('{program}') }}}}")).unwrap_err();
        assert_eq!(problems[0].detail, detail, "{program}");
    }
    let deep = format!(
        "{{{{ inputs.map | jq('{}1{}') }}}}",
        "[".repeat(60),
        "]".repeat(60)
    );
    assert!(Template::compile(&deep).is_err());
    for part in [
        "1|",
        "1,",
        "1+",
        "1 and ",
        "1//",
        "try ",
        "-",
        "1 as $x|",
        "def f: ",
        ".a?//",
        "if 1 then ",
        "reduce ",
    ] {
        for count in [200, 500, 5_000] {
            let program = format!("{}1", part.repeat(count.min(1_023 / part.len())));
            let source = format!("{{{{ [] | jq('{program}') }}}}");
            // It may be one or not; it must not end the process.
            let _ = Template::compile(&source).map(|template| template.references());
        }
    }
}

#[test]
fn programs_end() {
    for program in [
        "[repeat(1)]",
        "repeat(.)",
        "[recurse(. + 1; true)]",
        "last(range(1e9))",
        "[range(0; 1e12)]",
        "[range(10000) as $a | range(10000) as $b | range(10000)] | length",
        "(range(10000) as $a | range(10000) as $b | range(10000) | false) // 1",
        "until(false; . + 1)",
        "[while(true; . + 1)]",
        "reduce range(1000) as $i (\"x\"; . + .)",
        "reduce range(1000) as $i ([1]; . + .)",
        "reduce range(1000) as $i (2; . * .) | tostring | length",
        "reduce range(1000) as $i (\"\\\"\"; tojson)",
        "reduce range(100) as $i (1; [., .])",
        "reduce range(10000) as $i (1; [.])",
        "[limit(100000000; repeat(1))]",
        "[1,2,3,4,5,6,7,8,9,10] | [., ., ., ., ., ., ., ., .] | [combinations]",
        "[combinations(40)]",
        "\"x\" * 1000000000",
        "1000000000 * \"x\"",
        "[] | .[1000000000] = 1",
        "null | .[1000000000] = 1",
        "{} | .a[100000000] = 1",
        "[] | setpath([1000000000]; 1)",
        "\"a\" | test(\"(((a{100}){100}){100}){100}\")",
        "first(repeat(1) | select(. > 2))",
        "isempty(repeat(1) | empty)",
        "[splits(\"a\")]",
        "path(repeat(.a))",
        "label $out | foreach repeat(1) as $i (0; . + 1; empty)",
        "[.[]?] | implode | error",
        "[1e300 | explode?] | getpath([1,2,3]) | error",
    ] {
        let source = format!("{{{{ [1, 2] | jq('{}') }}}}", program.replace('\\', "\\\\"));
        let (code, message) = failure(&source);
        assert!(
            ["expression_failed", "expression_too_large"].contains(&code.as_str()),
            "{program}: {message}"
        );
    }
}

#[test]
fn a_large_payload_is_looked_through() {
    let items: Vec<Value> = (0..2_000)
        .map(|n| json!({ "n": n, "name": format!("item {n}"), "ok": n % 2 == 0 }))
        .collect();
    let roots = json!({ "outputs": { "call": { "body": { "items": items } } } });
    let fixed = Fixed::default();
    let scope = Scope {
        roots: roots.as_object().unwrap(),
        outside: &fixed,
    };
    let source = "{{ outputs.call.body | jq('[.items[] | select(.ok) | .n] | length') | first }}";
    assert_eq!(
        Template::compile(source)
            .unwrap()
            .value(&scope)
            .unwrap()
            .value,
        1_000
    );
}
