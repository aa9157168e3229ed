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
