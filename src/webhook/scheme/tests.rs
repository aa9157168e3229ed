//! Schemes beside what the vectors say.

use super::*;
use crate::types::Headers;

pub(super) fn arrival<'a>(headers: &'a Headers, body: &'a [u8]) -> Arrival<'a> {
    Arrival {
        method: "POST",
        target: "/hooks/a",
        public_url: None,
        headers,
        body,
        now_ms: 0,
    }
}

#[test]
fn the_scheme_none_asks_for_nothing() {
    let headers = Headers::default();
    let proof = Scheme::None.verify(&arrival(&headers, b"x"), &[]);
    assert_eq!(proof, Ok(Proof::default()));
    assert!(!Scheme::None.is_signed());
    assert!(Scheme::github().is_signed());
}

#[test]
fn what_each_scheme_reads_and_wants() {
    let tolerance_s = Some(300);
    let form = |template: &str| {
        let form = Form::new(Algorithm::HmacSha256, "X-Sig").alias("X-Old");
        Scheme::Form(form.signing(template.parse().expect("a template")))
    };
    let standard: Vec<&str> = vec![
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "svix-id",
        "svix-timestamp",
        "svix-signature",
    ];
    let with_token = [&standard[..], &["x-gitlab-token"]].concat();
    let url = true;
    let covered = true;
    for (scheme, form, names, needs_url, covers) in [
        (Scheme::None, KeyForm::Text, vec![], !url, !covered),
        (
            form("{body}"),
            KeyForm::Text,
            vec!["x-sig", "x-old"],
            !url,
            covered,
        ),
        (
            form("{url}{body}"),
            KeyForm::Text,
            vec!["x-sig", "x-old"],
            url,
            covered,
        ),
        (
            Scheme::Form(Form::new(Algorithm::Token, "x-token")),
            KeyForm::Text,
            vec!["x-token"],
            !url,
            !covered,
        ),
        (
            Scheme::StandardWebhooks { tolerance_s },
            KeyForm::WhsecOrWhpk,
            standard,
            !url,
            covered,
        ),
        (
            Scheme::GitLab { tolerance_s },
            KeyForm::WhsecOrToken,
            with_token,
            !url,
            !covered,
        ),
        (
            Scheme::Twilio,
            KeyForm::Text,
            vec!["x-twilio-signature"],
            url,
            covered,
        ),
        (
            Scheme::Mailgun { tolerance_s },
            KeyForm::Text,
            vec![],
            !url,
            !covered,
        ),
        (Scheme::ClientState, KeyForm::Text, vec![], !url, !covered),
    ] {
        assert_eq!(scheme.key_form(), form, "{scheme:?}");
        assert_eq!(scheme.header_names(), names, "{scheme:?}");
        assert_eq!(scheme.needs_public_url(), needs_url, "{scheme:?}");
        assert_eq!(scheme.covers_body(), covers, "{scheme:?}");
        assert!(scheme.problems().is_empty(), "{scheme:?}");
        let other = scheme.clone().with_tolerance(Some(7));
        assert_eq!(
            other.tolerance_s(),
            scheme.tolerance_s().map(|_| Some(7)),
            "{scheme:?}"
        );
    }
}
