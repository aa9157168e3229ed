use super::expression_tests::{are, failure};
use serde_json::json;

#[test]
fn patterns() {
    // 2026-07-01T12:30:45.123Z
    are(&[
        ("now()", json!("2026-07-01T12:30:45.123000Z")),
        ("now(format='yyyy-MM-dd')", json!("2026-07-01")),
        ("now('HH:mm', timeZone='Europe/Paris')", json!("14:30")),
        (
            "execution.startDate | date('yyyy-MM-dd HH:mm:ss.SSS')",
            json!("2026-07-01 12:30:45.123"),
        ),
        (
            "execution.startDate | date(\"yyyy-MM-dd'T'HH:mm:ssXXX\", timeZone='Europe/Paris')",
            json!("2026-07-01T14:30:45+02:00"),
        ),
        (
            "execution.startDate | date(\"d MMMM yyyy, EEEE 'o''clock' h a\")",
            json!("1 July 2026, Wednesday o'clock 12 PM"),
        ),
        (
            "execution.startDate | date('EEE E MMM M yy y D', timeZone='UTC')",
            json!("Wed Wed Jul 7 26 2026 182"),
        ),
        (
            "execution.startDate | date('Z XX X xxx z VV', timeZone='America/New_York')",
            json!("-0400 -0400 -04 -04:00 EDT America/New_York"),
        ),
        ("execution.startDate | date('QQQ')", json!("Q3")),
        (
            "execution.startDate | date('iso_sec', timeZone='+05:30')",
            json!("2026-07-01T18:00:45+05:30"),
        ),
        (
            "execution.startDate | date('iso_local_date')",
            json!("2026-07-01"),
        ),
        (
            "execution.startDate | date('sql_seq')",
            json!("2026-07-01 12:30:45"),
        ),
        (
            "execution.startDate | date('rfc_1123_date_time', timeZone='Europe/Paris')",
            json!("Wed, 1 Jul 2026 12:30:45 GMT"),
        ),
        (
            "execution.startDate | date('iso_date_time', timeZone='Europe/Paris')",
            json!("2026-07-01T14:30:45.123+02:00[Europe/Paris]"),
        ),
        (
            "execution.startDate | date('iso_week_date')",
            json!("2026-W27-3Z"),
        ),
        ("execution.startDate | dateFormat('yyyy')", json!("2026")),
        ("inputs.nothing | date('yyyy')", json!(null)),
    ]);
}

#[test]
fn what_is_read() {
    are(&[
        (
            "'2026-02-03' | date('iso_sec')",
            json!("2026-02-03T00:00:00Z"),
        ),
        (
            "'2026-02-03T04:05:06' | date('iso_sec', timeZone='Europe/Paris')",
            json!("2026-02-03T04:05:06+01:00"),
        ),
        (
            "'2026-02-03T04:05:06+02:00' | date('iso_sec')",
            json!("2026-02-03T02:05:06Z"),
        ),
        (
            "'2026-02-03T04:05:06+01:00[Europe/Paris]' | date('iso_sec')",
            json!("2026-02-03T03:05:06Z"),
        ),
        (
            "1782909045 | date('iso_sec')",
            json!("2026-07-01T12:30:45Z"),
        ),
        (
            "1782909045123 | date('iso')",
            json!("2026-07-01T12:30:45.123000Z"),
        ),
        (
            "'03.02.2026 04:05' | date('iso_sec', existingFormat='dd.MM.yyyy HH:mm')",
            json!("2026-02-03T04:05:00Z"),
        ),
        (
            "'Feb 3 2026' | date('iso_local_date', existingFormat='MMM d yyyy')",
            json!("2026-02-03"),
        ),
        (
            "'2026-02-03T04:05Z' | date('iso_sec', existingFormat=\"yyyy-MM-dd'T'HH:mmXXX\")",
            json!("2026-02-03T04:05:00Z"),
        ),
    ]);
    for wrong in [
        "{{ 'yesterday' | date }}",
        "{{ [] | date }}",
        "{{ now('YYYY') }}",
        "{{ now('GGGG') }}",
        "{{ now('yyyy', timeZone='Moon/Base') }}",
        "{{ now('yyyy', locale='fr') }}",
        "{{ now() | dateAdd(1, 'FORTNIGHTS') }}",
        "{{ now() | dateAdd(999999999, 'YEARS') }}",
    ] {
        assert_eq!(failure(wrong).0, "expression_failed", "{wrong}");
    }
}

#[test]
fn arithmetic() {
    are(&[
        (
            "execution.startDate | dateAdd(-1, 'DAYS')",
            json!("2026-06-30T12:30:45.123000Z"),
        ),
        (
            "execution.startDate | dateAdd(2, 'HOURS') | date('HH:mm')",
            json!("14:30"),
        ),
        (
            "'2026-01-31' | dateAdd(1, 'MONTHS', format='iso_local_date')",
            json!("2026-02-28"),
        ),
        (
            "now() | dateAdd(1, 'WEEKS') | date('yyyy-MM-dd')",
            json!("2026-07-08"),
        ),
        // A day of 23 hours.
        (
            "'2026-03-28T12:00:00+01:00' | dateAdd(1, 'DAYS', timeZone='Europe/Paris', format='iso_sec')",
            json!("2026-03-29T12:00:00+02:00"),
        ),
        ("execution.startDate | timestamp", json!(1_782_909_045)),
        (
            "execution.startDate | timestampMilli",
            json!(1_782_909_045_123_i64),
        ),
        (
            "execution.startDate | timestampMicro",
            json!(1_782_909_045_123_000_i64),
        ),
        (
            "execution.startDate | timestampNano",
            json!(1_782_909_045_123_000_000_i64),
        ),
    ]);
}
