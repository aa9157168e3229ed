//! What is left in the end: nothing lost, nothing stuck, signals and children taken once, D1 in agreement.

use super::{Court, KeyHistory, Row};
use serde_json::Value;

pub(super) const LOST: &str = "what is accepted ends, or waits for something with a name";

pub(super) fn judge(court: &mut Court<'_>) {
    let key = court.key;
    let state = key.end_state();
    if state.is_empty() {
        court.require(!key.is_accepted(), LOST, || {
            "there is no such task".to_owned()
        });
        court.require(
            key.effects.is_empty(),
            "what is not accepted does nothing",
            || format!("{} calls", key.effects.len()),
        );
        return;
    }
    court.require(key.is_at_rest(), LOST, || format!("{:?}", key.end.document));
    as_planned(court, state);
    signals(court);
    children(court);
    row(court);
}

fn as_planned(court: &mut Court<'_>, state: &str) {
    let key = court.key;
    // A wish without an answer may have been granted.
    let cancelled = key
        .wishes
        .iter()
        .any(|w| w.what == "cancel" && matches!(w.status, 0 | 200 | 202 | 503));
    let fits = match state {
        "cancelled" => cancelled,
        "suspended" => key.plan.waits,
        "failed" if key.plan.one_attempt && is_half_known(key) => true,
        state => key.plan.ends == state,
    };
    court.require(fits, "it ends as its program says", || {
        format!("{state}, not {}: {:?}", key.plan.ends, key.end.document)
    });
}

/// It failed by a kill or an answer that never came, and nobody knows whether a call had happened: that is for an
/// operator.
fn is_half_known(key: &KeyHistory) -> bool {
    key.end.document.as_ref().is_some_and(|document| {
        document["undone"] == "partial" && document["not_undone"][0]["code"] == "outcome_unknown"
    })
}

/// Each signal step has a payload that was sent, and no payload is taken twice.
fn signals(court: &mut Court<'_>) {
    let key = court.key;
    let taken: Vec<&Value> = key.taken().collect();
    for (index, payload) in taken.iter().enumerate() {
        court.require(
            key.signals.contains(payload),
            "a signal is what somebody sent",
            || format!("{payload}"),
        );
        court.require(
            !taken[..index].contains(payload),
            "a signal is taken once",
            || format!("{payload} twice"),
        );
    }
}

fn children(court: &mut Court<'_>) {
    let key = court.key;
    for (shown, own) in &key.end.children {
        court.require(shown == own, "a child has one answer", || {
            format!("its parent has {shown}, itself {own}")
        });
    }
}

/// The row is that of the object, and has no answer that the object has not.
fn row(court: &mut Court<'_>) {
    let key = court.key;
    let Some(document) = &key.end.document else {
        return;
    };
    let expected = Row {
        state: key.end_state().to_owned(),
        generation: document["generation"].as_u64().unwrap_or(0),
        answer: None,
    };
    let row = key.end.row.clone().map(|row| Row {
        answer: None,
        ..row
    });
    court.require(
        row.as_ref() == Some(&expected),
        "D1 agrees in the end",
        || format!("{row:?}, not {expected:?}"),
    );
}
