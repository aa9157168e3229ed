//! Bodies that were altered on the way, and how much is tried.

use super::*;

/// What was signed, what came, and how the one differs from the other.
type Altered = (String, String, String);

fn altered() -> Vec<Altered> {
    let text = std::str::from_utf8(BODY).expect("text");
    let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let pretty = serde_json::to_string_pretty(&value).expect("JSON");
    let compact = value.to_string();
    let python = r#"{"id": "evt_1", "text": "SEC-PAYLOAD <b> caf\u00e9", "n": 12345678901234567890, "b": [1, {}], "a": "x/y"}"#;
    let sorted = r#"{"a":"x/y","b":[1,{}],"id":"evt_1","n":12345678901234567890,"text":"SEC-PAYLOAD <b> café"}"#;
    let php = r#"{"id":"evt_1","text":"SEC-PAYLOAD <b> caf\u00e9","n":12345678901234567890,"b":[1,{}],"a":"x\/y"}"#;
    let go = r#"{"id":"evt_1","text":"SEC-PAYLOAD \u003cb\u003e café","n":12345678901234567890,"b":[1,{}],"a":"x/y"}"#;
    let four = pretty.replace("  ", "    ");
    let form: String = url::form_urlencoded::byte_serialize(BODY).collect();
    let crlf = pretty.replace('\n', "\r\n");
    let base64 = STANDARD.encode(BODY);
    let latin = "caf\u{e9}";
    let doubled = "caf\u{c3}\u{a9}";
    let quoted = serde_json::Value::from(text).to_string();
    let sample = |signed: &str, came: &str, says: &str| {
        (signed.to_owned(), came.to_owned(), says.to_owned())
    };
    vec![
        sample(
            text,
            &format!("{text}\n"),
            "without the line break at its end",
        ),
        sample(
            text,
            &format!("{text}\r\n"),
            "without the line break at its end",
        ),
        sample(
            &format!("{text}\n"),
            text,
            "with a line break (LF) at its end",
        ),
        sample(
            &format!("{text}\r\n"),
            text,
            "with a line break (CR LF) at its end",
        ),
        sample(&pretty, &crlf, "with line breaks LF instead of CR LF"),
        sample(&crlf, &pretty, "with a line break (CR LF) instead of LF"),
        sample(
            text,
            &format!("  {text}\t"),
            "without the white space around it",
        ),
        sample(
            text,
            &format!("\u{feff}{text}"),
            "without its byte order mark",
        ),
        sample(&format!("\u{feff}{text}"), text, "with a byte order mark"),
        sample(&compact, &pretty, "written compactly"),
        sample(&compact, text, "written compactly"),
        sample(text, &compact, "written compactly, with \\u escapes"),
        sample(
            python,
            &compact,
            "written with \", \" and \": \", with \\u escapes",
        ),
        sample(sorted, &pretty, "written compactly, members sorted by name"),
        sample(php, &compact, "written compactly, with \\u and \\/ escapes"),
        sample(
            go,
            &compact,
            "written compactly, with \\u escapes for <, > and &",
        ),
        sample(&pretty, &compact, "indented by two spaces"),
        sample(&four, &compact, "indented by four spaces"),
        sample(
            &format!("payload={form}"),
            text,
            "as the form field payload",
        ),
        sample(
            text,
            &format!("payload={form}"),
            "that stands in the form field payload",
        ),
        sample(
            "a=b c&d=%",
            "a=b+c&d=%25",
            "with its form encoding taken off",
        ),
        sample("a=b%20c", "a=b+c", "with %20 instead of +"),
        sample("a=b+c", "a=b%20c", "with + instead of %20"),
        sample(text, &base64, "decoded from the base64 that it is"),
        sample(
            latin,
            doubled,
            "in Latin-1, or encoded as UTF-8 once instead of twice",
        ),
        sample(text, &quoted, "taken out of the JSON string that it is"),
        sample("", text, "with nothing in it"),
    ]
}

#[test]
fn bodies_that_were_written_anew() {
    let cases = altered();
    for sender in senders() {
        for (signed, came, says) in &cases {
            let headers = sender.headers(signed.as_bytes(), NOW, SECRET, URL);
            let found = look(&sender.scheme, &headers, came.as_bytes(), &[secret(SECRET)]);
            let says = format!("The signature holds for the body {says}.");
            assert_eq!(first(&found), ("body_form", &*says), "{}", sender.name);
            assert_eq!(found.verdict, Verdict::Refused);
        }
    }
}

