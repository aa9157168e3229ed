use super::*;

fn deployed(pointer: &Pointer, digest: &str) -> Pointer {
    let next = pointer.with_deployed(digest, "ops", Vec::new(), 5);
    next.unwrap_or_else(|| panic!("{digest} is new"))
}

fn serves(pointer: &Pointer, bundled: Option<&str>) -> Option<(u64, String)> {
    match pointer.serving(bundled) {
        Serving::Revision(r) => Some((r.revision, r.digest.clone())),
        Serving::New | Serving::Nothing => None,
    }
}

#[test]
fn what_was_deployed_counts_until_it_is_deleted() {
    let bundled = Pointer::default().with_bundled("b", 1).expect("new");
    assert_eq!(serves(&bundled, Some("b")), Some((1, "b".into())));
    // Without it a release that has no such flow serves none.
    assert_eq!(bundled.serving(None), Serving::Nothing);
    let over = deployed(&bundled, "a");
    assert_eq!(serves(&over, Some("b")), Some((2, "a".into())));
    assert_eq!(serves(&over, None), Some((2, "a".into())));
    let back = over.without_deployed().expect("deleted");
    assert_eq!(serves(&back, Some("b")), Some((1, "b".into())));
    assert_eq!(back.serving(None), Serving::Nothing);
    assert_eq!(back.without_deployed(), None);
    // A new one of the same text is another revision.
    assert_eq!(serves(&deployed(&back, "a"), None), Some((3, "a".into())));
}

#[test]
fn the_same_again_changes_nothing() {
    let one = deployed(&Pointer::default(), "a");
    assert_eq!(one.with_deployed("a", "other", Vec::new(), 9), None);
    assert_eq!(one.with_bundled("a", 9), None);
    assert_eq!(one.with_disabled(false), None);
    let closed = one.with_disabled(true).expect("changed");
    assert_eq!(closed.with_disabled(true), None);
    // Back to an old text is a revision of its own.
    let back = deployed(&deployed(&closed, "b"), "a");
    assert_eq!(serves(&back, None), Some((3, "a".into())));
    assert!(back.disabled, "a new text does not open it");
    assert!(!back.without_deployed().expect("deleted").disabled);
}

#[test]
fn two_releases_beside_each_other_have_their_own() {
    let both = Pointer::default().with_bundled("old", 1).expect("new");
    let both = both.with_bundled("new", 2).expect("new");
    assert_eq!(serves(&both, Some("old")), Some((1, "old".into())));
    assert_eq!(serves(&both, Some("new")), Some((2, "new".into())));
    assert_eq!(both.serving(Some("next")), Serving::New);
}

#[test]
fn old_revisions_go_but_never_the_current_one() {
    let mut pointer = deployed(&Pointer::default(), "kept");
    for n in 0..2 * MAX_FLOW_REVISIONS {
        pointer = pointer.with_bundled(&format!("b{n}"), 7).expect("new");
    }
    assert_eq!(pointer.revisions.len(), MAX_FLOW_REVISIONS);
    assert_eq!(serves(&pointer, None), Some((1, "kept".into())));
    let last = pointer.revisions.last().expect("some").revision;
    assert_eq!(last, 2 * MAX_FLOW_REVISIONS as u64 + 1);
    assert_eq!(
        serves(&deployed(&pointer, "z"), None),
        Some((last + 1, "z".into()))
    );
}

#[test]
fn what_an_older_release_wrote_is_read() {
    let read: Pointer = serde_json::from_str(r#"{"later": 1}"#).expect("read");
    assert_eq!(read, Pointer::default());
    let full = deployed(&Pointer::default(), "a");
    let text = serde_json::to_string(&full).expect("JSON");
    assert_eq!(serde_json::from_str::<Pointer>(&text).expect("read"), full);
}
