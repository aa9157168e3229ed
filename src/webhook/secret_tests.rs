//! What is taken for a secret, and how a wrong one is named.

use super::*;

/// Texts that scanners for secrets look for are put together here.
fn whsec(rest: &str) -> String {
    ["wh", "sec_", rest].concat()
}

const SHARED: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PUBLIC_HEX: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const PUBLIC_BASE64: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const P256: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
/// Seed and public key, as Svix shows a private key.
const PAIR: &str =
    "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";

#[test]
fn every_form_is_read() {
    let with_prefix = whsec(SHARED);
    let unpadded = whsec("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8");
    let public = format!("whpk_{PUBLIC_BASE64}");
    let upper = PUBLIC_HEX.to_uppercase();
    for (text, form, kind, bytes) in [
        ("It's a Secret", KeyForm::Text, KeyKind::Shared, 13),
        (&with_prefix, KeyForm::Text, KeyKind::Shared, 38),
        ("AAEC", KeyForm::Base64, KeyKind::Shared, 3),
        ("AAE", KeyForm::Base64, KeyKind::Shared, 2),
        ("00fF", KeyForm::Hex, KeyKind::Shared, 2),
        (&with_prefix, KeyForm::Whsec, KeyKind::Shared, 24),
        (SHARED, KeyForm::Whsec, KeyKind::Shared, 24),
        (&unpadded, KeyForm::Whsec, KeyKind::Shared, 32),
        (
            "plJ3nmyCDGBKInavdOK15jsl",
            KeyForm::Whsec,
            KeyKind::Shared,
            18,
        ),
        (&with_prefix, KeyForm::WhsecOrWhpk, KeyKind::Shared, 24),
        (&public, KeyForm::WhsecOrWhpk, KeyKind::Ed25519, 32),
        (&with_prefix, KeyForm::WhsecOrToken, KeyKind::Shared, 24),
        ("any token", KeyForm::WhsecOrToken, KeyKind::Token, 9),
        (PUBLIC_HEX, KeyForm::Ed25519Hex, KeyKind::Ed25519, 32),
        (&upper, KeyForm::Ed25519Hex, KeyKind::Ed25519, 32),
        (PUBLIC_BASE64, KeyForm::Ed25519Base64, KeyKind::Ed25519, 32),
        (P256, KeyForm::SpkiBase64, KeyKind::P256, 91),
    ] {
        let secret = Secret::read(text, form).expect("good");
        assert_eq!(secret.kind(), kind, "{form:?}");
        assert_eq!(secret.bytes().len(), bytes, "{form:?}");
        let spaced = format!("{text}\n");
        assert_eq!(Secret::read(&spaced, form), Err(SecretFault::Padded));
        assert_eq!(
            Secret::read(&format!(" {text}"), form),
            Err(SecretFault::Padded)
        );
        assert_eq!(Secret::read("", form), Err(SecretFault::Empty));
    }
}

