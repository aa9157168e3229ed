//! One text for each value.

use super::*;
use crate::webhook::json;

fn of(text_in: &str) -> String {
    text(&json::read(text_in.as_bytes()).expect("JSON"))
}

/// RFC 8785, section 3.2.2 and 3.2.3: the sample of the standard.
#[test]
fn the_sample_of_the_standard() {
    let input = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let want = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
    assert_eq!(of(input), want);
}

/// RFC 8785, section 3.2.3: by UTF-16 code units.
#[test]
fn members_are_sorted_by_utf_16() {
    let input = r#"{
        "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
    }"#;
    let value: serde_json::Value = serde_json::from_str(&of(input)).expect("JSON");
    let members = value.as_object().expect("an object");
    let order: Vec<&str> = members.values().filter_map(|v| v.as_str()).collect();
    assert_eq!(
        order,
        [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small Letter O With Diaeresis",
            "Euro Sign",
            "Emoji: Grinning Face",
            "Hebrew Letter Dalet With Dagesh",
        ]
    );
}

/// RFC 8785, appendix B: the doubles of the table that a JSON text can hold.
#[test]
fn the_numbers_of_the_standard() {
    for (bits, want) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        let double = f64::from_bits(bits);
        // As any program would write it, and as the standard does.
        for written in [format!("{double:e}"), want.to_owned()] {
            assert_eq!(of(&written), want, "{bits:x} as {written}");
        }
    }
}

#[test]
fn one_value_has_one_text_however_it_is_written() {
    for (ways, want) in [
        (&["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000E+0"][..], "1"),
        (&["0", "-0", "0.0", "-0.0e9", "0e-99"], "0"),
        (&["1.10", "1.1", "11e-1", "110E-2"], "1.1"),
        (&["-12.50", "-1.25e1"], "-12.5"),
        (&["1000000000000000000000", "1e21", "1.0E+21"], "1e+21"),
        (
            &[
                "9007199254740993",
                "9007199254740993.0",
                "9.007199254740993e15",
            ],
            "9007199254740993",
        ),
        (&["18446744073709551615"], "18446744073709551615"),
        (&["-9223372036854775808"], "-9223372036854775808"),
        (&["1152921504606846976"], "1152921504606846976"),
        (
            &["1152921504606847000", "1152921504606847e3"],
            "1152921504606847000",
        ),
        (
            &["340282366920938463463374607431768211456"],
            "340282366920938463463374607431768211456",
        ),
        // More digits than a double has.
        (&["12345678901234567.890"], "1234567890123456789e-2"),
        (&["1e400", "10e399"], "1e400"),
        (&["-1e400"], "-1e400"),
        (&["1e-400", "0.1e-399"], "1e-400"),
    ] {
        for way in ways {
            assert_eq!(of(way), want, "{way}");
        }
    }
    // An exponent beyond all reckoning is left as it was written.
    let far = format!("1e{}", "9".repeat(30));
    assert_eq!(of(&far).to_lowercase().replace('+', ""), far);
}

/// G5: two ids that differ never become one.
#[test]
fn neighbours_stay_apart() {
    for start in [
        9_007_199_254_740_990_u128,
        1 << 60,
        1 << 63,
        1 << 64,
        1 << 100,
    ] {
        let texts: Vec<String> = (start..start + 300).map(|n| of(&n.to_string())).collect();
        let mut apart = texts.clone();
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), texts.len(), "from {start}");
    }
    assert_ne!(of("12345678901234567.89"), of("12345678901234567.90"));
    assert_ne!(of("1e400"), of("1e401"));
    assert_ne!(of("1"), of("\"1\""));
    assert_ne!(of("null"), of("\"null\""));
    assert_ne!(of("[1,2]"), of("[2,1]"));
    assert_ne!(of("{}"), of("[]"));
    assert_ne!(of(r#"{"a":null}"#), of("{}"));
}

#[test]
fn texts_have_the_shortest_escapes() {
    assert_eq!(
        of(r#""\u0041\u00e9\u2028\ud83d\ude00""#),
        "\"A\u{e9}\u{2028}\u{1f600}\""
    );
    assert_eq!(
        of(r#""\b\f\n\r\t\u0000\u001F\u007f\/""#),
        "\"\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}/\""
    );
}

#[test]
fn parts_are_left_out_and_keep_their_places() {
    let value =
        json::read(br#"{"a":1,"b":{"c":2,"d":3},"e":[4,5,[6]],"f":{"0":7}}"#).expect("JSON");
    let left = |pointers: &[&str]| {
        let pointers: Vec<Pointer> = pointers
            .iter()
            .map(|p| Pointer::new(p).expect("one"))
            .collect();
        without(&value, &Skip::of(&pointers))
    };
    let whole = text(&value);
    for (pointers, want) in [
        (&[][..], whole.as_str()),
        (&["/x", "/a/b", "/e/7", "/e/01", "/e/-"], whole.as_str()),
        (&["/a"], r#"{"b":{"c":2,"d":3},"e":[4,5,[6]],"f":{"0":7}}"#),
        (
            &["/b/c", "/a"],
            r#"{"b":{"d":3},"e":[4,5,[6]],"f":{"0":7}}"#,
        ),
        (&["/b/c", "/b"], r#"{"a":1,"e":[4,5,[6]],"f":{"0":7}}"#),
        (
            &["/e/0"],
            r#"{"a":1,"b":{"c":2,"d":3},"e":[,5,[6]],"f":{"0":7}}"#,
        ),
        (
            &["/e/2/0", "/f/0"],
            r#"{"a":1,"b":{"c":2,"d":3},"e":[4,5,[]],"f":{}}"#,
        ),
        (&[""], ""),
    ] {
        assert_eq!(left(pointers), want, "{pointers:?}");
    }
}
