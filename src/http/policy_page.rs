//! Policies as pages for people, from the same structure as the document.

use super::page;
use super::policy::{MAX_AGE_S, RoutePolicy};
use crate::types::{Answer, Headers};
use std::fmt::Write as _;

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// The page of one route.
///
/// ```
/// use onceward::function::{Ctx, Function};
/// use onceward::http::{policy::RoutePolicy, policy_page::of_route};
/// use onceward::types::{Failure, Headers};
///
/// async fn greet(_: Ctx, name: String) -> Result<String, Failure> { Ok(name) }
/// let policy = RoutePolicy::of_function(&Function::new("greet", greet));
/// let page = String::from_utf8(of_route(&policy, &Headers::default()).body).unwrap();
/// assert!(page.contains("7 days") && page.contains("<code>/v1/functions/greet</code>"));
/// ```
pub fn of_route(policy: &RoutePolicy, headers: &Headers) -> Answer {
    page::show(&policy.path, &text(policy), headers, MAX_AGE_S)
}

/// The list of all of them.
pub fn of_all(policies: &[RoutePolicy], headers: &Headers) -> Answer {
    let mut out = "# Idempotency policies\n\nFor programs: [/.well-known/idempotency](/.well-known/idempotency).\n\n".to_owned();
    for policy in policies {
        let (path, address) = (code(&policy.path), &policy.links.policy);
        line(&mut out, format_args!("- [{path}]({address})"));
    }
    page::show("Idempotency policies", &out, headers, MAX_AGE_S)
}

fn text(policy: &RoutePolicy) -> String {
    let mut out = format!("# Policy of {}\n\n", code(&policy.path));
    let sent_by = match policy.authentication {
        "signature" => "a sender whose signature holds",
        "bearer" => "a caller with an API token",
        _ => "anybody who knows the address",
    };
    let methods = policy.methods.join(", ");
    line(
        &mut out,
        format_args!(
            "Takes {methods} from {sent_by}. Each key runs once; a repeat gets the stored answer with `Idempotent-Replayed: true`.\n"
        ),
    );
    keys(policy, &mut out);
    equality(policy, &mut out);
    answers(policy, &mut out);
    retention(policy, &mut out);
    line(
        &mut out,
        format_args!(
            "## More\n\n- [All errors](/errors), with what to do about each\n- [All policies](/policy), and [the same for programs](/.well-known/idempotency)"
        ),
    );
    out
}

fn keys(policy: &RoutePolicy, out: &mut String) {
    let key = &policy.key;
    line(out, format_args!("## Key\n"));
    let places: Vec<String> = key.sources.iter().map(|place| code(place)).collect();
    line(
        out,
        format_args!(
            "- Taken from {}; the first that is there decides.",
            places.join(", then ")
        ),
    );
    let without = match key.without {
        "run" => "is a run of its own".to_owned(),
        "content" => "is named by its content".to_owned(),
        _ => format!("is refused with {}", policy.statuses.missing),
    };
    let others = match key.others {
        "hashed" => "Other texts of a body or an address are hashed; other fields are refused with",
        _ => "Others are refused with",
    };
    line(out, format_args!("- A request without one {without}."));
    line(
        out,
        format_args!(
            "- {} to {} characters: {}. {others} {}.",
            key.min_chars,
            key.max_chars,
            code(&key.pattern),
            policy.statuses.malformed
        ),
    );
    line(
        out,
        format_args!(
            "- {}",
            match key.syntax {
                "lenient" =>
                    "`\"abc\"` and `abc` are the same key. `Prefer: handling=strict` takes the quoted form only.",
                "strict" => "A quoted string (RFC 9651): `\"abc\"`.",
                _ => "The whole value is the key, quotes and all.",
            }
        ),
    );
    if key.echoed {
        line(out, format_args!("- It comes back in `Idempotency-Key`."));
    }
    let scope = policy.scope.join(" and ");
    line(
        out,
        format_args!(
            "- Equal keys of another {scope} are other keys. Make a fresh UUID for each operation, and send it again with each repeat.\n"
        ),
    );
}

fn equality(policy: &RoutePolicy, out: &mut String) {
    line(out, format_args!("## Same request\n"));
    let pointers: Vec<String> = policy
        .fingerprint
        .pointers
        .iter()
        .map(|p| code(p))
        .collect();
    let pointers = pointers.join(", ");
    match policy.fingerprint.mode {
        "off" => line(
            out,
            format_args!("Not compared: whoever assigns the key may change the rest.\n"),
        ),
        "canonical" => line(
            out,
            format_args!(
                "Method, address with query, and the JSON of the body (RFC 8785) must be the same."
            ),
        ),
        "only" => line(
            out,
            format_args!(
                "Method, address with query, and these parts of the body must be the same: {pointers}."
            ),
        ),
        "except" => line(
            out,
            format_args!(
                "Method, address with query, and the body must be the same but for {pointers}."
            ),
        ),
        _ => line(
            out,
            format_args!("Method, address with query, and the bytes of the body must be the same."),
        ),
    }
    if policy.fingerprint.mode == "off" {
        return;
    }
    line(
        out,
        format_args!(
            "`Prefer` and other header fields don't count. Another request under the same key gets {}.\n",
            policy.statuses.mismatch
        ),
    );
}

