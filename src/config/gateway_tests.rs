//! Gateways that hold together, and what is said of those that do not.

use super::*;
use crate::config::{Builder, Source};
use crate::function::Function;

fn good() -> Gateway {
    Gateway::to("payments", "https://api.example.com/v1")
}

fn read(json: &str) -> Result<Gateway, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[test]
fn a_declaration_without_rust_means_the_same_as_one_in_rust() {
    let short = r#"{"name": "payments", "origin": "https://api.example.com/v1"}"#;
    assert_eq!(read(short), Ok(good()));
    let long = r#"{
        "name": "payments", "origin": "https://api.example.com/v1",
        "idempotent_methods": ["POST", "DELETE"], "forward_headers": ["X-Shop"],
        "origin_headers": [{"name": "authorization", "secret": "S", "prefix": "Bearer "},
                           {"name": "x-key", "secret": "K"}],
        "forward_key": "passed", "key_header": "x-idem", "honours_keys": true, "on_unknown": "fail",
        "retry_on": [429, 503], "tries": 5, "timeout_ms": 2000, "respond_within_ms": 1000,
        "retention_ms": 60000, "keeps": "below500"
    }"#;
    let same = good()
        .idempotent_methods(&["POST", "DELETE"])
        .forward_headers(&["X-Shop"])
        .origin_header("authorization", "S", "Bearer ")
        .origin_header("x-key", "K", "")
        .forward_key(ForwardKey::Passed)
        .key_header("x-idem")
        .honours_keys()
        .on_unknown(WhenUnknown::Fail)
        .retry_on(&[429, 503])
        .tries(5)
        .timeout_ms(2_000)
        .respond_within_ms(1_000)
        .retention_ms(60_000)
        .keeps(Keeps::Below500);
    assert_eq!(same.problems(), [""; 0]);
    let policy = same.policy();
    assert_eq!(policy.respond_within_ms, 1_000);
    assert_eq!(policy.keeps, Keeps::Below500);
    assert_eq!(
        (policy.retention_succeeded_ms, policy.retention_failed_ms),
        (60_000, 60_000)
    );
    assert_eq!(read(long), Ok(same));
    for (json, want) in [
        (r#"{"name": "a"}"#, "missing field `origin`"),
        (
            r#"{"name": "a", "origin": "b", "timeout": 1}"#,
            "unknown field `timeout`",
        ),
        (
            r#"{"name": "a", "origin": "b", "origin_headers": [{"name": "a", "value": "b"}]}"#,
            "unknown field `value`",
        ),
        (
            r#"{"name": "a", "origin": "b", "on_unknown": "maybe"}"#,
            "unknown variant `maybe`",
        ),
    ] {
        let error = read(json).expect_err(json);
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn an_unknown_outcome_is_repeated_only_where_the_origin_is_said_to_know_keys() {
    use ForwardKey::{Derived, None, Passed};
    use WhenUnknown::{Fail, Retry};
    assert_eq!(good().when_unknown(), Fail);
    for (forward, honours, said, want) in [
        (Derived, false, Option::None, Fail),
        (Passed, false, Option::None, Fail),
        (None, false, Option::None, Fail),
        (Derived, true, Option::None, Retry),
        (Passed, true, Option::None, Retry),
        (None, true, Option::None, Fail),
        (Derived, true, Some(Fail), Fail),
        (None, false, Some(Retry), Retry),
    ] {
        let mut gateway = good().forward_key(forward);
        gateway.honours_keys = honours;
        gateway.on_unknown = said;
        assert_eq!(
            gateway.when_unknown(),
            want,
            "{forward:?} {honours} {said:?}"
        );
    }
}

#[test]
fn each_fault_of_names_and_places_is_named() {
    let origin = |origin| Gateway::to("payments", origin);
    let cases = [
        (
            origin("ftp://a.example"),
            "its origin: scheme \"ftp\": only http and https are sent",
        ),
        (
            origin("https://10.0.0.1/"),
            "its origin: the target is not on the public internet",
        ),
        (
            origin("http://0x0a.1"),
            "its origin: the target is not on the public internet",
        ),
        (
            origin("https://u:p@a.example"),
            "its origin: a URL must not carry a user name or password",
        ),
        (
            origin("a.example"),
            "its origin: not a URL: relative URL without a base",
        ),
        (
            origin("https://a.example/b?c=d"),
            "its origin: it has a query or a fragment; requests bring their own query",
        ),
        (
            origin("https://a.example/b/../c"),
            "its origin: write it as \"https://a.example/c\"",
        ),
        (
            origin("HTTPS://A.example"),
            "its origin: write it as \"https://a.example\"",
        ),
        (
            Gateway::to("Pay", "https://a.example"),
            "its name must match [a-z0-9][a-z0-9_-]{0,63}",
        ),
        (
            good().idempotent_methods(&["GET"]),
            "method \"GET\" has no key; wanted some of POST, PATCH, PUT, DELETE",
        ),
        (
            good().idempotent_methods(&["post"]),
            "method \"post\" has no key; wanted some of POST, PATCH, PUT, DELETE",
        ),
    ];
    for (gateway, want) in cases {
        assert_eq!(gateway.problems(), [want]);
    }
    let loopback = origin("http://127.0.0.1:9").problems();
    assert_eq!(loopback.is_empty(), cfg!(feature = "lab"), "{loopback:?}");
}

#[test]
fn each_fault_of_fields_and_times_is_named() {
    let cases = [
        (
            good().forward_headers(&["a b"]),
            "\"a b\" is no header name",
        ),
        (
            good().forward_headers(&["Authorization"]),
            "header Authorization holds a credential of the client's and is never forwarded; give the \
             origin its own with origin_headers",
        ),
        (
            good().forward_headers(&["Host"]),
            "header Host is set by Onceward or belongs to one connection",
        ),
        (
            good().origin_header("content-length", "S", ""),
            "header content-length is set by Onceward or belongs to one connection",
        ),
        (
            good().origin_header("x-a", "", ""),
            "header x-a needs the name of a secret, other than that of the API token",
        ),
        (
            good().origin_header("x-a", "ONCEWARD_TOKEN", ""),
            "header x-a needs the name of a secret, other than that of the API token",
        ),
        (
            good().origin_header("x-a", "S", "a\r\nb: "),
            "the prefix of header x-a is no text of a field",
        ),
        (
            good().key_header("host"),
            "key_header host is another field's name",
        ),
        (
            good().key_header("accept"),
            "key_header accept is another field's name",
        ),
        (
            good().retry_on(&[200]),
            "retry_on: got 200, wanted 400 to 599",
        ),
        (good().tries(0), "tries: got 0, wanted 1 to 10"),
        (
            good().timeout_ms(25_001),
            "timeout in ms: got 25001, wanted 1 to 25000",
        ),
        (
            good().respond_within_ms(5_001),
            "respond_within in ms: got 5001, wanted 1 to 5000",
        ),
        (
            good().honours_keys().forward_key(ForwardKey::None),
            "its origin honours keys, but forward_key is none",
        ),
    ];
    for (gateway, want) in cases {
        assert_eq!(gateway.problems(), [want]);
    }
}

#[test]
fn a_configuration_has_each_gateway_once_and_no_source_runs_it() {
    let build = |gateways: Vec<Gateway>, source: Option<Source>| {
        let builder = gateways
            .into_iter()
            .fold(Builder::<Function>::new(), Builder::gateway);
        let builder = source.into_iter().fold(builder, Builder::source);
        builder
            .build()
            .map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let app = build(vec![good()], None).expect("good");
    assert_eq!(app.gateway("payments"), Some(&good()));
    assert_eq!(app.gateways().count(), 1);
    assert!(app.function("proxy:payments").is_some());
    let twice = build(vec![good(), good()], None).expect_err("refused");
    assert_eq!(twice, ["gateway payments: two gateways have this name"]);
    let source = Source::generic("inbox").runs("proxy:payments");
    let run = build(vec![good()], Some(source)).expect_err("refused");
    assert_eq!(
        run,
        ["source inbox: no function is named \"proxy:payments\""]
    );
}

#[test]
fn a_table_of_gateways_names_each_by_its_key() {
    let build = |table: serde_json::Value| {
        let builder = Builder::<Function>::new().declared_gateways(Some(&table));
        builder
            .build()
            .map(|app| app.gateways().cloned().collect::<Vec<_>>())
            .map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let origin = "https://api.example.com/v1";
    let read = build(serde_json::json!({ "payments": { "origin": origin, "tries": 3 } }));
    assert_eq!(read, Ok(vec![good()]));
    let wrong = serde_json::json!({
        "a": { "origin": origin, "name": "b" }, "b": 1, "c": { "origin": origin, "tries": 0 },
    });
    assert_eq!(
        build(wrong),
        Err(vec![
            "gateway a: its name is that of its table; leave `name` out".to_owned(),
            "gateway b: wanted a table".to_owned(),
            "gateway c: tries: got 0, wanted 1 to 10".to_owned(),
        ])
    );
    let none = build("payments".into()).expect_err("refused");
    assert!(
        none[0].starts_with("ONCEWARD_GATEWAYS: wanted a table of gateways by name"),
        "{none:?}"
    );
    assert!(
        Builder::<Function>::new()
            .declared_gateways(None)
            .build()
            .is_ok()
    );
}

#[test]
fn secrets_fail_closed_and_are_never_shown() {
    let gateway = good().origin_header("authorization", "TOKEN_OF_SHOP", "Bearer ");
    let with = |value: Option<&str>| {
        let value = value.map(str::to_owned);
        gateway.check_secrets(&move |_| value.clone())
    };
    assert_eq!(with(Some("SEC-1")), Ok(()));
    let value = gateway.origin_headers()[0].value(&|_| Some("SEC-1".to_owned()));
    assert_eq!(value.as_deref(), Ok("Bearer SEC-1"));
    for wrong in [
        None,
        Some(""),
        Some("SEC-1\n"),
        Some("SEC-é"),
        Some("SEC-1\r\nx: y"),
    ] {
        let problem = with(wrong).expect_err("refused").to_string();
        assert!(
            problem.starts_with("gateway payments: secret TOKEN_OF_SHOP "),
            "{problem}"
        );
        assert!(!problem.contains("SEC-"), "{problem}");
    }
}
