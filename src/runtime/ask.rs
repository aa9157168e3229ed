//! Messages to an object, re-sent with the same content until a reply comes or time is up.

use super::ports::{Broken, Edge};
use super::within;
use crate::function::CallError;
use crate::http::object_call::{Ask, Call, Reply, Told};

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoReply {
    /// The object has too much to do; not to be asked again at once.
    Overloaded,
    /// Nothing came back in time.
    Unreachable(String),
}

impl From<NoReply> for CallError {
    fn from(error: NoReply) -> Self {
        match error {
            NoReply::Overloaded => Self::Unreachable("the object is overloaded".into()),
            NoReply::Unreachable(why) => Self::Unreachable(why),
        }
    }
}

/// First wait before a re-send; doubled up to a second.
const FIRST_WAIT_MS: u64 = 25;
/// Longest wait before a re-send, and the one after an overload.
const LONGEST_WAIT_MS: u64 = 1_000;

/// Asks an object. Each try has a fresh stub, since one that has failed once fails for ever.
pub(super) async fn ask(edge: &Edge, call: &Call, until_ms: u64) -> Result<Reply, NoReply> {
    let mut wait_ms = FIRST_WAIT_MS;
    loop {
        let left = until_ms.saturating_sub(edge.now_ms()).max(1);
        let failed = match within(edge, left, edge.send(call)).await {
            Some(Ok(reply)) => match &reply.told {
                // What a slice has to say is worth a second try; a sender rather hears of it at once.
                Told::Unavailable(why) if is_slices(&call.ask) => NoReply::Unreachable(why.clone()),
                _ => return Ok(reply),
            },
            Some(Err(Broken::Overloaded)) => {
                wait_ms = LONGEST_WAIT_MS;
                NoReply::Overloaded
            }
            Some(Err(Broken::Failed(why))) => NoReply::Unreachable(why),
            None => NoReply::Unreachable("no reply in time".into()),
        };
        let hopeless = failed == NoReply::Overloaded && !is_slices(&call.ask);
        if hopeless || edge.now_ms() + wait_ms >= until_ms {
            return Err(failed);
        }
        edge.sleep(wait_ms).await;
        wait_ms = (wait_ms * 2).min(LONGEST_WAIT_MS);
    }
}

/// Messages of a slice about its own work, which is lost if they are not heard.
fn is_slices(ask: &Ask) -> bool {
    match ask {
        Ask::Record(_) | Ask::Suspend(_) | Ask::Finish(_) | Ask::Journal { .. } => true,
        Ask::Begin { .. }
        | Ask::Claim(_)
        | Ask::Look { .. }
        | Ask::Signal(_)
        | Ask::Cancel { .. }
        | Ask::Abandon { .. }
        | Ask::Retry { .. }
        | Ask::Undo { .. }
        | Ask::Input
        | Ask::Delete
        | Ask::Owner { .. }
        | Ask::Kv(_)
        | Ask::Lock(_)
        | Ask::FlushAgain
        | Ask::Poke => false,
    }
}
