//! Compressed bodies, whole, broken and far too large.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn read(codings: &[&str], wire: &[u8], rule: Rule) -> Result<Bodies, Problem> {
    let headers: Headers = codings.iter().map(|c| ("Content-Encoding", *c)).collect();
    decode(&headers, wire.to_vec(), rule)
}

fn code(result: Result<Bodies, Problem>) -> Code {
    result.expect_err("refused").code
}

#[test]
fn a_body_without_an_encoding_is_kept_once() {
    let all: Vec<u8> = (0..=255).collect();
    for codings in [
        &[][..],
        &["identity"],
        &[""],
        &["Identity, identity"],
        &[" , "],
    ] {
        for rule in [Rule::Refuse, Rule::Wire, Rule::Plain, Rule::Either] {
            let bodies = read(codings, &all, rule).expect("as it is");
            assert!(!bodies.is_encoded());
            assert_eq!((bodies.wire(), bodies.plain()), (&all[..], &all[..]));
            assert_eq!(bodies.signed(), [&all[..]]);
            assert_eq!(bodies.into_plain(), all);
        }
    }
}

#[test]
fn gzip_is_decoded_and_signed_by_the_rule() {
    let (plain, wire) = (&b"{\"n\":1}"[..], gzip(b"{\"n\":1}"));
    for coding in ["gzip", "GZIP", "x-gzip", "identity, gzip", " gzip "] {
        let bodies = read(&[coding], &wire, Rule::Either).expect(coding);
        assert!(bodies.is_encoded());
        assert_eq!((bodies.wire(), bodies.plain()), (&wire[..], plain));
        assert_eq!(bodies.signed(), [&wire[..], plain]);
        assert_eq!(bodies.into_plain(), plain);
    }
    let by = |rule| read(&["gzip"], &wire, rule).expect("decoded");
    assert_eq!(by(Rule::Wire).signed(), [&wire[..]]);
    assert_eq!(by(Rule::Plain).signed(), [plain]);
    assert_eq!(by(Rule::Wire).plain(), plain);
    let refused = read(&["gzip"], &wire, Rule::Refuse).expect_err("refused");
    let answer = refused.to_answer();
    assert_eq!(answer.status, 415);
    assert_eq!(answer.headers.get("accept-encoding"), Some("identity"));
}

#[test]
fn a_file_of_another_program_is_decoded() {
    let wire = include_bytes!("../../tests/native/webhook/samples/edge/gzip.json.gz");
    let bodies = read(&["gzip"], wire, Rule::Either).expect("decoded");
    assert_eq!(bodies.plain(), br#"{"id":1,"gz":true}"#);
}

#[test]
fn other_encodings_and_several_are_not_read() {
    let wire = gzip(b"x");
    for codings in [
        &["br"][..],
        &["deflate"],
        &["zstd"],
        &["compress"],
        &["gzip, gzip"],
        &["gzip", "gzip"],
        &["br", "gzip"],
        &["gzip;q=1"],
        &["*"],
    ] {
        let got = read(codings, &wire, Rule::Either);
        assert_eq!(code(got), Code::UnsupportedEncoding, "{codings:?}");
    }
}

#[test]
fn broken_gzip_is_refused() {
    let wire = gzip(&b"some text, some text, some text".repeat(20));
    for length in 0..wire.len() {
        let got = read(&["gzip"], &wire[..length], Rule::Either);
        assert_eq!(code(got), Code::InputInvalid, "cut at {length}");
    }
    for tail in [&b"x"[..], &[0], &[0; 512], b"\x1f\x8b"] {
        let got = read(&["gzip"], &[&wire, tail].concat(), Rule::Either);
        assert_eq!(code(got), Code::InputInvalid, "{tail:?} behind it");
    }
    let mut sum = wire.clone();
    let at = sum.len() - 8;
    sum[at] ^= 1;
    assert_eq!(
        code(read(&["gzip"], &sum, Rule::Either)),
        Code::InputInvalid
    );
    let plain = read(&["gzip"], b"{\"n\":1}", Rule::Either);
    assert_eq!(code(plain), Code::InputInvalid);
}

/// RFC 1952, section 2.2: a file is one member or several.
#[test]
fn members_one_after_the_other_are_one_body() {
    let wire = [gzip(b"{\"n\""), gzip(b""), gzip(b":1}")].concat();
    let bodies = read(&["gzip"], &wire, Rule::Either).expect("decoded");
    assert_eq!(bodies.plain(), b"{\"n\":1}");
}

#[test]
fn growth_is_capped() {
    let most = vec![b'a'; MAX_BODY_BYTES];
    let bodies = read(&["gzip"], &gzip(&most), Rule::Either).expect("just fits");
    assert_eq!(bodies.plain().len(), MAX_BODY_BYTES);
    let more = vec![b'a'; MAX_BODY_BYTES + 1];
    assert_eq!(
        code(read(&["gzip"], &gzip(&more), Rule::Either)),
        Code::BodyTooLarge
    );
    // A small body that would grow to 256 MB, as many members.
    let bomb = gzip(&more).repeat(256);
    assert!(bomb.len() < MAX_BODY_BYTES);
    assert_eq!(
        code(read(&["gzip"], &bomb, Rule::Either)),
        Code::BodyTooLarge
    );
}

#[test]
fn nesting_is_checked_where_the_body_says_that_it_is_json() {
    let deep = [b"[".repeat(129), b"]".repeat(129)].concat();
    let fits = &deep[1..deep.len() - 1];
    for kind in [
        "application/json",
        "application/vnd.api+json; charset=utf-8",
        "text/json",
    ] {
        assert_eq!(check_nesting(Some(kind), fits), Ok(()));
        let problem = check_nesting(Some(kind), &deep).expect_err("refused");
        assert_eq!(problem.code, Code::InputInvalid);
        assert!(problem.detail.contains("128"), "{}", problem.detail);
        assert!(check_nesting(Some(kind), &b"[".repeat(1 << 20)).is_err());
        // Not JSON at all: that is for whoever reads it.
        assert_eq!(check_nesting(Some(kind), b"]]]]{"), Ok(()));
    }
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ] {
        assert_eq!(check_nesting(kind, &deep), Ok(()));
    }
}
