//! What JSON texts mean.

use super::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Deserialize)]
struct Order {
    id: u8,
    amount: u32,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Either {
    Number { n: u8 },
    Nothing {},
}

#[derive(Debug, PartialEq, Deserialize)]
struct Numbers {
    id: u64,
    u64: u64,
    i64: i64,
    beyond: serde_json::Number,
    amount: f64,
}

#[derive(Deserialize)]
struct N<T> {
    n: T,
}

fn nested(open: &str, close: &str, levels: usize) -> Vec<u8> {
    [open.repeat(levels), "0".to_owned(), close.repeat(levels)]
        .concat()
        .into_bytes()
}

#[test]
fn nesting_up_to_the_limit_is_read_and_beyond_is_not() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let per = open.matches(['[', '{']).count();
        let fits = nested(open, close, MAX_JSON_DEPTH / per);
        let value = read(&fits).expect("128 levels");
        assert_eq!(value.to_string().as_bytes(), fits);
        assert_eq!(read_as::<Value>(&fits).as_ref(), Ok(&value));
        let beyond = nested(open, close, MAX_JSON_DEPTH / per + 1);
        assert_eq!(read(&beyond), Err(DocumentFault::TooDeep));
        assert!(
            read_as::<Value>(&beyond)
                .expect_err("refused")
                .contains("128")
        );
    }
    // Neither closed nor JSON; and not by recursion, which would not survive this.
    for bytes in [
        b"[".repeat(5_000),
        b"{\"a\":".repeat(1 << 18),
        b"[{".repeat(100_000),
    ] {
        assert_eq!(read(&bytes), Err(DocumentFault::TooDeep));
        assert_eq!(check_depth(&bytes), Err(DocumentFault::TooDeep));
    }
    assert_eq!(check_depth(&b"[]".repeat(1_000)), Ok(()));
    assert_eq!(check_depth(&b"]".repeat(1_000)), Ok(()));
}

#[test]
fn a_real_document_of_120_levels_is_read() {
    let sample = include_bytes!("../../tests/native/webhook/samples/edge/deep_120.json");
    assert!(read(sample).is_ok());
}

#[test]
fn brackets_in_texts_are_no_nesting() {
    let many = "[".repeat(200);
    for text in [
        format!("\"{many}\""),
        format!("\"\\\"{many}\""),
        format!("\"\\\\\\\"{many}\""),
        format!("{{\"{many}\":\"{many}\"}}"),
    ] {
        assert!(read(text.as_bytes()).is_ok(), "{text}");
    }
    // The backslash is itself escaped, so the text has ended.
    let ended = format!("\"\\\\\"{many}");
    assert_eq!(check_depth(ended.as_bytes()), Err(DocumentFault::TooDeep));
    for open in ["\"", "\"\\", "\"\\\"", "\"[[[\\"] {
        assert_eq!(check_depth(open.as_bytes()), Ok(()), "never closed");
        assert!(matches!(
            read(open.as_bytes()),
            Err(DocumentFault::NotJson { .. })
        ));
    }
}

