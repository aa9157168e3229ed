//! Packed bodies: right ones, broken ones, and ones that explode.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;

fn packed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

fn coded(coding: &str) -> Headers {
    [("Content-Encoding", coding)].into_iter().collect()
}

fn status(rule: Rule, coding: &str, wire: &[u8]) -> Result<Vec<u8>, u16> {
    let decoded = decode(rule, &coded(coding), wire.to_vec());
    decoded.map(Decoded::into_plain).map_err(|p| p.status())
}

#[test]
fn the_content_is_unpacked_and_nothing_else_is_touched() {
    let plain = include_bytes!("../../tests/samples/edge/all_bytes.bin");
    for coding in ["gzip", "GZIP", "x-gzip", " gzip "] {
        assert_eq!(
            status(Rule::Either, coding, &packed(plain)),
            Ok(plain.to_vec())
        );
    }
    for coding in ["", "identity", "Identity"] {
        assert_eq!(status(Rule::Either, coding, plain), Ok(plain.to_vec()));
    }
    let sample = include_bytes!("../../tests/samples/edge/gzip.json.gz");
    let json = status(Rule::Either, "gzip", sample).expect("whole");
    assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
    assert_eq!(status(Rule::Either, "gzip", &packed(b"")), Ok(Vec::new()));
    let twice = [packed(b"a"), packed(b"b")].concat();
    assert_eq!(
        status(Rule::Either, "gzip", &twice),
        Ok(b"ab".to_vec()),
        "two members"
    );
}

#[test]
fn the_rule_says_what_may_be_signed() {
    let wire = packed(b"x");
    let signed = |rule| {
        let decoded = decode(rule, &coded("gzip"), wire.clone()).expect("whole");
        decoded.signed().map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    assert_eq!(signed(Rule::Wire), std::slice::from_ref(&wire));
    assert_eq!(signed(Rule::Plain), [b"x".to_vec()]);
    assert_eq!(signed(Rule::Either), [wire.clone(), b"x".to_vec()]);
    for rule in [Rule::Refuse, Rule::Wire, Rule::Plain, Rule::Either] {
        let plain = decode(rule, &Headers::default(), b"x".to_vec()).expect("plain");
        assert_eq!(plain.signed().collect::<Vec<_>>(), [b"x"], "{rule:?}");
    }
}

#[test]
fn what_cannot_be_unpacked_is_refused() {
    let wire = packed(b"hello, world");
    for broken in [
        &wire[..wire.len() - 1],
        &wire[..4],
        b"",
        b"hello",
        &[&wire[..], b"junk"].concat(),
    ] {
        assert_eq!(status(Rule::Either, "gzip", broken), Err(400), "{broken:?}");
    }
    let mut bent = wire.clone();
    let last = bent.len() - 5;
    bent[last] ^= 1;
    assert_eq!(
        status(Rule::Either, "gzip", &bent),
        Err(400),
        "the checksum"
    );
    for coding in ["br", "deflate", "zstd", "gzip, gzip", "gzip, br", "*", "é"] {
        assert_eq!(status(Rule::Either, coding, &wire), Err(415), "{coding}");
    }
    assert_eq!(status(Rule::Refuse, "gzip", &wire), Err(415));
    let mut twice = coded("gzip");
    twice.push("content-encoding", "gzip");
    assert_eq!(
        decode(Rule::Either, &twice, wire.clone())
            .expect_err("twice")
            .status(),
        415
    );
    let told = |rule| {
        let answer = decode(rule, &coded("br"), Vec::new())
            .expect_err("refused")
            .to_answer();
        answer.headers.get("accept-encoding").map(str::to_owned)
    };
    assert_eq!(told(Rule::Either).as_deref(), Some("gzip, identity"));
    assert_eq!(told(Rule::Refuse).as_deref(), Some("identity"));
}

/// F56: a few kilobytes that become a gigabyte.
#[test]
fn growth_is_capped() {
    let exactly = packed(&vec![0; MAX_BODY_BYTES]);
    assert_eq!(
        status(Rule::Either, "gzip", &exactly).map(|b| b.len()),
        Ok(MAX_BODY_BYTES)
    );
    let over = packed(&vec![0; MAX_BODY_BYTES + 1]);
    assert_eq!(status(Rule::Either, "gzip", &over), Err(413));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..64 {
        encoder.write_all(&zeros).expect("memory");
    }
    let bomb = encoder.finish().expect("memory");
    assert!(bomb.len() < 100_000, "small on the wire");
    assert_eq!(status(Rule::Either, "gzip", &bomb), Err(413));
}

#[test]
fn nesting_is_looked_at_where_it_says_json() {
    let deep = include_bytes!("../../tests/samples/edge/deep_120.json");
    for media in [
        "application/json",
        "application/cloudevents+json",
        "text/plain",
    ] {
        assert!(check_nesting(Some(media), deep).is_ok(), "{media}");
    }
    let over = "[".repeat(129) + &"]".repeat(129);
    let problem = check_nesting(Some("application/json; charset=utf-8"), over.as_bytes());
    assert_eq!(problem.expect_err("too deep").code, Code::InputInvalid);
    for media in [None, Some("text/plain"), Some("application/octet-stream")] {
        assert!(check_nesting(media, over.as_bytes()).is_ok());
    }
}
