//! Which text a flow has: the release's own, or the one that was deployed at run time. Texts are kept by their digest
//! and never change; which of them counts is a value that changes only if nobody else has changed it meanwhile. A text
//! is stored before it counts.

use super::super::kv;
use super::super::ports::Edge;
use crate::config::Flows;
use crate::flow::kv::{KvCall, KvOp, KvReply, KvType, KvWhen};
use crate::flow::model::Flow;
use crate::function::flow::{FlowRef, digest, prepare, ready};
use crate::http::flows::{FlowName, POINTERS, Pointer, Revision, Serving, TEXTS};
use serde_json::Value;
use std::rc::Rc;

/// Changes that are tried before somebody else's turn is waited for no longer.
const CHANGES: u32 = 5;

/// What is known of flows, for as long as somebody waits for it.
pub(in crate::runtime) struct Registry<'a> {
    pub(in crate::runtime) edge: &'a Edge,
    pub(in crate::runtime) flows: &'a Flows,
    /// Until then objects are asked.
    pub(in crate::runtime) until_ms: u64,
}

/// Why it is not known what a flow is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Lost {
    /// An object does not answer.
    Unreachable(String),
    /// This release does not read its text.
    Unreadable(String),
}

/// A flow, as it is now.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct Current {
    /// Which revision.
    pub(in crate::runtime) revision: FlowRef,
    /// What is in it.
    pub(in crate::runtime) flow: Rc<Flow>,
    /// Since when it is known, in milliseconds since 1970.
    pub(in crate::runtime) since_ms: u64,
    /// Whether it takes nothing.
    pub(in crate::runtime) disabled: bool,
}

/// What came of a change.
pub(super) struct Changed {
    /// As it is now.
    pub(super) pointer: Pointer,
    /// As it was before; the same if nothing was changed.
    pub(super) before: Pointer,
}

