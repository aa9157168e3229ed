use super::{Fixed, Outside, Rendered, Scope, Stop, Template};
use serde_json::{Map, Value, json};
use uuid::Uuid;

fn roots() -> Map<String, Value> {
    let Value::Object(roots) = json!({
        "flow": { "id": "shop", "namespace": "company.team", "revision": 3 },
        "execution": { "id": "2f0e", "startDate": "2026-07-01T12:30:45.123Z" },
        "inputs": {
            "name": "Ada Lovelace", "n": 7, "zero": 0, "no": false, "yes": true, "nothing": null, "empty": "",
            "list": [3, 1, 2], "map": { "a": 1, "b": { "c": "deep" } }, "my-key": "hyphen", "price": 9.5,
            "json": "{\"a\":[1,2]}", "hostile": "{{ secret('TOKEN') }}",
        },
        "outputs": {
            "call": { "code": 200, "body": { "id": "x1", "items": [{ "n": 1 }, { "n": 2 }] } },
            "check-duplicate": {},
            "each": { "a": { "value": "A" }, "b": { "value": "B" } },
        },
        "labels": { "system": { "correlationId": "c-1" } },
        "tasks": { "call": { "state": "SUCCESS" }, "other": { "state": "FAILED" } },
        "trigger": {
            "body": { "id": "evt_1", "text": "{{ inputs.name }} {% if true %}" },
            "headers": { "Idempotency-Key": ["abc"], "X-Two": ["a", "b"], "X-Upper": ["LOUD"] },
            "parameters": { "page": ["2"], "kind": ["map"] },
        },
        "vars": { "greeting": "Hello {{ inputs.name }}", "plain": "as is", "twice": "{{ vars.greeting }}!",
                  "hostile": "got {{ inputs.hostile }}", "loop": "{{ render(vars.loop) }}" },
        "taskrun": { "id": "t1", "value": "b", "iteration": 1 },
    }) else {
        unreachable!()
    };
    roots
}

