use super::expression_tests::{are, failure, text};
use super::{supported, unsupported};
use serde_json::json;

#[test]
fn on_texts() {
    are(&[
        ("inputs.name | lower", json!("ada lovelace")),
        ("inputs.name | upper", json!("ADA LOVELACE")),
        ("'  a b ' | trim", json!("a b")),
        ("'hello world' | capitalize", json!("Hello world")),
        ("'hello my world' | title", json!("Hello My World")),
        (
            "'Ünïcode & Spaß: 100%!' | slugify",
            json!("unicode-spass-100"),
        ),
        ("'a\\nb' | length", json!(4)),
        ("'abcdef' | truncate(5)", json!("ab...")),
        ("'abcdef' | truncate(6)", json!("abcdef")),
        ("'abcdef' | abbreviate(4)", json!("a...")),
        ("'a-b-c' | replace({'-': '+', 'a': 'x'})", json!("x+b+c")),
        (
            "'a1b22' | replace({'[0-9]+': '#'}, regexp=true)",
            json!("a#b#"),
        ),
        ("'a,b,,c,,' | split(',')", json!(["a", "b", "", "c"])),
        ("'a,b,c' | split(',', 2)", json!(["a", "b,c"])),
        ("'abc' | split('')", json!(["a", "b", "c"])),
        (
            "'abc' | startsWith('ab') and 'abc' | endsWith('bc')",
            json!(true),
        ),
        ("'a/b/c' | substringBefore('/')", json!("a")),
        ("'a/b/c' | substringBeforeLast('/')", json!("a/b")),
        ("'a/b/c' | substringAfter('/')", json!("b/c")),
        ("'a/b/c' | substringAfterLast('/')", json!("c")),
        ("'abc' | substringAfter('/')", json!("")),
    ]);
    are(&[
        ("\"it's\" | escapeChar('single')", json!("it\\'s")),
        ("\"it's\" | escapeChar('shell')", json!("it'\\''s")),
        (
            "'say \"hi\"' | escapeChar('double')",
            json!("say \\\"hi\\\""),
        ),
        ("inputs.nothing | upper", json!(null)),
        ("'abc' | reverse", json!("cba")),
        ("'abcdef' | slice(1, 3)", json!("bc")),
        ("'abc' | first ~ 'abc' | last", json!("c")),
    ]);
    assert_eq!(
        text("{% set t = \"a\nb\" %}x{{ t | indent(2) }}|{{ t | nindent(2) }}"),
        "xa\n  b|\n  a\n  b"
    );
    assert_eq!(text("{% set t = \"a\nb\" %}{{ t | nl2br }}"), "a<br />\nb");
}

#[test]
fn on_lists_and_maps() {
    are(&[
        ("inputs.list | first", json!(3)),
        ("inputs.list | last", json!(2)),
        ("[] | first", json!(null)),
        ("inputs.list | length", json!(3)),
        ("inputs.map | length", json!(2)),
        ("inputs.list | slice(1)", json!([1, 2])),
        ("inputs.list | slice(toIndex=2)", json!([3, 1])),
        ("inputs.list | join(', ')", json!("3, 1, 2")),
        ("inputs.map | keys", json!(["a", "b"])),
        ("inputs.list | keys", json!([0, 1, 2])),
        ("{'a': 1} | values", json!([1])),
        (
            "{'a': 1, 'b': 1} | merge({'b': 2})",
            json!({ "a": 1, "b": 2 }),
        ),
        ("[1] | merge([2])", json!([1, 2])),
        ("[1, 2, 3] | chunk(2)", json!([[1, 2], [3]])),
        ("[1, [2, [3]]] | flatten", json!([1, 2, 3])),
        ("inputs.list | sort", json!([1, 2, 3])),
        ("[1.5, 1, 2] | rsort", json!([2, 1.5, 1])),
        ("['b', 'a'] | sort", json!(["a", "b"])),
        ("inputs.list | reverse", json!([2, 1, 3])),
        ("[1, 1.0, 'a', 'a'] | distinct", json!([1, "a"])),
        ("inputs.n | className", json!("java.lang.Integer")),
        ("max(1, 5, 3) + min([4, 2])", json!(7)),
        ("range(1, 7, 2)", json!([1, 3, 5, 7])),
        ("currentEachOutput(outputs.each).value", json!("B")),
        ("errorLogs()", json!([])),
        ("tasksWithState('FAILED')[0].taskId", json!("other")),
    ]);
    for wrong in [
        "{{ [1, 'a'] | sort }}",
        "{{ 1 | first }}",
        "{{ [1] | chunk(0) }}",
        "{{ 'a' | keys }}",
        "{{ 1..99999 }}",
    ] {
        assert!(failure(wrong).0.starts_with("expression_"), "{wrong}");
    }
}

#[test]
fn on_numbers() {
    are(&[
        ("'12' | number", json!(12)),
        ("'12' | number('FLOAT')", json!(12.0)),
        ("-5 | abs", json!(5)),
        (
            "1234567.891 | numberformat('#,##0.00')",
            json!("1,234,567.89"),
        ),
        ("5 | numberformat('000')", json!("005")),
        ("1.5 | numberformat('0.##')", json!("1.5")),
        ("-0.001 | numberformat('0.0')", json!("-0.0")),
        (
            "'%s has %d of %.2f%%' | format('a', 3, 1.5)",
            json!("a has 3 of 1.50%"),
        ),
        (
            "'%05d|%-4s|%4s' | format(-42, 'a', 'b')",
            json!("-0042|a   |   b"),
        ),
    ]);
    for wrong in [
        "{{ 'x' | number }}",
        "{{ '1.5' | number('INT') }}",
        "{{ 1 / 0 }}",
        "{{ 'a' * 2 }}",
        "{{ true + 1 }}",
    ] {
        assert_eq!(failure(wrong).0, "expression_failed", "{wrong}");
    }
}

#[test]
fn encodings() {
    are(&[
        ("inputs.map | toJson", json!(r#"{"a":1,"b":{"c":"deep"}}"#)),
        ("inputs.map | json", json!(r#"{"a":1,"b":{"c":"deep"}}"#)),
        ("inputs.name | toJson", json!("\"Ada Lovelace\"")),
        ("fromJson(inputs.json).a[1]", json!(2)),
        ("json(inputs.json).a", json!([1, 2])),
        ("fromJson(inputs.map).a", json!(1)),
        ("'häy' | base64encode", json!("aMOkeQ==")),
        ("'aMOkeQ==' | base64decode", json!("häy")),
        ("'a b&c/ä' | urlencode", json!("a+b%26c%2F%C3%A4")),
        ("'a+b%26c' | urldecode", json!("a b&c")),
        (
            "'abc' | sha1",
            json!("a9993e364706816aba3e25717850c26c9cd0d89d"),
        ),
        (
            "'abc' | sha256",
            json!("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ),
        ("'abc' | sha512 | length", json!(128)),
        (
            "{'a': [1, {'b c': 'no'}], 'd': {}} | yaml",
            json!("a:\n  - 1\n  -\n    \"b c\": \"no\"\nd: {}\n"),
        ),
    ]);
    for wrong in ["{{ fromJson('{') }}", "{{ 'a' | base64decode }}"] {
        assert_eq!(failure(wrong).0, "expression_failed", "{wrong}");
    }
}

#[test]
fn everything_has_one_name() {
    for (kind, names) in supported() {
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{kind}");
        for (refused_kind, name, reason) in unsupported() {
            assert!(
                !(refused_kind == kind && names.contains(&name)),
                "{name} is refused ({reason}) and supported"
            );
        }
    }
}
