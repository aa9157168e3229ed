//! What is known of a flow beside its texts: its revisions, and which of them is the one. Decided here, kept as a
//! value of the key-value store, and changed only if nobody else has changed it meanwhile.

use super::FlowName;
use crate::flow::model::{Flow, Trigger};
use crate::limits::MAX_FLOW_REVISIONS;
use serde::{Deserialize, Serialize};

/// The namespace that the pointers of all flows are kept in. No flow can have it.
pub const POINTERS: &str = "%flows";
/// The namespace that their texts are kept in, by digest.
pub const TEXTS: &str = "%flow-texts";

/// Where a revision comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It was deployed at run time.
    Api,
    /// It belongs to a release.
    Bundle,
}

impl Origin {
    /// The word in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Bundle => "bundle",
        }
    }
}

/// A text that the flow has had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// 1, 2, …
    pub revision: u64,
    /// Hexadecimal SHA-256 of the text.
    pub digest: String,
    /// Since when, in milliseconds since 1970.
    pub at_ms: u64,
    /// Name of the token that deployed it; empty for a release.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Where it comes from.
    pub source: Origin,
}

/// A trigger, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerLine {
    /// Its id.
    pub id: String,
    /// `Webhook`, `Schedule` or `Flow`.
    #[serde(rename = "type")]
    pub kind: String,
}

impl TriggerLine {
    /// Those of a flow.
    pub fn of(flow: &Flow) -> Vec<Self> {
        let line = |id: &str, kind: &str| Self {
            id: id.to_owned(),
            kind: kind.to_owned(),
        };
        let triggers = flow.triggers.iter();
        let lines = triggers.map(|trigger| match trigger {
            Trigger::Webhook(webhook) => line(&webhook.id, "Webhook"),
            Trigger::Schedule(schedule) => line(&schedule.id, "Schedule"),
            Trigger::Flow(end) => line(&end.id, "Flow"),
        });
        lines.collect()
    }
}

/// What is kept of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pointer {
    /// The last ones, the oldest first.
    pub revisions: Vec<Revision>,
    /// The one that was deployed at run time; without one the release's own counts.
    pub current: Option<u64>,
    /// Whether it takes nothing.
    pub disabled: bool,
    /// Triggers of what was deployed at run time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerLine>,
}

/// Which text a flow has now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving<'a> {
    /// This one.
    Revision(&'a Revision),
    /// The release's own, which has no revision yet.
    New,
    /// None: there is no such flow.
    Nothing,
}

impl Pointer {
    /// The key that it is kept under.
    pub fn key(name: &FlowName) -> String {
        name.to_string()
    }

    /// A revision by its number.
    pub fn revision(&self, number: u64) -> Option<&Revision> {
        self.revisions.iter().find(|r| r.revision == number)
    }

    /// The last revision with this text.
    pub fn of_digest(&self, digest: &str) -> Option<&Revision> {
        self.revisions.iter().rev().find(|r| r.digest == digest)
    }

    /// What was deployed at run time.
    pub fn deployed(&self) -> Option<&Revision> {
        self.revision(self.current?)
    }

    /// Which text it has, for an instance whose release has a text of this digest.
    ///
    /// ```
    /// use onceward::http::flows::{Pointer, Serving};
    /// let none = Pointer::default();
    /// assert_eq!(none.serving(None), Serving::Nothing);
    /// assert_eq!(none.serving(Some("d1")), Serving::New);
    /// let known = none.with_bundled("d1", 1_000).unwrap();
    /// let Serving::Revision(first) = known.serving(Some("d1")) else { panic!("it has one") };
    /// assert_eq!(first.revision, 1);
    /// let over = known.with_deployed("d2", "ops", Vec::new(), 2_000).unwrap();
    /// let Serving::Revision(second) = over.serving(Some("d1")) else { panic!("it has one") };
    /// assert_eq!((second.revision, second.digest.as_str()), (2, "d2"));
    /// ```
    pub fn serving(&self, bundled: Option<&str>) -> Serving<'_> {
        match (self.deployed(), bundled) {
            (Some(revision), _) => Serving::Revision(revision),
            (None, Some(digest)) => match self.of_digest(digest) {
                Some(revision) => Serving::Revision(revision),
                None => Serving::New,
            },
            (None, None) => Serving::Nothing,
        }
    }

    /// With a text of a release; `None` if it is known.
    #[must_use]
    pub fn with_bundled(&self, digest: &str, now_ms: u64) -> Option<Self> {
        if self.of_digest(digest).is_some() {
            return None;
        }
        Some(self.and(digest, "", Origin::Bundle, now_ms))
    }

    /// With a text that is deployed at run time; `None` if it is the one already.
    #[must_use]
    pub fn with_deployed(
        &self,
        digest: &str,
        by: &str,
        triggers: Vec<TriggerLine>,
        now_ms: u64,
    ) -> Option<Self> {
        if self.deployed().is_some_and(|r| r.digest == digest) {
            return None;
        }
        let mut next = self.and(digest, by, Origin::Api, now_ms);
        next.current = next.revisions.last().map(|r| r.revision);
        next.triggers = triggers;
        Some(next)
    }

    /// Taking deliveries or not; `None` if it is so already.
    #[must_use]
    pub fn with_disabled(&self, disabled: bool) -> Option<Self> {
        (self.disabled != disabled).then(|| Self {
            disabled,
            ..self.clone()
        })
    }

    /// Without what was deployed at run time; `None` if nothing was.
    #[must_use]
    pub fn without_deployed(&self) -> Option<Self> {
        self.current.map(|_| Self {
            current: None,
            disabled: false,
            triggers: Vec::new(),
            revisions: self.revisions.clone(),
        })
    }

    fn and(&self, digest: &str, by: &str, source: Origin, now_ms: u64) -> Self {
        let mut next = self.clone();
        let last = next.revisions.last().map_or(0, |r| r.revision);
        next.revisions.push(Revision {
            revision: last + 1,
            digest: digest.to_owned(),
            at_ms: now_ms,
            by: by.to_owned(),
            source,
        });
        let current = next.current;
        while next.revisions.len() > MAX_FLOW_REVISIONS {
            // Never the one that counts.
            let oldest = next
                .revisions
                .iter()
                .position(|r| Some(r.revision) != current);
            next.revisions.remove(oldest.unwrap_or(0));
        }
        next
    }
}

#[cfg(test)]
#[path = "pointer_tests.rs"]
mod tests;
