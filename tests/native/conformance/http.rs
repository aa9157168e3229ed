//! RFC 9110 in parts: what is stored, and how waits of others are read.

use onceward::function::Fetched;
use onceward::http::code::Code;
use onceward::http::headers::storable;
use onceward::http::problem::Problem;
use onceward::limits::MAX_RETRY_AFTER_MS;
use onceward::types::Headers;

#[test]
fn http_h_01_retry_after_goes_out_in_seconds_and_is_read_in_both_forms() {
    for code in [
        Code::TaskInProgress,
        Code::Unavailable,
        Code::Overloaded,
        Code::Misconfigured,
        Code::RateLimited,
    ] {
        let answer = Problem::new(code, "d").to_answer();
        let text = answer
            .headers
            .get("retry-after")
            .expect("Retry-After")
            .to_owned();
        assert!(text.parse::<u64>().is_ok_and(|s| s > 0), "{code}: {text}");
    }
    let after = |text: &str, now_ms| {
        let mut fetched = Fetched {
            status: 503,
            headers: serde_json::Map::new(),
            body: "".into(),
        };
        fetched.headers.insert("retry-after".into(), text.into());
        fetched.retry_after_ms(now_ms)
    };
    assert_eq!(after("0", 0), Some(0));
    assert_eq!(after("120", 0), Some(120_000));
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    assert_eq!(after(date, 784_111_770_000), Some(7_000));
    assert_eq!(after(date, 784_111_800_000), Some(0), "a time that is over");
    for wrong in ["", "-1", "1.5", "soon", "Sun, 06 Nov"] {
        assert_eq!(after(wrong, 0), None, "{wrong:?}");
    }
    // However long others want to be left alone, we come back within the hour.
    assert_eq!(MAX_RETRY_AFTER_MS, 3_600_000);
}

#[test]
fn http_h_07_fields_of_one_connection_or_one_person_are_not_stored() {
    let names = "Connection Keep-Alive Proxy-Authenticate Proxy-Authorization TE Trailer \
        Transfer-Encoding Upgrade Set-Cookie Cookie Authorization Date Content-Length Content-Encoding";
    let mut headers: Headers = names.split_whitespace().map(|name| (name, "x")).collect();
    headers.push("connection", "close, X-Hop");
    headers.push("x-hop", "1");
    headers.push("location", "/orders/7");
    let stored = storable(&headers).expect("storable");
    let left: Vec<&str> = stored.iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["location"]);
}
