//! What is recorded of an origin's answer.

use super::*;

fn round(bytes: &[u8]) -> (usize, bool) {
    let body = Body::of(bytes.to_vec());
    let text = serde_json::to_string(&body).expect("JSON");
    let is_text = matches!(body, Body::Text(_));
    let back: Body = serde_json::from_str(&text).expect("a body");
    assert_eq!(back.bytes().expect("bytes"), bytes);
    (text.len(), is_text)
}

#[test]
fn bodies_come_back_byte_for_byte() {
    let all: Vec<u8> = (0..=255).collect();
    assert!(!round(&all).1);
    for text in [
        "",
        "{\"a\": 1.10,\r\n \"a\": 2}",
        "é🔑\u{0}",
        "plain\ttext\n",
    ] {
        round(text.as_bytes());
    }
    assert!(
        round(br#"{"id": 616581622363398142}"#).1,
        "JSON stays readable"
    );
}

/// Whatever its bytes are, the largest answer that is kept fits into a record.
#[test]
fn the_largest_body_fits_into_a_record() {
    let largest = limits::MAX_ANSWER_BYTES;
    for byte in [0, b'"', b'\\', b'a', 0x80, 0xff] {
        let (bytes, _) = round(&vec![byte; largest]);
        let room = limits::MAX_ORIGIN_OUTCOME_BYTES - 2 * limits::MAX_HEADER_BYTES;
        assert!(bytes < room, "{byte}: {bytes}");
    }
    let most = limits::MAX_ORIGIN_OUTCOME_BYTES + 4 * limits::MAX_HEADER_BYTES;
    assert!(most < crate::function::engine::MAX_KEPT_BYTES);
}

#[test]
fn fields_that_cannot_be_kept_are_left_out_and_the_others_stay() {
    let wide = "v".repeat(limits::MAX_HEADER_BYTES);
    let headers: Headers = [
        ("location", "/a"),
        ("content-disposition", "filename=\"é\""),
        ("x-wide", &wide),
        ("x-hop", "1"),
        ("connection", "x-hop"),
        ("set-cookie", "SEC-1"),
        ("content-encoding", "gzip"),
        ("x-last", ""),
    ]
    .into_iter()
    .collect();
    let want: Headers = [("location", "/a"), ("x-last", "")].into_iter().collect();
    assert_eq!(kept(&headers), want);
}

#[test]
fn a_status_that_ends_no_request_is_unfit() {
    let of = |status| {
        Origin::of(OutResponse {
            status,
            headers: Headers::default(),
            body: Vec::new(),
        })
    };
    assert!(matches!(of(599), Origin::Answered { status: 599, .. }));
    for status in [0, 101, 199, 600, 999] {
        assert!(matches!(of(status), Origin::Unfit(_)), "{status}");
    }
}
