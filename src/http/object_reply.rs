//! What an object says, with the bytes that go with it.

use super::frame::Frame;
use super::object_call::Told;

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
