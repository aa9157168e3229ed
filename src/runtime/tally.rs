//! Deliveries that ran nothing, counted in memory: a duplicate writes nothing. What is counted goes along
//! with something that writes anyway, so the counts are approximate: an instance that ends takes its own
//! with it.

use super::ports::{Edge, Level};
use super::within;
use crate::limits;
use crate::store::d1::{self, Counts};
use crate::types::Database;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Why a delivery ran nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Its key was known.
    SameKey,
    /// Its signed bytes had come under another key.
    SameBytes,
    /// Its key was known with other content.
    Mismatch,
    /// Its key was used up.
    Late,
}

/// The counts of one instance, by function.
#[derive(Debug, Default)]
pub struct Tally {
    counts: RefCell<BTreeMap<String, Counts>>,
    /// When the first of them was counted.
    since_ms: Cell<u64>,
}

impl Tally {
    pub(super) fn add(&self, function: &str, why: Why, now_ms: u64) {
        let mut all = self.counts.borrow_mut();
        if all.is_empty() {
            self.since_ms.set(now_ms);
        }
        let counts = all.entry(function.to_owned()).or_default();
        let count = match why {
            Why::SameKey => &mut counts.same_key,
            Why::SameBytes => &mut counts.same_bytes,
            Why::Mismatch => &mut counts.mismatch,
            Why::Late => &mut counts.late,
        };
        *count += 1;
    }

    /// Whether there is something that has been here for long enough.
    fn is_due(&self, now_ms: u64) -> bool {
        let old = now_ms.saturating_sub(self.since_ms.get()) >= limits::TALLY_MS;
        old && !self.counts.borrow().is_empty()
    }

    fn put_back(&self, counts: BTreeMap<String, Counts>) {
        let mut all = self.counts.borrow_mut();
        for (function, more) in counts {
            let counts = all.entry(function).or_default();
            counts.same_key += more.same_key;
            counts.same_bytes += more.same_bytes;
            counts.mismatch += more.mismatch;
            counts.late += more.late;
        }
    }
}

/// Has the counts written beside something that writes anyway, now and then.
pub(super) fn ride(edge: &Edge) {
    if edge.tally().is_due(edge.now_ms()) {
        let own = edge.clone();
        edge.wait_until(Box::pin(async move { write(&own).await }));
    }
}

/// Writes what was counted. What D1 refuses is kept for the next time; a write that was not heard of may
/// count twice.
pub(super) async fn write(edge: &Edge) {
    let now_ms = edge.now_ms();
    let counts = edge.tally().counts.take();
    if counts.is_empty() {
        return;
    }
    let statements = counts
        .iter()
        .map(|(function, counts)| d1::count_duplicates(now_ms, function, *counts));
    let sent = edge.d1(Database::default(), statements.collect());
    let written = within(edge, limits::FLUSH_TIMEOUT_MS, sent).await;
    if let Some(Err(error)) = written {
        edge.tally().put_back(counts);
        edge.log(Level::Error, "tally", json!({ "error": error }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_taken_once_and_can_come_back() {
        let tally = Tally::default();
        assert!(!tally.is_due(1 << 40), "there is nothing");
        for why in [
            Why::SameKey,
            Why::SameKey,
            Why::Mismatch,
            Why::Late,
            Why::SameBytes,
        ] {
            tally.add("f", why, 5);
        }
        assert!(!tally.is_due(5 + limits::TALLY_MS - 1));
        assert!(tally.is_due(5 + limits::TALLY_MS));
        let taken = tally.counts.take();
        let wanted = Counts {
            same_key: 2,
            same_bytes: 1,
            mismatch: 1,
            late: 1,
        };
        assert_eq!(taken["f"], wanted);
        assert!(!tally.is_due(1 << 40));
        tally.add("f", Why::SameKey, 9);
        tally.put_back(taken);
        assert_eq!(tally.counts.take()["f"].same_key, 3);
    }
}
