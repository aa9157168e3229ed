//! RFC 9457: what a problem document holds.

use onceward::http::code::Code;
use onceward::http::media;
use onceward::http::page;
use onceward::http::prefer::Prefer;
use onceward::http::problem::{Cause, Problem};
use onceward::http::profile::Profile;
use onceward::types::{Headers, TaskKey, TaskKind};
use serde_json::Value;
use std::collections::BTreeMap;

/// One of each code, with everything that it can have.
fn all() -> Vec<Problem> {
    let id = TaskKey::new(TaskKind::Function, "f", "", "k").task_id();
    let causes = ["/a", "steps[2].retry"].map(|pointer| Cause {
        detail: "wanted a number".into(),
        pointer: pointer.into(),
    });
    let codes = Code::ALL.iter().map(|code| {
        Problem::new(*code, "What is wrong, and what is wanted.")
            .task(id)
            .instance("urn:uuid:6f6e6365-7761-5264-8000-000000000001")
            .policy("/policy/functions/f")
            .errors(causes.to_vec())
    });
    codes.collect()
}

#[test]
fn problem_d_01_a_problem_is_an_object_of_its_own_type() {
    for problem in all() {
        let answer = problem.to_answer();
        assert_eq!(
            answer.headers.get("content-type"),
            Some("application/problem+json")
        );
        let document: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert!(document.is_object());
    }
}

