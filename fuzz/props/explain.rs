//! Explanations: the name of a scheme on the first line, then what an operator sends.

use super::input::{is_json, is_whole, line, sha256_hex, text};
use onceward::http::body::Rule;
use onceward::http::explain::{Subject, explain};
use onceward::webhook::explain::SecretAt;
use onceward::webhook::{KeyForm, Scheme, packs};
use serde_json::Value;

/// The moment at which everything is looked at.
const NOW_MS: u64 = 1_700_000_000_000;
/// Of RFC 8032, test 2; nothing in the corpus is signed by it.
const PUBLIC_KEY: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

pub fn check(data: &[u8]) {
    let (name, request) = line(data);
    let scheme = packs::by_name(&text(name)).map_or(Scheme::None, |pack| pack.scheme);
    // Nobody can write down the secrets of these very bytes.
    let hash = sha256_hex(data);
    let mut texts = vec![
        hash.clone(),
        format!("whsec_{}", &hash[..32]),
        format!("{hash}\n"),
    ];
    if scheme.key_form() == KeyForm::Ed25519Hex {
        texts.push(PUBLIC_KEY.to_owned());
    }
    let secrets: Vec<SecretAt<'_>> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| SecretAt {
            name: "NAME",
            text,
            expired: matches!(index, 1 | 2),
        })
        .collect();
    for public_url in [None, Some("https://example.com/hooks/a")] {
        let subject = Subject {
            name: "a",
            scheme: &scheme,
            secrets: &secrets,
            public_url,
            encoding: Rule::Either,
        };
        match explain(&subject, request, NOW_MS) {
            Err(problem) => {
                is_whole(&problem);
                assert_eq!(problem.to_answer().status, 400);
            }
            Ok(answer) => {
                is_json(&answer);
                assert_eq!(answer.status, 200);
                assert!(answer.body.len() < 16 << 10, "{} bytes", answer.body.len());
                let shown = text(&answer.body);
                assert!(!shown.contains(&hash[..16]), "{shown}");
                judged(&scheme, &answer.body);
            }
        }
        assert_eq!(
            explain(&subject, request, NOW_MS),
            explain(&subject, request, NOW_MS),
            "the same again"
        );
    }
}

/// Nobody can sign with secrets that nobody knows.
fn judged(scheme: &Scheme, answer: &[u8]) {
    let found: Value = serde_json::from_slice(answer).expect("JSON");
    if scheme.is_signed() {
        assert!(matches!(
            found["verdict"].as_str(),
            Some("refused" | "closed")
        ));
        assert_eq!(found["explained"], false, "{found}");
    } else {
        assert_eq!(found["verdict"], "unsigned");
    }
    let findings = found["findings"].as_array().expect("findings");
    assert!(!findings.is_empty());
    for finding in findings {
        for member in ["code", "says", "do"] {
            assert!(
                finding[member]
                    .as_str()
                    .is_some_and(|text| !text.is_empty())
            );
        }
    }
    assert!(found["tried"].as_u64().is_some_and(|tried| tried <= 128));
}