#[test]
fn of_members_with_one_name_the_last_counts() {
    let sample = include_bytes!("../../tests/native/webhook/samples/edge/duplicate_keys.json");
    let value = read(sample).expect("JSON");
    assert_eq!(value.to_string(), r#"{"id":2,"amount":999}"#);

    let want = Order { id: 2, amount: 999 };
    assert_eq!(read_as::<Order>(sample), Ok(want));
    let map: BTreeMap<String, u32> = read_as(sample).expect("a map");
    assert_eq!((map["id"], map["amount"]), (2, 999));
    // Deeper, and by another way of writing the same name.
    let deeper = br#"[{"a": {"id": 1, "amount": 5, "\u0069d": 7}}]"#;
    let list: Vec<BTreeMap<String, Order>> = read_as(deeper).expect("a list");
    assert_eq!(list[0]["a"], Order { id: 7, amount: 5 });
    // What the first of two would have made wrong does not count either.
    assert!(read_as::<Order>(br#"{"id": "x", "amount": 1, "id": 1}"#).is_ok());
    assert!(read_as::<Order>(br#"{"id": 1, "amount": 1, "id": "x"}"#).is_err());

    let twice = read_as::<Either>(br#"{"n": 1, "n": 2}"#);
    assert_eq!(twice, Ok(Either::Number { n: 2 }), "no other variant");
    assert_eq!(read_as::<Either>(b"{}"), Ok(Either::Nothing {}));
}

#[test]
fn numbers_keep_their_digits_and_types() {
    let sample = include_str!("../../tests/native/webhook/samples/edge/bigint.json");
    let value = read(sample.as_bytes()).expect("JSON");
    assert_eq!(value.to_string(), sample.trim_end(), "the same digits");
    // Once more with a name that comes twice, so that it is written again.
    let sample = sample.replace("{\"id\":", "{\"amount\":1.10,\"id\":0,\"id\":");
    let sample = sample.as_bytes();
    let numbers: Numbers = read_as(sample).expect("numbers");
    assert_eq!(numbers.id, 9_007_199_254_740_993);
    assert_eq!((numbers.u64, numbers.i64), (u64::MAX, i64::MIN));
    assert_eq!(
        numbers.beyond.to_string(),
        "340282366920938463463374607431768211456"
    );
    assert!((numbers.amount - 1.1).abs() < 1e-12);
    let settled = settled(sample).expect("JSON");
    assert!(String::from_utf8_lossy(&settled).contains("\"amount\":1.10"));

    for twice in [false, true] {
        let of = |number: &str| {
            let first = if twice { "\"n\":0," } else { "" };
            format!("{{{first}\"n\":{number}}}").into_bytes()
        };
        let u: N<u128> = read_as(&of(&u128::MAX.to_string())).expect("u128");
        assert_eq!(u.n, u128::MAX);
        let i: N<i128> = read_as(&of(&i128::MIN.to_string())).expect("i128");
        assert_eq!(i.n, i128::MIN);
        assert!(read_as::<N<u8>>(&of("256")).is_err());
        assert!(read_as::<N<u64>>(&of("1.5")).is_err());
        assert!(read_as::<N<f64>>(&of("1e400")).is_err(), "no infinity");
        let raw: N<serde_json::Number> = read_as(&of("1.50e+07")).expect("a number");
        assert_eq!(raw.n.to_string(), "1.50e+07");
    }
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    for bytes in [
        &b"{"[..],
        b"{} {}",
        b"nul",
        b"{'a':1}",
        b"[1,]",
        b"01",
        b"\xff",
        b"\"\xff\"",
        b"\"\\ud800\"",
        b"\xef\xbb\xbf{}",
        b"NaN",
        b"{\"a\":1,}",
        b"/**/1",
        b"\"\n\"",
    ] {
        assert!(
            matches!(read(bytes), Err(DocumentFault::NotJson { .. })),
            "{bytes:?}"
        );
        assert!(settled(bytes).is_err() && read_as::<Value>(bytes).is_err());
    }
    let place = read(b"{\n  x}").expect_err("not JSON");
    assert_eq!(place, DocumentFault::NotJson { line: 2, column: 3 });
    for bytes in [&b""[..], b" ", b"\r\n\t "] {
        assert_eq!(read(bytes), Err(DocumentFault::Empty));
    }
}

/// The parser hands numbers on as maps with a name of its own: nobody may send such a map.
#[test]
fn names_of_the_parser_are_refused_however_they_are_written() {
    for text in [
        r#"{"$serde_json::private::Number":"7"}"#,
        r#"[{"$serde_json::private::RawValue":"7"}]"#,
        r#"{"\u0024serde_json::private::Number":"7"}"#,
        r#"{"$\u0073\u0065rde_json\u003A\u003a\u0070rivate::Number":"7"}"#,
        r#""$serde_json::private::""#,
    ] {
        assert_eq!(
            read(text.as_bytes()),
            Err(DocumentFault::Reserved),
            "{text}"
        );
        assert!(read_as::<Value>(text.as_bytes()).is_err());
    }
    for text in [
        r#""$serde_json::privat""#,
        r#""$serde_json::privat\u00""#,
        r#""x$serde_json::private::Number""#,
        r#""\\u0024serde_json::private::Number""#,
        r#""\u0124serde_json::private::Number""#,
        r#""\u00g4serde""#,
        "\"$serde",
    ] {
        assert_ne!(
            read(text.as_bytes()),
            Err(DocumentFault::Reserved),
            "{text}"
        );
    }
}
