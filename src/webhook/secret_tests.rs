//! What is taken for a secret, and how a wrong one is named.

use super::*;

#[test]
fn secrets_stay_secret_and_pasted_space_is_named() {
    let secret = Secret::new("hunter2 with space inside").expect("good");
    assert_eq!(format!("{secret:?}"), "Secret(…)");
    for (text, want) in [
        ("", SecretFault::Empty),
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
fn secrets_are_equal_by_all_their_bytes() {
    let secret = |text| Secret::new(text).expect("a secret");
    assert_eq!(secret("development"), secret("development"));
    assert_ne!(secret("development"), secret("developmenT"));
    assert_ne!(secret("development"), secret("developmen"));
}