fn answers(policy: &RoutePolicy, out: &mut String) {
    let statuses = &policy.statuses;
    line(out, format_args!("## Answers\n"));
    line(
        out,
        format_args!(
            "- Done within {}: the function's answer. Later: {} with `Location` and `Retry-After`.",
            span(policy.respond_within_ms),
            statuses.accepted
        ),
    );
    line(
        out,
        format_args!(
            "- A repeat while it runs waits as well, then gets {}.",
            statuses.in_flight
        ),
    );
    line(
        out,
        format_args!(
            "- `Prefer` knows {}. `wait` is granted up to {} s.",
            listed(policy.prefer.honoured),
            policy.prefer.wait_max_s
        ),
    );
    if !policy.accepts.is_empty() {
        let types: Vec<String> = policy.accepts.iter().map(|kind| code(kind)).collect();
        line(
            out,
            format_args!(
                "- Bodies: {}. Others are refused with 415.",
                types.join(", ")
            ),
        );
    }
    if policy.compressed {
        line(out, format_args!("- Bodies may be packed with `gzip`."));
    }
    out.push('\n');
}

fn retention(policy: &RoutePolicy, out: &mut String) {
    let kept = &policy.retention;
    line(out, format_args!("## Kept for\n"));
    line(
        out,
        format_args!(
            "- {} after a success, {} after a failure. `Idempotency-Expires` says until when.",
            span(kept.succeeded_ms),
            span(kept.failed_ms)
        ),
    );
    line(
        out,
        format_args!(
            "- {}",
            match kept.stored {
                "below_500" => "Answers below 500 are kept; after another one a repeat runs again.",
                "success" => "Answers below 300 are kept; after another one a repeat runs again.",
                _ => "Every final answer is kept, errors as well.",
            }
        ),
    );
    let after = match kept.expired_for_ms {
        Some(ms) => format!(
            "the key is refused with 410 for {}, then it is new",
            span(ms)
        ),
        None => "the key is new".to_owned(),
    };
    line(out, format_args!("- Afterwards {after}.\n"));
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

fn listed(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| code(word)).collect();
    words.join(", ")
}

/// A code span, whatever it holds (`CommonMark` 6.1).
fn code(text: &str) -> String {
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

/// A time in the largest unit that divides it.
fn span(ms: u64) -> String {
    let units = [
        (DAY_MS, "day"),
        (HOUR_MS, "hour"),
        (60_000, "minute"),
        (1_000, "second"),
    ];
    let fits = |(unit, _): &&(u64, &str)| ms > 0 && ms.is_multiple_of(*unit);
    match units.iter().find(fits) {
        Some((unit, name)) => {
            let count = ms / unit;
            format!("{count} {name}{}", if count == 1 { "" } else { "s" })
        }
        None if ms < 1_000 => format!("{ms} ms"),
        None => format!("{}.{:03} s", ms / 1_000, ms % 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{Ctx, Function};
    use crate::http::profile::{CallRules, KeySyntax, Profile};
    use crate::types::{AfterExpiry, Failure, Keeps};
    use crate::webhook::KeyPattern;

    async fn greet(_: Ctx, name: String) -> Result<String, Failure> {
        Ok(name)
    }

    #[test]
    fn spans_are_in_the_largest_unit() {
        let cases = [
            (0, "0 ms"),
            (250, "250 ms"),
            (2_500, "2.500 s"),
            (5_000, "5 seconds"),
            (60_000, "1 minute"),
            (DAY_MS, "1 day"),
            (36 * HOUR_MS, "36 hours"),
            (30 * DAY_MS, "30 days"),
        ];
        for (ms, want) in cases {
            assert_eq!(span(ms), want);
        }
    }

    #[test]
    fn the_page_says_what_the_profile_does() {
        let rules = CallRules {
            key: KeySyntax::Strict,
            key_pattern: Some(KeyPattern::new("a-z`|", 16, 64).expect("a pattern")),
            accepts: vec!["application/json".into()],
            status_in_flight: 425,
            keeps: Some(Keeps::Success),
            after_expiry: Some(AfterExpiry::Gone {
                tombstone_ms: 2 * HOUR_MS,
            }),
            ..Profile::Stripe.rules()
        };
        let policy = RoutePolicy::of_function(&Function::new("greet", greet).call_rules(rules));
        let page = text(&policy);
        for part in [
            "is a run of its own",
            "16 to 64 characters: `` ^[a-z`|]{16,64}$ ``",
            "A quoted string",
            "gets 400",
            "then gets 425",
            "`application/json`. Others are refused with 415",
            "up to 25 s",
            "Answers below 300 are kept",
            "refused with 410 for 2 hours, then",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let acp = RoutePolicy::of_function(&Function::new("greet", greet).profile(Profile::Acp));
        assert!(text(&acp).contains("comes back"));
    }
}
