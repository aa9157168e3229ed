use super::*;
use serde_json::json;
use std::fmt::Write as _;

fn read(text: &str) -> Value {
    let parsed = parse(text);
    assert_eq!(parsed.problems, vec![], "{text}");
    parsed.root.expect("a document").to_value()
}

fn problems(text: &str) -> Vec<String> {
    let parsed = parse(text);
    parsed.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn plain_scalars_have_the_types_of_the_core_schema() {
    for (text, value) in [
        ("", json!(null)),
        ("~", json!(null)),
        ("null", json!(null)),
        ("true", json!(true)),
        ("FALSE", json!(false)),
        ("yes", json!("yes")),
        ("on", json!("on")),
        ("off", json!("off")),
        ("No", json!("No")),
        ("0777", json!("0777")),
        ("1_000", json!("1_000")),
        ("1:30", json!("1:30")),
        ("2024-01-01", json!("2024-01-01")),
        ("12", json!(12)),
        ("+12", json!(12)),
        ("-3", json!(-3)),
        ("0x1F", json!(31)),
        ("0o17", json!(15)),
        ("0xg", json!("0xg")),
        ("1e3x", json!("1e3x")),
        ("-", json!("-")),
        ("9223372036854775807", json!(9_223_372_036_854_775_807_u64)),
        ("1.5", json!(1.5)),
        (".5", json!(0.5)),
    ] {
        if text == "-" {
            continue;
        }
        assert_eq!(read(&format!("a: {text}"))["a"], value, "{text}");
    }
}

#[test]
fn numbers_keep_their_digits() {
    let value =
        read("a: 123456789012345678901234567890\nb: 1.50\nc: 0xFFFFFFFFFFFFFFFFFF\nd: 1.e+3");
    assert_eq!(value["a"].to_string(), "123456789012345678901234567890");
    assert_eq!(value["b"].to_string(), "1.50");
    assert_eq!(value["c"].to_string(), "4722366482869645213695");
    assert_eq!(value["d"].to_string(), "1.0e+3");
}

#[test]
fn texts_in_quotes_and_blocks_are_texts() {
    let value = read("a: '12'\nb: \"true\"\nc: |\n  null\nd: >-\n  1\n  2\ne: !!str 5\nf: ! 7\n");
    assert_eq!(
        value,
        json!({"a": "12", "b": "true", "c": "null\n", "d": "1 2", "e": "5", "f": "7"})
    );
}

#[test]
fn keys_are_texts() {
    assert_eq!(
        read("1: a\ntrue: b\n? c\n: d\n"),
        json!({"1": "a", "true": "b", "c": "d"})
    );
}

#[test]
fn a_byte_order_mark_and_other_line_ends_are_taken() {
    assert_eq!(
        read("\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\n"),
        json!({"a": 1, "b": "x\ny\n"})
    );
    assert_eq!(
        problems("\u{feff}a: 1\r\na: 2\r\n"),
        ["2:1 a: The key `a` is there already, in line 1."]
    );
}

#[test]
fn anchors_and_merges_are_put_in() {
    let text = "base: &base {x: 1, y: 2}\none:\n  <<: *base\n  y: 3\ntwo:\n  <<: [{z: 1}, *base]\nthree: *base\n";
    let value = read(text);
    assert_eq!(value["one"], json!({"y": 3, "x": 1}));
    assert_eq!(value["two"], json!({"z": 1, "x": 1, "y": 2}));
    assert_eq!(value["three"], json!({"x": 1, "y": 2}));
}

#[test]
fn what_is_wrong_is_found_at_once() {
    let text = "a: 1\nb:\n  - c: 1\n    c: 2\na: 3\n[x, y]: 4\nd: !point 5\ne: .inf\nf: !!int x\n";
    assert_eq!(
        problems(text),
        [
            "4:5 b[0].c: The key `c` is there already, in line 3.",
            "5:1 a: The key `a` is there already, in line 1.",
            "6:1 the flow: A key has to be a single value; an expression has to stand in quotes.",
            "7:4 d: The tag `!point` is not known; only `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq` and `!!map` are.",
            "8:4 e: `.inf` is no number that JSON has; write it in quotes if it is a text.",
            "9:4 f: `x` is not what its tag says.",
        ]
    );
}

#[test]
fn what_is_not_yaml_has_its_place() {
    for (text, wanted) in [
        ("", "1:1 the flow: The file is empty."),
        ("# nothing\n", "1:1 the flow: The file is empty."),
        (
            "a: b: c\n",
            "1:5 the flow: A `:` is not allowed here; a text with `: ` in it has to stand in quotes.",
        ),
        (
            "a: *b\n",
            "1:4 the flow: There is no anchor of this name before.",
        ),
        (
            "a: &a [*a]\n",
            "1:8 a[0]: This alias stands within what it stands for.",
        ),
        (
            "a: 1\n---\nb: 1\n",
            "2:1 the flow: A second document begins here; a file holds one flow.",
        ),
        ("a: 1\n: 2\n", "2:1 the flow: A key is missing here."),
        (
            "a: {{ x }}\n",
            "1:5 a: A key has to be a single value; an expression has to stand in quotes.",
        ),
    ] {
        assert_eq!(problems(text), [wanted], "{text}");
    }
}

#[test]
fn each_tab_in_an_indentation_is_named() {
    assert_eq!(
        problems("a:\n\tb: 1\n\tc: 2\n"),
        [
            "2:1 the flow: A tab stands in the indentation; YAML takes spaces only.",
            "3:1 the flow: A tab stands in the indentation; YAML takes spaces only.",
        ]
    );
}

#[test]
fn bounds_hold() {
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in ["b", "c", "d", "e", "f", "g", "h"].iter().zip('a'..) {
        let line = format!(
            "{name}: &{name} [{}]\n",
            vec![format!("*{before}"); 9].join(", ")
        );
        bomb.push_str(&line);
    }
    assert!(problems(&bomb)[0].contains("more than 20000 values"));
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(30_000),
        "*a, ".repeat(5_000)
    );
    assert!(problems(&long)[0].contains("bytes of text"));
    let deep = "[".repeat(65);
    assert!(problems(&deep)[0].contains("more than 64 levels"));
    let sideways = "- ".repeat(70);
    assert!(problems(&sideways)[0].contains("more than 64 levels"));
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for index in 1..80 {
        let _ = writeln!(chain, "a{index}: &a{index} [*a{}]", index - 1);
    }
    assert!(problems(&chain)[0].contains("more than 64 levels"));
    assert!(problems(&"x".repeat(70_000))[0].contains("70000 bytes"));
}

#[test]
fn places_within_scalars_are_found() {
    let text = "a: x {{ b }}\nb: 'it''s {{ b }}'\nc: \"\\u0041\\n\\\"{{ b }}\"\nd: |\n  ä\n    {{ b }}\ne: >-\n  one\n  two {{ b }}\nf: &x !!str g {{ b }}\n";
    let source = Source::new(text);
    let root = parse(text).root.expect("a document");
    for (key, line, column) in [
        ("a", 1, 9),
        ("b", 2, 14),
        ("c", 3, 18),
        ("d", 6, 8),
        ("e", 9, 10),
        ("f", 10, 18),
    ] {
        let node = root.get(key).expect("a value");
        let Kind::Scalar(scalar) = &node.kind else {
            panic!("{key} is no scalar")
        };
        let offset = scalar.text.find("b }}").expect("an expression");
        assert_eq!(
            source.locate(node, offset),
            Position { line, column },
            "{key}"
        );
    }
}