impl Registry<'_> {
    async fn ask(&self, namespace: &str, key: &str, op: KvOp) -> Result<KvReply, Lost> {
        let call = KvCall {
            namespace: namespace.to_owned(),
            key: key.to_owned(),
            op,
            // The same when the message is sent again.
            mark: self.edge.token().as_str().to_owned(),
        };
        let reply = kv::ask(self.edge, call, self.until_ms).await;
        reply.map_err(|error| Lost::Unreachable(format!("{error:?}")))
    }

    /// What is kept of a flow, and its version; `None` of one that nothing is known of.
    async fn kept(&self, name: &FlowName) -> Result<(Pointer, Option<u64>), Lost> {
        let entry = match self.ask(POINTERS, &Pointer::key(name), KvOp::Get).await? {
            KvReply::Found(entry) => entry,
            KvReply::Set { .. } | KvReply::Refused(_) | KvReply::Deleted(_) => None,
        };
        let Some(entry) = entry else {
            self.flows
                .hear(name, &Pointer::default(), self.edge.now_ms());
            return Ok((Pointer::default(), None));
        };
        let pointer: Pointer = serde_json::from_value(entry.value)
            .map_err(|error| Lost::Unreachable(format!("a pointer that is none: {error}")))?;
        self.flows.hear(name, &pointer, self.edge.now_ms());
        Ok((pointer, Some(entry.version)))
    }

    /// What is kept of a flow: as it was a moment ago.
    pub(super) async fn heard(&self, name: &FlowName) -> Result<Pointer, Lost> {
        if let Some(pointer) = self.flows.heard(name, self.edge.now_ms()) {
            return Ok(pointer);
        }
        Ok(self.kept(name).await?.0)
    }

    /// The same, as it is.
    pub(super) async fn pointer(&self, name: &FlowName) -> Result<Pointer, Lost> {
        Ok(self.kept(name).await?.0)
    }

    /// Changes what is kept of a flow; `make` is asked again when somebody else has changed it meanwhile, and says
    /// `None` if there is nothing to change.
    pub(super) async fn change<E: From<Lost>>(
        &self,
        name: &FlowName,
        make: impl Fn(&Pointer) -> Result<Option<Pointer>, E>,
    ) -> Result<Changed, E> {
        for _ in 0..CHANGES {
            let (before, version) = self.kept(name).await?;
            let Some(pointer) = make(&before)? else {
                let pointer = before.clone();
                return Ok(Changed { pointer, before });
            };
            let op = KvOp::Set {
                value: serde_json::to_value(&pointer).unwrap_or_default(),
                kind: KvType::Json,
                ttl_ms: None,
                when: version.map_or(KvWhen::Missing, KvWhen::Version),
            };
            if let KvReply::Set { .. } = self.ask(POINTERS, &Pointer::key(name), op).await? {
                self.flows.hear(name, &pointer, self.edge.now_ms());
                return Ok(Changed { pointer, before });
            }
        }
        let why = "others change this flow all the time";
        Err(E::from(Lost::Unreachable(why.to_owned())))
    }

    /// Keeps a text.
    pub(super) async fn put_text(&self, text: &str) -> Result<(), Lost> {
        let op = KvOp::Set {
            value: text.into(),
            kind: KvType::String,
            ttl_ms: None,
            when: KvWhen::Missing,
        };
        match self.ask(TEXTS, &digest(text), op).await? {
            // One that is there is the same.
            KvReply::Set { .. } | KvReply::Refused(_) => Ok(()),
            KvReply::Found(_) | KvReply::Deleted(_) => {
                let why = "an answer to another question";
                Err(Lost::Unreachable(why.to_owned()))
            }
        }
    }

    /// A text by its digest; `None` if there is none.
    pub(in crate::runtime) async fn text(&self, digest: &str) -> Result<Option<String>, Lost> {
        if let Some(bundled) = self.flows.of_digest(digest) {
            return Ok(Some(bundled.text.clone()));
        }
        match self.ask(TEXTS, digest, KvOp::Get).await? {
            KvReply::Found(Some(entry)) => Ok(match entry.value {
                Value::String(text) => Some(text),
                _ => None,
            }),
            _ => Ok(None),
        }
    }

    /// What this release reads in a text.
    pub(super) async fn flow(&self, digest: &str) -> Result<Rc<Flow>, Lost> {
        if let Some(bundled) = self.flows.of_digest(digest) {
            return Ok(Rc::clone(&bundled.flow));
        }
        if let Some(flow) = ready(digest) {
            return Ok(flow);
        }
        let text = self.text(digest).await?;
        // It was stored before anything named it.
        let text = text.ok_or_else(|| Lost::Unreachable(format!("no text {digest}")))?;
        prepare(&text).map_err(|problems| {
            let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Lost::Unreadable(listed.join("; "))
        })
    }

    /// The revision that a flow has now, and what is kept of it. The release's own gets one when it is first used.
    pub(super) async fn serving(
        &self,
        name: &FlowName,
        pointer: Pointer,
    ) -> Result<(Pointer, Option<Revision>), Lost> {
        let bundled = self.flows.of_name(name);
        let own = bundled.map(|bundled| bundled.digest.as_str());
        let found = match pointer.serving(own) {
            Serving::Revision(revision) => Some(Some(revision.clone())),
            Serving::Nothing => Some(None),
            Serving::New => None,
        };
        if let Some(revision) = found {
            return Ok((pointer, revision));
        }
        let Some(bundled) = bundled else {
            return Ok((pointer, None));
        };
        self.put_text(&bundled.text).await?;
        let now_ms = self.edge.now_ms();
        let make = |pointer: &Pointer| Ok(pointer.with_bundled(&bundled.digest, now_ms));
        let changed = self.change::<Lost>(name, make).await?;
        let revision = match changed.pointer.serving(own) {
            Serving::Revision(revision) => Some(revision.clone()),
            Serving::New | Serving::Nothing => None,
        };
        Ok((changed.pointer, revision))
    }

    /// A flow as it is now; `None` if there is none.
    pub(in crate::runtime) async fn current(
        &self,
        name: &FlowName,
    ) -> Result<Option<Current>, Lost> {
        let pointer = self.heard(name).await?;
        let (pointer, revision) = self.serving(name, pointer).await?;
        let Some(revision) = revision else {
            return Ok(None);
        };
        let flow = self.flow(&revision.digest).await?;
        Ok(Some(Current {
            revision: FlowRef {
                namespace: name.namespace.clone(),
                id: name.id.clone(),
                revision: revision.revision,
                digest: revision.digest,
            },
            since_ms: pointer.revisions.first().map_or(0, |first| first.at_ms),
            disabled: pointer.disabled || flow.disabled,
            flow,
        }))
    }
}
