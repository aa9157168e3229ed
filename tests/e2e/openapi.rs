//! The document of the API, as it is served. `make schema` holds every answer against it.

use crate::support::{Request, root, shared};
use serde_json::Value;

#[test]
fn the_document_is_served_to_everybody_and_once() {
    let first = shared().send(&Request::get("/openapi.json")).expect(200);
    assert_eq!(first.field("Content-Type"), Some("application/json"));
    let file = std::fs::read(root().join("docs/openapi.json")).expect("the file");
    assert!(
        first.body == file,
        "the bundle has another document than docs/openapi.json"
    );
    let tag = first.field("ETag").expect("an ETag").to_owned();
    let again = Request::get("/openapi.json").field("If-None-Match", &tag);
    let again = shared().send(&again).expect(304);
    assert_eq!(
        (again.field("ETag"), again.body.len()),
        (Some(tag.as_str()), 0)
    );
}

/// What the document says is there is there: no address of it is one that nothing is served at.
#[test]
fn every_address_of_it_is_served() {
    let document = shared()
        .send(&Request::get("/openapi.json"))
        .expect(200)
        .json();
    let id = uuid::Uuid::new_v4().to_string();
    for (path, item) in document["paths"].as_object().expect("paths") {
        // Only this Worker itself reaches the one; of the others none is configured.
        if path.starts_with("/internal/") || path.contains("/proxy/") {
            continue;
        }
        let target = path
            .replace("{id}", &id)
            .replace("{source}", "inbox")
            .replace("{tenant}", "acme")
            .replace("{namespace}", "company.team")
            .replace("{flow}", "none")
            .replace("{key}", "none")
            .replace("{name}", "lab")
            .replace("{code}", "key_reused");
        for (method, operation) in item.as_object().expect("a path") {
            let request = Request::new(&method.to_uppercase(), &target);
            let answer = shared().send(&request);
            let declared = &operation["responses"][answer.status.to_string()];
            let known = declared.is_object() || operation["responses"]["default"].is_object();
            assert!(known, "{method} {target}: {}", answer.shown());
            let asks = operation["x-onceward-scope"] != Value::Null;
            assert_eq!(
                answer.status == 401,
                asks,
                "{method} {target}: {}",
                answer.shown()
            );
        }
    }
}
