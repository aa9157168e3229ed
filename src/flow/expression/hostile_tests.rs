use super::expression_tests::{failure, value};
use super::{Fixed, Scope, Stop, Template, truthy};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn what_would_not_end_does() {
    for template in [
        "{% for a in 1..9999 %}{% for b in 1..9999 %}{{ a }}{% endfor %}{% endfor %}",
        "{% for a in 1..9999 %}{% for b in 1..9999 %}{% set x = a %}{% endfor %}{% endfor %}",
        "{% set x = 'xxxxxxxx' %}{% for a in 1..99 %}{% set x = x ~ x %}{% endfor %}",
        "{% set x = [1] %}{% for a in 1..99 %}{% set x = [x, x] %}{% endfor %}{{ x }}",
        "{% set x = 'xx' %}{% for a in 1..99 %}{% set x = x | replace({'x': 'xxx'}) %}{% endfor %}",
        "{% set x = 'x' %}{% for a in 1..99 %}{% set x = x | indent(256) ~ \"\n\" ~ x %}{% endfor %}",
        "{% set x = '\"' %}{% for a in 1..99 %}{% set x = x | toJson %}{% endfor %}",
        "{% for a in 1..9999 %}{{ inputs | toJson | sha512 | base64encode }}{% endfor %}",
        "{% set x = 3 %}{% for a in 1..999 %}{% set x = x * x %}{% endfor %}",
        "{{ render(vars.loop) }}",
        "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa' matches '(((a{90}){90}){90}){90}' }}",
        "{{ ('a' | replace({'a': '$0$0$0$0'}, regexp=true)) ~ (1..9999 | join('x')) ~ (1..9999 | toJson) ~ (1..9999 | toJson) ~ (1..9999 | toJson) ~ (1..9999 | toJson) ~ (1..9999 | toJson) }}",
        "{% for i in 1..70 %}{{ kv('k' ~ i, errorOnMissing=false) }}{% endfor %}",
    ] {
        let (code, message) = failure(template);
        assert!(
            code.starts_with("expression_"),
            "{template}: {code} {message}"
        );
    }
}

#[test]
fn size_and_nesting_are_bounded() {
    let long = format!("{{{{ 1 }}}}{}", "x".repeat(70_000));
    assert!(
        Template::compile(&long).unwrap_err()[0]
            .detail
            .contains("65536 bytes")
    );
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("-", ""),
        ("not ", ""),
        ("{'a':", "}"),
        ("true ? ", " : 1"),
        ("abs(", ")"),
    ] {
        for count in [5, 20, 31, 100, 5_000] {
            let _ = Template::compile(&format!(
                "{{{{ {}1{} }}}}",
                open.repeat(count),
                close.repeat(count)
            ));
        }
    }
    for chain in [
        " + 1", " ~ 1", " | abs", " ?? 1", " and 1", " or 1", " == 1", ".a", "[0]", " ? 1 : 1",
    ] {
        for count in [5, 20, 31, 100, 2_000] {
            let source = format!("{{{{ 1{} }}}}", chain.repeat(count));
            if let Ok(template) = Template::compile(&source) {
                let roots = serde_json::Map::new();
                let _ = template.value(&Scope {
                    roots: &roots,
                    outside: &Fixed::default(),
                });
            }
        }
    }
    assert_eq!(
        value(&format!("{{{{ 1{} }}}}", " ~ 1".repeat(500)))
            .unwrap()
            .value,
        "1".repeat(501)
    );
    let tags = format!(
        "{}x{}",
        "{% if true %}".repeat(12),
        "{% endif %}".repeat(12)
    );
    assert_eq!(value(&tags).unwrap().value, "x");
    let tags = format!(
        "{}x{}",
        "{% for a in [1] %}".repeat(200),
        "{% endfor %}".repeat(200)
    );
    assert!(Template::compile(&tags).is_err());
}

