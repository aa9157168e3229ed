//! Addresses of flows.

use super::tests::status;
use super::*;
use crate::http::flows::{FlowHookAt, FlowName};

fn flow_name() -> FlowName {
    FlowName::read("company.team", "Order-1").expect("a name")
}

/// The webhooks of flows, in the order of the table.
pub(super) fn webhooks() -> Vec<(&'static str, String, Route)> {
    let mut all = Vec::new();
    for main in [false, true] {
        for method in ["GET", "POST", "PUT"] {
            for tail in ["", "/charges//1"] {
                let prefix = if main { "/api/v1/main" } else { "/api/v1" };
                let path =
                    format!("{prefix}/executions/webhook/company.team/Order-1/s3cret%20key{tail}");
                let at = FlowHookAt {
                    name: flow_name(),
                    key: Some("s3cret%20key".into()),
                    tail: tail.into(),
                    main,
                };
                all.push((method, path, Route::FlowHook { at }));
            }
        }
    }
    all
}

/// What operators do with flows, in the order of the table.
pub(super) fn flows() -> Vec<(&'static str, String, Route)> {
    let act = |act| Route::Flow {
        name: flow_name(),
        act,
    };
    let at = |rest: &str| format!("/v1/flows/company.team/Order-1{rest}");
    vec![
        ("GET", "/v1/flows".into(), Route::ListFlows),
        ("GET", at(""), act(FlowAct::Show)),
        ("PUT", at(""), act(FlowAct::Put)),
        ("DELETE", at(""), act(FlowAct::Delete)),
        ("GET", at("/revisions"), act(FlowAct::Revisions)),
        ("GET", at("/diff"), act(FlowAct::Diff)),
        ("POST", at("/disable"), act(FlowAct::Disable)),
        ("POST", at("/enable"), act(FlowAct::Enable)),
        ("POST", at("/executions"), act(FlowAct::Execute)),
        ("GET", "/flow.schema.json".into(), Route::FlowSchema),
    ]
}

#[test]
fn a_flow_is_found_at_the_addresses_of_hooks_as_well() {
    let at = |path: &str| route("POST", path);
    let want = FlowHookAt {
        name: flow_name(),
        key: None,
        tail: String::new(),
        main: false,
    };
    assert_eq!(
        at("/hooks/company.team/Order-1"),
        Ok(Route::FlowHook { at: want })
    );
    // What a source may be called is one if it is configured; the runtime knows.
    let both = Route::TenantHook {
        source: "team".into(),
        tenant: "sync".into(),
    };
    assert_eq!(at("/hooks/team/sync"), Ok(both));
    for path in [
        "/hooks/company.team/.x",
        "/hooks/Company/x",
        "/v1/flows/Company/x",
        "/v1/flows/a/b/c",
        "/api/v1/executions/webhook/a/b",
        "/api/v1/executions/webhook/a/b/",
        "/api/v1/executions/webhook/a/b/c/",
        "/api/v1/other/executions/webhook/a/b/c",
        "/api/v1/main/executions/webhook/a/..",
    ] {
        assert_eq!(status("POST", path).0, 404, "{path}");
    }
    let many = [
        "GET, HEAD, POST, PUT, OPTIONS",
        "GET, HEAD, PUT, DELETE, OPTIONS",
    ];
    for (path, allow) in [
        ("/api/v1/executions/webhook/a/b/c", many[0]),
        ("/api/v1/main/executions/webhook/a/b/c/d/e", many[0]),
        ("/v1/flows/a/b", many[1]),
        ("/hooks/company.team/x", "POST, OPTIONS"),
    ] {
        assert_eq!(
            status("PATCH", path),
            (405, Some(allow.to_owned())),
            "{path}"
        );
    }
}
