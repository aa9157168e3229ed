//! What a secret may have been meant to be.

use crate::webhook::{KeyForm, Secret};

/// What is pasted along with secrets.
const PREFIXES: [&str; 8] = [
    "whsec_", "whpk_", "v1,", "v1a,", "base64:", "hex:", "sha256=", "Bearer ",
];

/// Other readings of a secret's text, and how to call them. None is what `form` reads in the text.
pub(super) fn forms(text: &str, form: KeyForm) -> Vec<(String, Secret)> {
    let own = Secret::read(text, form).ok();
    let mut out: Vec<(String, Secret)> = Vec::new();
    for (how, text) in texts(text) {
        for (kind, other) in kinds(form) {
            let Ok(secret) = Secret::read(&text, other) else {
                continue;
            };
            let known = own.as_ref() == Some(&secret) || out.iter().any(|(_, s)| *s == secret);
            if known {
                continue;
            }
            let says = match (how, other == form) {
                ("", _) => kind.to_owned(),
                (how, true) => how.to_owned(),
                (how, false) => format!("{how}, {kind}"),
            };
            out.push((says, secret));
        }
    }
    out
}

fn texts(text: &str) -> Vec<(&'static str, String)> {
    let plain = text.trim();
    let quoted = plain
        .strip_prefix(['"', '\''])
        .and_then(|rest| rest.strip_suffix(['"', '\'']));
    let bare = quoted.unwrap_or(plain);
    let bare = bare.strip_suffix("\\n").unwrap_or(bare);
    let mut out = vec![("", text.to_owned())];
    let mut add = |how, other: &str| {
        if out.iter().all(|(_, known)| known != other) {
            out.push((how, other.to_owned()));
        }
    };
    add("without the white space around it", plain);
    add("without the quotes or the \\n around it", bare);
    if let Some(line) = bare.lines().next() {
        add("only its first line", line.trim());
    }
    let named = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if let Some((name, value)) = bare.split_once('=')
        && !name.is_empty()
        && name.chars().all(named)
    {
        add("without the NAME= before it", value);
    }
    for prefix in PREFIXES {
        if let Some(rest) = bare.strip_prefix(prefix) {
            add("without its prefix", rest);
        }
    }
    add("with whsec_ before it", &format!("whsec_{bare}"));
    add(
        "with + and / for its - and _",
        &bare.replace('-', "+").replace('_', "/"),
    );
    out
}

/// Readings of the same kind: a shared secret is never tried as a public key.
fn kinds(form: KeyForm) -> Vec<(&'static str, KeyForm)> {
    const SHARED: [(&str, KeyForm); 4] = [
        ("as text", KeyForm::Text),
        ("decoded from base64", KeyForm::Base64),
        ("decoded from hex", KeyForm::Hex),
        ("as whsec_ and base64", KeyForm::Whsec),
    ];
    const ED25519: [(&str, KeyForm); 3] = [
        ("as hex", KeyForm::Ed25519Hex),
        ("as base64", KeyForm::Ed25519Base64),
        ("as whpk_ and base64", KeyForm::WhsecOrWhpk),
    ];
    let mut out = match form {
        KeyForm::Text | KeyForm::Base64 | KeyForm::Hex | KeyForm::Whsec => SHARED.to_vec(),
        KeyForm::WhsecOrToken => [
            &[("as whsec_ or a token", KeyForm::WhsecOrToken)],
            &SHARED[..],
        ]
        .concat(),
        KeyForm::WhsecOrWhpk => [&SHARED[..], &ED25519[..]].concat(),
        KeyForm::Ed25519Hex | KeyForm::Ed25519Base64 => ED25519.to_vec(),
        KeyForm::SpkiBase64 => vec![("as SPKI in base64", KeyForm::SpkiBase64)],
    };
    // The form of the source first: what is wrong is more often the text than the form.
    out.sort_by_key(|(_, other)| *other != form);
    out
}