#[test]
fn a_body_whose_encoding_was_taken_off_or_not() {
    let github = &senders()[0];
    let wire = b"\x1f\x8b not really gzip";
    let headers = github.headers(wire, NOW, SECRET, URL);
    let hints = Hints {
        other_body: Some(wire),
        request_url: None,
    };
    let found = look_from(
        &github.scheme,
        &headers,
        BODY,
        &[secret(SECRET)],
        None,
        &hints,
    );
    assert_eq!(codes(&found)[0], "body_form");
    assert!(first(&found).1.contains("content encoding"));
}

#[test]
fn lengths_and_encodings_that_do_not_fit() {
    let github = &senders()[0];
    let headers = |name: &str, value: String| {
        let mut headers = github.headers(b"something else", NOW, SECRET, URL);
        headers.push(name, value);
        headers
    };
    let length = BODY.len();
    let found = look(
        &github.scheme,
        &headers("content-length", "14".into()),
        BODY,
        &[secret(SECRET)],
    );
    let says = format!("The body has {length} bytes, but Content-Length says 14.");
    assert_eq!(first(&found), ("body_length", &*says));
    for fine in [length.to_string(), "SEC-1".into()] {
        let found = look(
            &github.scheme,
            &headers("content-length", fine),
            BODY,
            &[secret(SECRET)],
        );
        assert_eq!(codes(&found), ["no_match"]);
    }
    let found = look(
        &github.scheme,
        &headers("content-encoding", "gzip".into()),
        BODY,
        &[secret(SECRET)],
    );
    assert_eq!(codes(&found), ["body_encoded", "no_match"]);
    let found = look(
        &github.scheme,
        &headers("content-encoding", "identity".into()),
        BODY,
        &[secret(SECRET)],
    );
    assert_eq!(codes(&found), ["no_match"]);
}

#[test]
fn work_is_bounded() {
    let github = &senders()[0];
    let body = vec![b'x'; 1 << 20];
    let headers = github.headers(b"something else", NOW, SECRET, URL);
    let texts: Vec<String> = (0..40)
        .map(|n| format!("c2VjcmV0LXNlY3JldC1zZWNyZXQ{n}="))
        .collect();
    let secrets: Vec<SecretAt<'_>> = texts.iter().map(|text| secret(text)).collect();
    let found = look(&github.scheme, &headers, &body, &secrets);
    assert!(found.tried <= search::MAX_TRIES);
    assert_eq!(codes(&found), ["no_match", "search_cut"]);
    // Each can be read in four ways.
    let texts: Vec<String> = texts.iter().map(|text| format!("whsec_{text}")).collect();
    let secrets: Vec<SecretAt<'_>> = texts.iter().map(|text| secret(text)).collect();
    let found = look(&github.scheme, &headers, BODY, &secrets);
    assert_eq!(found.tried, search::MAX_TRIES);
    assert_eq!(codes(&found), ["no_match", "search_cut"]);
}

#[test]
fn bodies_that_are_no_text_or_too_large_to_be_read() {
    let github = &senders()[0];
    let bytes = b"\xff\xfe\x00binary\n";
    let headers = github.headers(&bytes[..bytes.len() - 1], NOW, SECRET, URL);
    let found = look(&github.scheme, &headers, bytes, &[secret(SECRET)]);
    assert_eq!(codes(&found), ["body_form"]);
    // Line breaks are looked at, JSON is not read.
    let large = format!(r#"{{ "a": "{}" }}"#, "x".repeat(200 << 10));
    let compact = large
        .replace("{ ", "{")
        .replace(": ", ":")
        .replace(" }", "}");
    let headers = github.headers(compact.as_bytes(), NOW, SECRET, URL);
    let found = look(
        &github.scheme,
        &headers,
        large.as_bytes(),
        &[secret(SECRET)],
    );
    assert_eq!(codes(&found), ["no_match"]);
    let with_break = format!("{large}\n");
    let headers = github.headers(large.as_bytes(), NOW, SECRET, URL);
    let found = look(
        &github.scheme,
        &headers,
        with_break.as_bytes(),
        &[secret(SECRET)],
    );
    assert_eq!(codes(&found), ["body_form"]);
}
