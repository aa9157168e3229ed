//! Schemes as a configuration declares them: JSON.

use onceward::http::headers::is_token;
use onceward::types::Headers;
use onceward::webhook::scheme::Template;
use onceward::webhook::{Arrival, Refusal, Scheme, Secret};

pub fn check(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(template) = text.parse::<Template>()
    {
        assert_eq!(template.to_string().parse(), Ok(template), "{text:?}");
    }
    let scheme: Scheme = match serde_json::from_slice(data) {
        Ok(scheme) => scheme,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    for problem in scheme.problems() {
        assert!(!problem.is_empty());
    }
    if !scheme.problems().is_empty() {
        return;
    }
    for name in scheme.header_names() {
        assert!(is_token(&name), "{name:?}");
        assert_eq!(name, name.to_ascii_lowercase());
    }
    let headers = Headers::default();
    let arrival = Arrival {
        method: "POST",
        target: "/hooks/a",
        public_url: None,
        headers: &headers,
        body: b"{}",
        now_ms: 0,
    };
    let got = scheme.verify(&arrival, &[]);
    if scheme.is_signed() {
        assert_eq!(got, Err(Refusal::NoSecret));
        let secret = Secret::read("c2VjcmV0LXNlY3JldC1zZWNyZXQ=", scheme.key_form());
        let secrets: Vec<Secret> = secret.into_iter().collect();
        assert!(scheme.verify(&arrival, &secrets).is_err(), "{scheme:?}");
    } else {
        assert!(got.is_ok());
    }
}