#[test]
fn problem_d_02_the_type_leads_to_a_page_that_is_there() {
    for code in Code::ALL {
        let reference = Problem::new(*code, "d").document()["type"].clone();
        let reference = reference.as_str().expect("a reference");
        // Against the address of any request it means the page of this deployment.
        let base = url::Url::parse("https://hooks.example/v1/functions/f").expect("an address");
        let page = base.join(reference).expect("a reference");
        assert_eq!(
            page.as_str(),
            format!("https://hooks.example/errors/{code}")
        );
        let route = onceward::http::route::route("GET", page.path()).expect("a route");
        assert_eq!(
            route,
            onceward::http::route::Route::ErrorPage { code: *code }
        );
        let shown = page::of_error(*code, &Headers::default());
        let html = String::from_utf8(shown.body).expect("UTF-8");
        assert_eq!(
            shown.headers.get("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert!(html.contains(&format!("<h1>{code}</h1>")) && html.contains(code.title()));
    }
}

#[test]
fn problem_d_03_a_type_has_one_title() {
    let mut titles: BTreeMap<String, String> = BTreeMap::new();
    let strict = Profile::Stripe.rules();
    let odd: Headers = [("Idempotency-Key", "a b")].into_iter().collect();
    let mut problems = all();
    problems.extend(all().into_iter().map(|problem| problem.with_status(418)));
    problems.extend(strict.key_of(&odd, Prefer::default(), "r").err());
    problems.extend(media::json(&[("content-type", "a/b")].into_iter().collect(), b"{}").err());
    problems.push(Problem::bad_token("why"));
    problems.push(Problem::bad_signature("why"));
    for problem in problems {
        let document = problem.document();
        let word = |name: &str| document[name].as_str().expect("a word").to_owned();
        let title = titles.entry(word("type")).or_insert_with(|| word("title"));
        assert_eq!(*title, word("title"));
    }
    let distinct: std::collections::BTreeSet<&String> = titles.values().collect();
    assert_eq!(distinct.len(), titles.len(), "two types share a title");
}

#[test]
fn problem_d_04_the_status_is_that_of_the_answer() {
    let own = all().into_iter().map(|problem| problem.with_status(409));
    for problem in all().into_iter().chain(own) {
        let answer = problem.to_answer();
        assert_eq!(problem.document()["status"], answer.status);
        assert_eq!(problem.status(), answer.status);
    }
}

#[test]
fn problem_d_05_the_detail_says_what_was_wanted() {
    let none = Headers::default();
    let missing = Profile::Ietf.rules().key_of(&none, Prefer::default(), "r");
    let missing = missing.expect_err("refused").detail;
    assert!(missing.contains("idempotency-key"), "{missing}");
    let kinds: Headers = [("content-type", "text/xml")].into_iter().collect();
    let kind = media::json(&kinds, b"<a/>").expect_err("refused").detail;
    assert!(kind.contains("application/json"), "{kind}");
    let method = Problem::method_not_allowed("POST, OPTIONS").detail;
    assert!(method.contains("POST"), "{method}");
    for detail in [missing, kind, method] {
        assert!(detail.ends_with('.') && !detail.contains("panicked") && !detail.contains(".rs"));
    }
}

#[test]
fn problem_d_07_members_of_our_own_have_plain_names() {
    for problem in all() {
        let document = problem.document();
        for name in document.as_object().expect("an object").keys() {
            let mut letters = name.chars();
            assert!(name.len() >= 3 && letters.next().is_some_and(|c| c.is_ascii_alphabetic()));
            assert!(
                letters.all(|c| c.is_ascii_alphanumeric() || c == '_'),
                "{name}"
            );
        }
    }
}

#[test]
fn problem_d_08_several_causes_of_one_type_stand_in_a_list() {
    for problem in all() {
        let document = problem.document();
        assert!(document["type"].is_string(), "one type");
        let errors = document["errors"].as_array().expect("a list");
        assert_eq!(errors.len(), 2);
        for cause in errors {
            assert!(cause["detail"].is_string() && cause["pointer"].is_string());
        }
    }
    assert_eq!(
        Problem::new(Code::InputInvalid, "d")
            .document()
            .get("errors"),
        None
    );
}

#[test]
fn problem_d_10_what_is_for_the_log_is_not_for_the_client() {
    for code in Code::ALL {
        let problem = Problem::new(*code, "d").because("SEC-1 select * from tasks");
        let answer = problem.to_answer();
        let text = format!(
            "{:?} {}",
            answer.headers,
            String::from_utf8_lossy(&answer.body)
        );
        assert!(
            !text.contains("SEC-1") && !text.contains("select"),
            "{text}"
        );
    }
    // Whoever guesses a token or a signature learns nothing from the answers.
    let (token, signature) = (Problem::bad_token("one"), Problem::bad_signature("other"));
    assert_eq!(token.document(), signature.document());
}

#[test]
fn problem_d_11_every_type_is_listed_with_cause_fix_and_verdict() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors");
    let index = std::fs::read_to_string(folder.join("README.md")).expect("the list");
    for code in Code::ALL {
        let row = index
            .lines()
            .find(|line| line.starts_with(&format!("| [{code}]({code}.md)")));
        let cells = row.expect("a row").matches(" | ").count();
        assert_eq!(cells, 5, "{code}: code, status, title, cause, fix, verdict");
        for heading in [
            "## What happened",
            "## How to fix it",
            "## Usual causes",
            "## Safe to send again?",
        ] {
            assert!(code.page().contains(heading), "{code}: {heading}");
        }
    }
}

#[test]
fn problem_d_12_there_is_a_type_for_each_kind_of_failure() {
    let kinds = [
        ("missing key", Code::KeyMissing),
        ("bad key", Code::KeyMalformed),
        ("key reused", Code::KeyReused),
        ("in progress", Code::TaskInProgress),
        // What nobody knows to have happened ends the task, and is named in its document.
        ("unknown outcome", Code::TaskFailed),
        // One answer for all three, so that guessing teaches nothing.
        ("signature missing", Code::Unauthorized),
        ("signature invalid", Code::Unauthorized),
        ("signature expired", Code::Unauthorized),
        ("payload too large", Code::BodyTooLarge),
        ("rate limited", Code::RateLimited),
        // A task that is parked waits; whoever asks again is told so.
        ("paused", Code::TaskInProgress),
        ("rolled back", Code::TaskCancelled),
        ("not found", Code::NotFound),
        ("task not found", Code::TaskNotFound),
        ("conflicting state", Code::TaskEnded),
    ];
    for (kind, code) in kinds {
        assert!(Code::ALL.contains(&code), "{kind}");
        assert!(code.page().len() > 200, "{kind}");
    }
}
