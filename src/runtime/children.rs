//! Tasks that a slice begins and looks at.

use super::Functions;
use super::ask::{self, NoReply};
use super::delivery;
use super::ports::Edge;
use crate::function::{CallError, ChildBegin, ChildSays, outcome_of};
use crate::http::object_call::{Ask, Call, Told};
use crate::protocol::{Begin, Standing};
use crate::types::{Failure, TaskId};

/// How long another task's object is asked, in milliseconds. The step is tried again later.
const PATIENCE_MS: u64 = 10_000;

/// Until when another task's object is asked by a slice whose own messages end at `slice_until_ms`.
pub(super) fn until_ms(edge: &Edge, slice_until_ms: u64) -> u64 {
    slice_until_ms.min(edge.now_ms() + PATIENCE_MS)
}

/// Begins a task for a step, or joins the one of the same key. Its first slice is started by its own
/// object, as a link of the parent's chain.
pub(super) async fn begin(
    edge: &Edge,
    functions: &Functions,
    begin: ChildBegin,
    until_ms: u64,
) -> Result<ChildSays, CallError> {
    let Some(function) = functions.get(&begin.function) else {
        return Ok(refused(format!(
            "this release has no function {:?}",
            begin.function
        )));
    };
    let policy = match function.check(&begin.input) {
        Ok(checked) => checked.policy.unwrap_or_else(|| function.policy().clone()),
        Err(problems) => {
            let listed: Vec<String> = problems
                .iter()
                .map(|p| format!("{} {}", p.path, p.detail).trim().to_owned())
                .collect();
            return Ok(refused(format!(
                "{:?} does not take this input: {}",
                begin.function,
                listed.join("; ")
            )));
        }
    };
    let input_headers = begin.input.headers.clone();
    let call = Call {
        task_id: begin.key.task_id(),
        ask: Ask::Begin {
            begin: Box::new(Begin {
                op: edge.token(),
                key: begin.key,
                function: begin.function,
                policy,
                fingerprint: begin.fingerprint,
                parts: Vec::new(),
                input: begin.input,
                claims: false,
                hop: begin.hop,
                parent: begin.parent,
                lineage: begin.lineage,
                about: begin.about,
            }),
            input_headers,
            wait_ms: 0,
        },
    };
    match ask::ask(edge, &call, until_ms).await.map(|r| r.told) {
        Ok(Told::Stands(standing)) => Ok(says(&standing)),
        // Without a claim nobody is given one; whatever it means, the task is there.
        Ok(Told::Claimed { .. }) => Ok(ChildSays::Moving),
        Ok(Told::KeyReused | Told::KeyCollision) => {
            Ok(refused("its key belongs to another task".into()))
        }
        Ok(Told::Expired) => Ok(refused("its key is used up".into())),
        Ok(Told::Unavailable(why)) => Err(CallError::Unreachable(why)),
        Ok(other) => Err(CallError::Unreachable(other.name().into())),
        Err(error) => Err(no_reply(error)),
    }
}

/// Where a task stands that a step waits for.
pub(super) async fn look(
    edge: &Edge,
    task_id: TaskId,
    until_ms: u64,
) -> Result<ChildSays, CallError> {
    match delivery::look(edge, task_id, 0, until_ms).await {
        Ok(Some(standing)) => Ok(says(&standing)),
        Ok(None) => Ok(ChildSays::Gone),
        Err(error) => Err(no_reply(error)),
    }
}

fn says(standing: &Standing) -> ChildSays {
    outcome_of(standing).map_or(ChildSays::Moving, ChildSays::Ended)
}

fn refused(why: String) -> ChildSays {
    ChildSays::Refused(Failure::terminal("child_refused", why).cut())
}

fn no_reply(error: NoReply) -> CallError {
    match error {
        NoReply::Overloaded => CallError::Unreachable("the object is overloaded".into()),
        NoReply::Unreachable(why) => CallError::Unreachable(why),
    }
}
