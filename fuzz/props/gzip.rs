//! Compressed bodies: the bytes as they cross the wire.

use super::input::is_whole;
use flate2::Compression;
use flate2::write::GzEncoder;
use onceward::http::body::{Bodies, Rule, check_nesting, decode};
use onceward::http::problem::Problem;
use onceward::limits::MAX_BODY_BYTES;
use onceward::types::Headers;
use std::io::Write as _;

fn read(coding: &str, wire: &[u8], rule: Rule) -> Result<Bodies, Problem> {
    let headers: Headers = [("content-encoding", coding)].into_iter().collect();
    decode(&headers, wire.to_vec(), rule)
}

pub fn check(data: &[u8]) {
    match read("gzip", data, Rule::Either) {
        Ok(bodies) => {
            assert!(bodies.is_encoded() && bodies.plain().len() <= MAX_BODY_BYTES);
            assert_eq!(bodies.wire(), data);
            assert_eq!(bodies.signed(), [data, bodies.plain()]);
            // Something behind it that is no member.
            assert!(read("gzip", &[data, b"x"].concat(), Rule::Either).is_err());
        }
        Err(problem) => {
            is_whole(&problem);
            assert!([400, 413].contains(&problem.to_answer().status));
        }
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).expect("memory");
    let wire = encoder.finish().expect("memory");
    let bodies = read("x-gzip", &wire, Rule::Plain).expect("whole");
    assert_eq!(bodies.signed(), [data]);
    assert_eq!(bodies.into_plain(), data);
    let cut = data.len() % wire.len();
    assert!(read("gzip", &wire[..cut], Rule::Wire).is_err());
    for (coding, rule) in [("br", Rule::Either), ("gzip", Rule::Refuse)] {
        let problem = read(coding, &wire, rule).expect_err("refused");
        is_whole(&problem);
        assert_eq!(problem.to_answer().status, 415);
    }
    // The bytes as a name of an encoding.
    if let Ok(coding) = std::str::from_utf8(data)
        && let Err(problem) = read(coding, b"{}", Rule::Either)
    {
        is_whole(&problem);
    }
    if let Err(problem) = check_nesting(Some("application/json"), data) {
        is_whole(&problem);
        assert!(data.iter().filter(|b| b"[{".contains(b)).count() > 128);
    }
}
