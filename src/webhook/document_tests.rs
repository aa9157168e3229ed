//! What bodies hold.

use super::*;
use serde_json::json;

const FORM: Option<&str> = Some("application/x-www-form-urlencoded; charset=utf-8");
const JSON: Option<&str> = Some("application/json");

fn pointer(text: &str) -> Pointer {
    Pointer::new(text).expect("a pointer")
}

#[test]
fn content_types_are_told_apart() {
    for (text, want) in [
        ("application/json", Media::Json),
        (" Application/JSON ; charset=utf-8", Media::Json),
        ("text/json", Media::Json),
        ("application/problem+json", Media::Json),
        ("application/vnd.api+JSON;v=1", Media::Json),
        ("+json", Media::Other),
        ("application/jsonp", Media::Other),
        ("application/json-seq", Media::Other),
        ("application/x-www-form-urlencoded", Media::Form),
        (
            "application/X-WWW-form-urlencoded;charset=UTF-8",
            Media::Form,
        ),
        ("multipart/form-data; boundary=x", Media::Other),
        ("text/plain; x=application/json", Media::Other),
        ("", Media::Other),
    ] {
        assert_eq!(Media::of(Some(text)), want, "{text:?}");
    }
}

#[test]
fn forms_are_objects_of_texts() {
    // The shared sample edge/form.txt.
    let form = Document::new(FORM, b"a=1&a=2&b=&c&d=%E2%82%AC+x%2By&e=%ZZ");
    let want = json!({"a": ["1", "2"], "b": "", "c": "", "d": "\u{20ac} x+y", "e": "%ZZ"});
    assert_eq!(form.value(), Ok(&want));
    assert_eq!(form.media(), Media::Form);
    assert_eq!(form.find(&pointer("/a/1")), Ok(Some(&json!("2"))));
    for (bytes, want) in [
        (&b"a=1&&b=2&"[..], json!({"a": "1", "b": "2"})),
        (b"=x", json!({"": "x"})),
        (b"a=b=c", json!({"a": "b=c"})),
        (b"a=1&a=2&a=3", json!({"a": ["1", "2", "3"]})),
        (b"a%3D=1&%61=2", json!({"a=": "1", "a": "2"})),
        (b"a=%", json!({"a": "%"})),
        (b"a=%4", json!({"a": "%4"})),
        (
            b"payload=%7B%22id%22%3A1%7D",
            json!({"payload": "{\"id\":1}"}),
        ),
        (b"a=%EF%BF%BD", json!({"a": "\u{fffd}"})),
        (b"&&", json!({})),
    ] {
        assert_eq!(Document::new(FORM, bytes).value(), Ok(&want), "{bytes:?}");
    }
}

#[test]
fn a_form_that_is_not_text_is_refused() {
    for bytes in [
        &b"a=%FF"[..],
        b"%C3=1",
        b"a=\xff",
        b"x=1&a=%E2%82",
        b"a=%EF%BF%BD&b=%FF",
    ] {
        let form = Document::new(FORM, bytes);
        assert_eq!(form.value(), Err(DocumentFault::NotUtf8), "{bytes:?}");
        assert_eq!(form.find(&pointer("/a")), Err(DocumentFault::NotUtf8));
    }
}

#[test]
fn json_is_read_whatever_the_type_says_but_form() {
    let body = br#"{"id": 1}"#;
    for kind in [JSON, None, Some("text/plain"), Some("multipart/form-data")] {
        let document = Document::new(kind, body);
        assert_eq!(
            document.find(&pointer("/id")),
            Ok(Some(&json!(1))),
            "{kind:?}"
        );
        assert_eq!(document.bytes(), body);
    }
    assert_eq!(Document::new(FORM, body).find(&pointer("/id")), Ok(None));
}

#[test]
fn what_is_no_document_holds_nothing_unless_it_says_that_it_does() {
    let id = pointer("/id");
    let opaque = Document::new(Some("application/xml"), b"<a/>");
    assert_eq!(opaque.value(), Err(DocumentFault::Opaque));
    assert_eq!(opaque.find(&id), Ok(None));
    for kind in [JSON, FORM, None] {
        let empty = Document::new(kind, b"");
        assert_eq!(empty.value(), Err(DocumentFault::Empty));
        assert_eq!(empty.find(&id), Ok(None));
    }
    let broken = Document::new(JSON, b"<a/>");
    let fault = broken.find(&id).expect_err("not JSON");
    assert_eq!(fault, DocumentFault::NotJson { line: 1, column: 1 });
    assert_eq!(broken.find(&id), Err(fault), "read once, told twice");
    let deep = b"[".repeat(5_000);
    for kind in [JSON, None] {
        let document = Document::new(kind, &deep);
        assert_eq!(document.find(&id), Err(DocumentFault::TooDeep));
    }
}

#[test]
fn faults_are_sentences_without_values() {
    for fault in [
        DocumentFault::Empty,
        DocumentFault::TooDeep,
        DocumentFault::Reserved,
        DocumentFault::NotUtf8,
        DocumentFault::Opaque,
    ] {
        assert_eq!(fault.to_string(), fault.why());
    }
    let place = DocumentFault::NotJson { line: 3, column: 9 };
    assert_eq!(
        place.to_string(),
        "the body is not JSON at line 3, column 9"
    );
    assert!(
        DocumentFault::TooDeep
            .why()
            .contains(&crate::limits::MAX_JSON_DEPTH.to_string())
    );
}
