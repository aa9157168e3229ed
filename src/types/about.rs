//! What a task carries with it for people and other systems: no decision looks at it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is said about a task: labels to find it by, and the trace that it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// By name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Of the delivery that began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

impl About {
    /// True if nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a delivery stands in a trace (W3C Trace Context, `traceparent`, version 00).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Trace {
    /// 32 lower-case hexadecimal digits, not all zero.
    pub id: String,
    /// Whoever sent it: 16 such digits, not all zero.
    pub parent: String,
    /// Whether the caller may have recorded it.
    pub sampled: bool,
    /// `tracestate` as it came; at most 512 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
}

/// Most of a `tracestate` that is passed on: longer ones may be dropped (W3C Trace Context, 3.3.1.5).
const MAX_STATE_CHARS: usize = 512;

impl Trace {
    /// Reads the two fields. What is not well-formed counts as missing, as the standard has it.
    ///
    /// ```
    /// use onceward::types::Trace;
    /// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let trace = Trace::read(Some(text), Some("rojo=1")).unwrap();
    /// assert_eq!((trace.sampled, trace.state.as_str()), (true, "rojo=1"));
    /// assert_eq!(trace.child(255), "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ff-01");
    /// // A later version may have more behind it.
    /// assert!(Trace::read(Some(&format!("01{}-x", &text[2..])), None).is_some());
    /// for wrong in [
    ///     "",
    ///     "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    ///     "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    ///     "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    ///     "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
    ///     "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    /// ] {
    ///     assert_eq!(Trace::read(Some(wrong), None), None, "{wrong}");
    /// }
    /// ```
    pub fn read(parent: Option<&str>, state: Option<&str>) -> Option<Self> {
        let mut parts = parent?.split('-');
        let (version, id, parent, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let alone = parts.next().is_none();
        let fits = is_hex(version, 2)
            && version != "ff"
            && (alone || version != "00")
            && is_id(id, 32)
            && is_id(parent, 16)
            && is_hex(flags, 2);
        if !fits {
            return None;
        }
        let state = state.unwrap_or_default().trim();
        let sound =
            state.len() <= MAX_STATE_CHARS && state.bytes().all(|b| (b' '..=b'~').contains(&b));
        Some(Self {
            id: id.to_owned(),
            parent: parent.to_owned(),
            sampled: u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1),
            state: if sound {
                state.to_owned()
            } else {
                String::new()
            },
        })
    }

    /// The `traceparent` of something that is done in this trace. A span of 0 is none: 1 stands for it.
    pub fn child(&self, span: u64) -> String {
        let flags = u8::from(self.sampled);
        format!("00-{}-{:016x}-{flags:02x}", self.id, span.max(1))
    }
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_id(text: &str, digits: usize) -> bool {
    is_hex(text, digits) && text.bytes().any(|b| b != b'0')
}
