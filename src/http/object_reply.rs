//! What an object says, with the bytes that go with it.

use super::frame::Frame;
use super::object_call::Told;
use crate::protocol::{Lost, Version};
use serde::{Deserialize, Serialize};

impl Told {
    /// Its name, for logs: what it holds does not belong there.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Claimed { .. } => "claimed",
            Self::Stands(_) => "stands",
            Self::Stale(_) => "stale",
            Self::InProgress(_) => "in_progress",
            Self::KeyReused => "key_reused",
            Self::Expired => "expired",
            Self::KeyCollision => "key_collision",
            Self::Refused => "refused",
            Self::Recorded { .. } => "recorded",
            Self::Suspended { .. } => "suspended",
            Self::Journal { .. } => "journal",
            Self::GoOn { .. } => "go_on",
            Self::Signalled { .. } => "signalled",
            Self::MailboxFull => "mailbox_full",
            Self::Ended(_) => "ended",
            Self::Planned(_) => "planned",
            Self::NoSuchStep => "no_such_step",
            Self::Input { .. } => "input",
            Self::Owner { .. } => "owner",
            Self::Kv { .. } => "kv",
            Self::Lock { .. } => "lock",
            Self::NotFound => "not_found",
            Self::Done => "done",
            Self::Unavailable(_) => "unavailable",
        }
    }
}

/// What an object found that was asked to look at itself. It goes with `Done` as bytes, which older Workers
/// don't look at and older objects don't send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Poked {
    /// What was missing that should make its task go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// Whether that is there again.
    pub healed: bool,
    /// What D1 has acknowledged, if it is owed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Version>,
}

/// An answer with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub told: Told,
    /// The bytes that go with it.
    pub body: Vec<u8>,
}

impl Reply {
    /// An answer without bytes.
    pub fn of(told: Told) -> Self {
        Self {
            told,
            body: Vec::new(),
        }
    }

    /// What an object found that looked at itself.
    pub fn poked(poked: &Poked) -> Self {
        Self {
            told: Told::Done,
            body: serde_json::to_vec(poked).unwrap_or_default(),
        }
    }

    /// What the object found; nothing, from one that does not say.
    ///
    /// ```
    /// use onceward::http::object_call::{Poked, Reply, Told};
    /// use onceward::protocol::Lost;
    /// let poked = Poked { lost: Some(Lost::Alarm), healed: true, acknowledged: None };
    /// assert_eq!(Reply::poked(&poked).as_poked(), poked);
    /// assert_eq!(Reply::of(Told::Done).as_poked(), Poked::default());
    /// ```
    pub fn as_poked(&self) -> Poked {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// As it is sent.
    pub fn to_frame(&self) -> Frame {
        Frame::of(&self.told, vec![self.body.clone()])
    }

    /// As it arrives; the bytes of a stored answer are put where they belong.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn from_frame(frame: Frame) -> Result<Self, String> {
        let mut told: Told =
            serde_json::from_slice(&frame.head).map_err(|e| format!("bad reply: {e}"))?;
        let body = frame.blobs.into_iter().next().unwrap_or_default();
        if let Told::Stands(standing)
        | Told::Stale(standing)
        | Told::InProgress(standing)
        | Told::Ended(standing) = &mut told
            && let Some(answer) = &mut standing.answer
        {
            answer.body.clone_from(&body);
        }
        Ok(Self { told, body })
    }
}
