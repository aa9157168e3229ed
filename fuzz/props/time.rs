//! Durations, points in time, `Retry-After`: one text.

use super::input::text;
use jiff::Timestamp;
use onceward::function::{Fetched, Retry};
use onceward::types::time::{parse_duration_ms, rfc3339};
use serde_json::json;

const TEN_YEARS_MS: u64 = 3_650 * 24 * 3_600 * 1_000;
/// The first moment of the year 10000.
const END_MS: u64 = 253_402_300_800_000;

pub fn check(data: &[u8]) {
    let given = text(data);
    match parse_duration_ms(&given) {
        Ok(ms) => {
            assert!(ms <= TEN_YEARS_MS, "{given}: {ms}");
            assert_eq!(parse_duration_ms(&format!("{ms}ms")), Ok(ms));
            assert!(
                !given.bytes().all(|b| b.is_ascii_digit()),
                "a number without a unit"
            );
        }
        Err(why) => assert!(!why.is_empty()),
    }
    let mut number = [0; 8];
    for (slot, byte) in number.iter_mut().zip(data) {
        *slot = *byte;
    }
    let ms = u64::from_be_bytes(number);
    for ms in [ms, ms >> 16, ms >> 24] {
        let stamp = rfc3339(ms);
        let read: Timestamp = stamp.parse().expect("a time");
        if ms < END_MS / 2 {
            assert_eq!(u64::try_from(read.as_millisecond()), Ok(ms), "{stamp}");
        }
    }
    retry_after(&given, ms);
}

fn retry_after(given: &str, now_ms: u64) {
    let fetched = Fetched {
        status: 503,
        headers: [("retry-after".to_owned(), json!(given))]
            .into_iter()
            .collect(),
        body: json!(null),
    };
    for now_ms in [0, now_ms >> 20] {
        let asked = fetched.retry_after_ms(now_ms);
        let random = u32::try_from(now_ms % 1_001).unwrap_or(0);
        let delay = Retry::exponential(5).next_delay_ms(1, 0, asked, random);
        assert!(
            delay.is_some_and(|ms| (1..=3_600_000).contains(&ms)),
            "{asked:?}: {delay:?}"
        );
    }
}