fn outside() -> Fixed {
    let mut fixed = Fixed {
        now_ms: 1_782_909_045_123,
        ..Fixed::default()
    };
    fixed.secrets.insert("TOKEN".into(), "s3cr3t".into());
    fixed
        .secrets
        .insert("JSON".into(), r#"{"user":"u","pass":"p4ss"}"#.into());
    fixed
        .kv
        .insert(("company.team".into(), "seen".into()), json!({ "at": 5 }));
    fixed
        .kv
        .insert(("other".into(), "seen".into()), json!("elsewhere"));
    fixed
}

pub(super) fn value(template: &str) -> Result<Rendered, Stop> {
    let template =
        Template::compile(template).unwrap_or_else(|problems| panic!("{template}: {problems:?}"));
    template.value(&Scope {
        roots: &roots(),
        outside: &outside(),
    })
}

pub(super) fn text(template: &str) -> String {
    let compiled =
        Template::compile(template).unwrap_or_else(|problems| panic!("{template}: {problems:?}"));
    compiled
        .text(&Scope {
            roots: &roots(),
            outside: &outside(),
        })
        .unwrap_or_else(|stop| panic!("{template}: {stop:?}"))
        .0
}

pub(super) fn failure(template: &str) -> (String, String) {
    match value(template) {
        Err(Stop::Failed(failure)) => (failure.code, failure.message),
        other => panic!("{template}: {other:?}"),
    }
}

/// Each expression on its own, and what it is.
pub(super) fn are(table: &[(&str, Value)]) {
    for (expression, wanted) in table {
        let source = format!("{{{{ {expression} }}}}");
        let found = value(&source).unwrap_or_else(|stop| panic!("{source}: {stop:?}"));
        assert_eq!(found.value, *wanted, "{source}");
    }
}

#[test]
fn values_keep_their_type() {
    are(&[
        ("inputs.name", json!("Ada Lovelace")),
        ("inputs.n", json!(7)),
        ("inputs['my-key']", json!("hyphen")),
        ("inputs.map.b.c", json!("deep")),
        ("inputs.list[0]", json!(3)),
        ("inputs.list", json!([3, 1, 2])),
        ("outputs.call.body.items[1].n", json!(2)),
        ("outputs[\"call\"]['code']", json!(200)),
        ("outputs.each[taskrun.value].value", json!("B")),
        ("labels.system.correlationId", json!("c-1")),
        ("inputs.nothing", json!(null)),
        ("null", json!(null)),
        ("true", json!(true)),
        ("'it\\'s'", json!("it's")),
        ("'a\\nb'", json!("a\\nb")),
        ("\"Hi #{inputs.n + 1}!\"", json!("Hi 8!")),
        ("[1, 'two', inputs.n]", json!([1, "two", 7])),
        ("{'a': 1, 'b': [2]}", json!({ "a": 1, "b": [2] })),
        ("{'a': {'b': 5}}['a'].b", json!(5)),
        ("(inputs.list)[2]", json!(2)),
        ("envs", json!({})),
    ]);
}

#[test]
fn numbers_keep_all_digits() {
    let big = "123456789012345678901234567890123456789012345678901234567890";
    for (written, printed) in [
        ("9007199254740993", "9007199254740993"),
        ("18446744073709551615", "18446744073709551615"),
        (big, big),
        ("1.10", "1.10"),
        ("0.1", "0.1"),
        ("1e+3", "1e+3"),
    ] {
        let roots: Map<String, Value> =
            serde_json::from_str(&format!(r#"{{"inputs":{{"n":{written}}}}}"#)).unwrap();
        let fixed = Fixed::default();
        let scope = Scope {
            roots: &roots,
            outside: &fixed,
        };
        let template = Template::compile("{{ inputs.n }}").unwrap();
        assert_eq!(template.value(&scope).unwrap().value.to_string(), written);
        assert_eq!(
            Template::compile("n={{ inputs.n }}")
                .unwrap()
                .text(&scope)
                .unwrap()
                .0,
            format!("n={printed}")
        );
        assert_eq!(
            Template::compile("{{ inputs }}")
                .unwrap()
                .text(&scope)
                .unwrap()
                .0,
            format!(r#"{{"n":{printed}}}"#)
        );
    }
    are(&[
        ("9007199254740993 + 1", json!(9_007_199_254_740_994_i64)),
        ("9007199254740993 == 9007199254740992", json!(false)),
        ("9007199254740993 > 9007199254740992", json!(true)),
    ]);
}

#[test]
fn texts() {
    for (template, wanted) in [
        ("a {{ inputs.nothing }} b", "a  b"),
        (
            "{{ inputs.list }}/{{ inputs.map }}",
            r#"[3,1,2]/{"a":1,"b":{"c":"deep"}}"#,
        ),
        ("{{ inputs.no }} {{ inputs.price }}", "false 9.5"),
        ("{{ inputs.n }}\n", "7\n"),
        ("  {{- inputs.n -}}  x", "7x"),
        ("a {# never {{ this }} #} b", "a  b"),
        ("a {# b #}", "a {# b #}"),
        ("{{ 1 }}{# never {{ this }} -#}  b", "1b"),
        (
            "{% if inputs.n > 5 %}big{% elseif inputs.n > 3 %}mid{% else %}small{% endif %}",
            "big",
        ),
        ("{% if false %}x{% endif %}.", "."),
        (
            "{% for i in inputs.list %}{{ loop.index }}:{{ i }}{% if not loop.last %},{% endif %}{% endfor %}",
            "0:3,1:1,2:2",
        ),
        (
            "{% for e in inputs.map %}{{ e.key }}={{ e.value }};{% endfor %}",
            r#"a=1;b={"c":"deep"};"#,
        ),
        ("{% for i in [] %}x{% else %}none{% endfor %}", "none"),
        (
            "{% for a in 1..2 %}{% for b in 1..2 %}{{ a }}{{ b }} {% endfor %}{% endfor %}",
            "11 12 21 22 ",
        ),
        ("{% set x = 1 %}{{ x + 1 }}", "2"),
        (
            "{% set x = 0 %}{% for i in 1..3 %}{% set x = x + i %}{{ x }},{% endfor %}{{ x }}",
            "1,3,6,0",
        ),
        (
            "{% if false %}{% set inputs = 1 %}{% endif %}{{ inputs.n }}",
            "7",
        ),
        (
            "{% for inputs in [{'n': 1}] %}{{ inputs.n }}{% endfor %}{{ inputs.n }}",
            "17",
        ),
        ("{% raw %}{{ not.this }}{% endraw %}", "{{ not.this }}"),
        ("{% verbatim %} {% if %} {% endverbatim %}!", " {% if %} !"),
        ("x {%- if true -%} y {%- endif -%} z", "xyz"),
        ("{{ '}}' }}{{ \"{{ x }}\" }}", "}}{{ x }}"),
        ("{{ {'a': {'b': 1}} }}", r#"{"a":{"b":1}}"#),
        ("plain", "plain"),
        ("ünïcödé {{ inputs.n }} ✓", "ünïcödé 7 ✓"),
    ] {
        assert_eq!(text(template), wanted, "{template}");
    }
}

#[test]
fn payloads_are_not_rendered() {
    assert_eq!(text("{{ inputs.hostile }}"), "{{ secret('TOKEN') }}");
    assert_eq!(
        text("x {{ trigger.body.text }}"),
        "x {{ inputs.name }} {% if true %}"
    );
    assert_eq!(text("{{ vars.greeting }}"), "Hello {{ inputs.name }}");
    // What is rendered on demand is rendered once: what stands in for its variables is not.
    let rendered = value("{{ render(vars.hostile) }}").unwrap();
    assert_eq!(
        (rendered.value, rendered.secrets),
        (json!("got {{ secret('TOKEN') }}"), Vec::new())
    );
}

#[test]
fn rendering_on_demand() {
    are(&[
        ("render(vars.greeting)", json!("Hello Ada Lovelace")),
        ("render(vars.plain)", json!("as is")),
        ("render(vars.twice)", json!("Hello Ada Lovelace!")),
        ("renderOnce(vars.twice)", json!("Hello {{ inputs.name }}!")),
        (
            "render(vars.twice, recursive=false)",
            json!("Hello {{ inputs.name }}!"),
        ),
        ("render('{{ inputs.n }}')", json!(7)),
        (
            "render({'a': ['{{ inputs.n }}', 1]})",
            json!({ "a": [7, 1] }),
        ),
    ]);
    let (code, message) = failure("{{ render(vars.loop) }}");
    assert_eq!(code, "expression_too_large", "{message}");
    let (code, message) = failure("{{ render('{{ 1 +') }}");
    assert_eq!(code, "expression_failed");
    assert!(message.contains("no template"), "{message}");
}

#[test]
fn secrets() {
    let found = value("Bearer {{ secret('TOKEN') }}").unwrap();
    assert_eq!(
        found,
        Rendered {
            value: json!("Bearer s3cr3t"),
            secrets: vec!["s3cr3t".into()]
        }
    );
    assert_eq!(
        value("{{ secret('JSON', subkey='pass') }}").unwrap().value,
        "p4ss"
    );
    let (code, message) = failure("{{ secret('GONE') }}");
    assert_eq!(code, "secret_missing");
    assert!(message.contains("`GONE`"), "{message}");
    assert_eq!(failure("{{ secret('GONE') ?? 'x' }}").0, "secret_missing");
    // No message shows one.
    let (_, message) = failure("{{ inputs[secret('TOKEN')] }}");
    assert!(!message.contains("s3cr3t"), "{message}");
    let (_, message) = failure("{{ secret('TOKEN') | number }}");
    assert!(!message.contains("s3cr3t"), "{message}");
}

struct Nothing;

impl Outside for Nothing {
    fn secret(&self, _: &str) -> Option<String> {
        None
    }
    fn kv(&self, _: &str, _: &str) -> Option<Option<Value>> {
        None
    }
    fn now_ms(&self) -> Option<u64> {
        None
    }
    fn uuid(&self) -> Uuid {
        Uuid::nil()
    }
}

#[test]
fn the_outside() {
    are(&[
        ("kv('seen').at", json!(5)),
        ("kv('seen', 'other')", json!("elsewhere")),
        ("kv(key='seen', namespace='other')", json!("elsewhere")),
        ("kv('gone', errorOnMissing=false)", json!(null)),
        ("kv('gone', errorOnMissing=false) ?? 'x'", json!("x")),
        ("inputs.n ?? kv('gone')", json!(7)),
    ]);
    let (code, message) = failure("{{ kv('gone') }}");
    assert_eq!(code, "expression_failed");
    assert!(
        message.contains("no key `gone` in the namespace `company.team`"),
        "{message}"
    );
    let roots = roots();
    let scope = Scope {
        roots: &roots,
        outside: &Nothing,
    };
    let stop = Template::compile("{{ kv('a' ~ inputs.n) }}")
        .unwrap()
        .value(&scope)
        .unwrap_err();
    assert_eq!(
        stop,
        Stop::NeedsKv {
            namespace: "company.team".into(),
            key: "a7".into()
        }
    );
}

#[test]
fn random_values_repeat() {
    let one = "{{ uuid() }} {{ uuid() }} {{ id() }} {{ randomInt(1, 7) }}";
    assert_eq!(text(one), text(one));
    let found = text(one);
    let parts: Vec<_> = found.split(' ').collect();
    assert!(parts[0] != parts[1] && parts[2].len() == 22, "{found}");
    assert!(
        (1..7).contains(&parts[3].parse::<i32>().unwrap()),
        "{found}"
    );
}