#[test]
fn nested_expressions_at_the_limit_reach_the_engine() {
    for (open, close) in [
        ("(1 + ", ")"),
        ("[", "]"),
        ("not ", ""),
        ("true ? ", " : 1"),
        ("max(1, ", ")"),
        ("null ?? (1 and ", ")"),
    ] {
        let mut most = 0;
        for count in 1..40 {
            let source = format!("{{{{ {}1{} }}}}", open.repeat(count), close.repeat(count));
            match Template::compile(&source) {
                Ok(_) => most = count,
                Err(problems) => assert!(
                    problems[0].detail.contains("too deep"),
                    "{source}: {problems:?}"
                ),
            }
        }
        assert!(most >= 10, "{open}: {most}");
    }
}

#[test]
fn truth_of_texts() {
    for text in ["", " ", "false", "0", "-0", "0.0", "null", " false\n"] {
        assert!(!truthy(text), "{text:?}");
    }
    for text in ["true", "1", "-1", "no", "0x", "False", "[]", "{}"] {
        assert!(truthy(text), "{text:?}");
    }
}

/// Pieces that templates are made of, in any order.
fn soup() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "-",
        " if ",
        " else ",
        " endif ",
        " for ",
        " in ",
        " endfor ",
        " set ",
        " raw ",
        " endraw ",
        "inputs",
        ".a",
        "['b']",
        "[0]",
        " ?? ",
        " ??? ",
        " ? ",
        " : ",
        " | ",
        "upper",
        "default(",
        "jq('.a')",
        "date('yyyy')",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "=",
        "==",
        " ~ ",
        " + ",
        "..",
        "1",
        "0.5",
        "'x'",
        "\"y#{",
        "}\"",
        "\\",
        "'",
        "\"",
        " is ",
        " not ",
        " defined ",
        " and ",
        "render(",
        "secret('X')",
        "kv(",
        "é",
        "\u{1F600}",
        "\n",
        "loop",
    ]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_panics(text in prop_oneof![soup(), any::<String>(), soup().prop_map(|soup| format!("{{{{ {soup} }}}}"))]) {
        let roots = json!({ "inputs": { "a": [1, "x"], "b": { "c": null } } });
        let fixed = Fixed::default();
        let scope = Scope { roots: roots.as_object().unwrap(), outside: &fixed };
        match Template::compile(&text) {
            Ok(template) => {
                let _ = template.references();
                let _ = template.text(&scope);
                let _ = template.value(&scope);
            }
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                prop_assert!(problems.iter().all(|found| text.is_char_boundary(found.offset)), "{problems:?}");
            }
        }
    }

    #[test]
    fn payloads_stay_what_they_are(payload in prop_oneof![soup(), any::<String>()]) {
        let roots = json!({
            "inputs": { "x": payload }, "vars": { "v": "<{{ inputs.x }}>" },
            "trigger": { "headers": { "X": [payload] } },
        });
        let mut fixed = Fixed::default();
        fixed.secrets.insert("X".into(), "s3cr3t".into());
        let scope = Scope { roots: roots.as_object().unwrap(), outside: &fixed };
        let render = |source: &str| Template::compile(source).unwrap().value(&scope);
        for (source, wanted) in [
            ("{{ inputs.x }}", payload.clone()),
            ("a{{ inputs.x }}b", format!("a{payload}b")),
            ("{{ trigger.headers.x }}", payload.clone()),
            ("{{ render(vars.v) }}", format!("<{payload}>")),
            ("{{ inputs.x ~ '!' }}", format!("{payload}!")),
            ("{% for x in [inputs.x] %}{{ x }}{% endfor %}", payload.clone()),
        ] {
            let rendered = render(source).unwrap();
            prop_assert_eq!(rendered.value, Value::String(wanted), "{}", source);
            prop_assert!(rendered.secrets.is_empty());
        }
    }

    #[test]
    fn values_pass_through(value in any_json()) {
        let roots = json!({ "inputs": { "x": value } });
        let fixed = Fixed::default();
        let scope = Scope { roots: roots.as_object().unwrap(), outside: &fixed };
        for source in ["{{ inputs.x }}", "{{ [inputs.x][0] }}", "{{ fromJson(inputs.x | toJson) }}", "{{ inputs['x'] ??? 1 }}"] {
            let rendered = Template::compile(source).unwrap().value(&scope);
            prop_assert_eq!(rendered.map(|rendered| rendered.value), Ok::<_, Stop>(value.clone()), "{}", source);
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[1-9][0-9]{0,40}".prop_map(|digits| Value::Number(digits.parse().unwrap())),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}
