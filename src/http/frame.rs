//! The form of messages between Worker and object, and of what an object keeps of a task.

use serde::Serialize;

/// A JSON head and the bytes that go with it.
///
/// ```
/// use onceward::http::object_call::Frame;
/// let frame = Frame { head: b"{}".to_vec(), blobs: vec![vec![0, 255], Vec::new()] };
/// assert_eq!(Frame::decode(&frame.encode()), Some(frame));
/// assert_eq!(Frame::decode(&[0, 0, 0, 9, 1]), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// JSON.
    pub head: Vec<u8>,
    /// Bytes, in the order that the head implies.
    pub blobs: Vec<Vec<u8>>,
}

impl Frame {
    /// Each part behind its length in four bytes, big-endian.
    ///
    /// # Panics
    /// Never: parts are limited to a few megabytes long before they come here.
    pub fn encode(&self) -> Vec<u8> {
        let parts = || std::iter::once(&self.head).chain(&self.blobs);
        let mut out = Vec::with_capacity(parts().map(|p| p.len() + 4).sum());
        for part in parts() {
            let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(part);
        }
        out
    }

    /// The frame of these bytes; `None` if they are cut off or no frame at all.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut parts = Vec::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
            let (part, rest) = rest.split_at_checked(length)?;
            parts.push(part.to_vec());
            bytes = rest;
        }
        let mut parts = parts.into_iter();
        Some(Self {
            head: parts.next()?,
            blobs: parts.collect(),
        })
    }

    pub(super) fn of(head: &impl Serialize, blobs: Vec<Vec<u8>>) -> Self {
        // These types have string keys and finite numbers only, which always have a JSON form.
        let head = serde_json::to_vec(head).unwrap_or_default();
        Self { head, blobs }
    }
}