#[test]
fn wrong_ones_are_named_by_place_and_length() {
    use SecretFault as Fault;
    let length = |got, wanted| Fault::Length { got, wanted };
    let pasted = format!("v1,{}", whsec(SHARED));
    let private = ["wh", "sk_", PAIR].concat();
    let pair = format!("whpk_{PAIR}");
    let public = format!("whpk_{PUBLIC_BASE64}");
    let short = whsec("AAECAwQFBgcICQoLDA0O");
    let long = whsec(&"AAAA".repeat(43));
    let longest = whsec(&"AAAA".repeat(42));
    assert!(Secret::read(&longest, KeyForm::Whsec).is_ok());
    let spaced = whsec("MfKQ 9r8G");
    let weak = "00".repeat(32);
    let no_point = format!("02{}", "00".repeat(31));
    let cut_p256 = &P256[..P256.len() - 4];
    for (text, form, fault) in [
        ("AA!C", KeyForm::Base64, Fault::NotBase64 { position: 3 }),
        ("AA_-", KeyForm::Base64, Fault::NotBase64 { position: 3 }),
        ("AAECA", KeyForm::Base64, Fault::CutBase64),
        ("AAE==", KeyForm::Base64, Fault::NotBase64 { position: 4 }),
        ("AAF", KeyForm::Base64, Fault::NotBase64 { position: 3 }),
        ("0x00", KeyForm::Hex, Fault::NotHex { position: 2 }),
        ("00f", KeyForm::Hex, Fault::OddHex),
        (&pasted, KeyForm::Whsec, Fault::VersionPasted),
        (&pasted, KeyForm::WhsecOrWhpk, Fault::VersionPasted),
        ("v1a,AAAA", KeyForm::Whsec, Fault::VersionPasted),
        (&public, KeyForm::Whsec, Fault::PublicKey),
        (&private, KeyForm::Whsec, Fault::PrivateKey),
        (&private, KeyForm::WhsecOrWhpk, Fault::PrivateKey),
        (&private, KeyForm::WhsecOrToken, Fault::PrivateKey),
        (&private, KeyForm::Ed25519Base64, Fault::PrivateKey),
        (&pair, KeyForm::WhsecOrWhpk, Fault::PrivateKey),
        (PAIR, KeyForm::Ed25519Base64, Fault::PrivateKey),
        (&short, KeyForm::Whsec, length(15, "16 to 128")),
        (&long, KeyForm::Whsec, length(129, "16 to 128")),
        (&spaced, KeyForm::Whsec, Fault::NotBase64 { position: 11 }),
        (&PUBLIC_HEX[1..], KeyForm::Ed25519Hex, Fault::OddHex),
        (&PUBLIC_HEX[2..], KeyForm::Ed25519Hex, length(31, "32")),
        (SHARED, KeyForm::Ed25519Base64, length(24, "32")),
        (&weak, KeyForm::Ed25519Hex, Fault::NotAKey),
        (&no_point, KeyForm::Ed25519Hex, Fault::NotAKey),
        (cut_p256, KeyForm::SpkiBase64, Fault::NotAKey),
        (PUBLIC_BASE64, KeyForm::SpkiBase64, Fault::NotAKey),
        (
            "-----BEGIN PUBLIC KEY-----",
            KeyForm::SpkiBase64,
            Fault::Pem,
        ),
        ("-----BEGIN PUBLIC KEY-----", KeyForm::Base64, Fault::Pem),
    ] {
        assert_eq!(Secret::read(text, form), Err(fault), "{form:?} {fault}");
    }
}

#[test]
fn faults_say_what_to_do_and_hold_nothing() {
    for (fault, text) in [
        (SecretFault::Empty, "is empty"),
        (SecretFault::Padded, "store it without"),
        (
            SecretFault::VersionPasted,
            "store what stands after the comma",
        ),
        (SecretFault::PublicKey, "wants the shared secret"),
        (
            SecretFault::PrivateKey,
            "Store the public key, and replace the pair",
        ),
        (SecretFault::Pem, "in one line"),
        (
            SecretFault::NotBase64 { position: 7 },
            "is not base64: see character 7",
        ),
        (SecretFault::CutBase64, "cut off"),
        (
            SecretFault::NotHex { position: 7 },
            "is not hex: see character 7",
        ),
        (SecretFault::OddHex, "one digit is missing"),
        (
            SecretFault::Length {
                got: 31,
                wanted: "32",
            },
            "has 31 bytes when decoded; wanted 32",
        ),
        (SecretFault::NotAKey, "no public key"),
    ] {
        assert!(fault.to_string().contains(text), "{fault}");
    }
    let secret = Secret::new("hunter2 with space inside").expect("good");
    assert_eq!(format!("{secret:?}"), "Secret(…)");
}

#[test]
fn white_space_around_is_named_in_every_script() {
    for (text, want) in [
        (" \n", SecretFault::Empty),
        (" a", SecretFault::Padded),
        ("a\n", SecretFault::Padded),
        ("a\u{a0}", SecretFault::Padded),
        ("\ta", SecretFault::Padded),
    ] {
        assert_eq!(Secret::new(text), Err(want), "{text:?}");
    }
}

#[test]
fn secrets_are_equal_by_all_their_bytes_and_their_kind() {
    let secret = |text| Secret::new(text).expect("a secret");
    assert_eq!(secret("development"), secret("development"));
    assert_ne!(secret("development"), secret("developmenT"));
    assert_ne!(secret("development"), secret("developmen"));
    let token = Secret::read("development", KeyForm::WhsecOrToken).expect("a token");
    assert_ne!(secret("development"), token);
}
