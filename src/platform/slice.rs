//! One slice: from a granted claim to its end.

use super::Functions;
use super::clock;
use super::host::EdgeHost;
use super::log;
use super::selfcall::{self, Continue};
use super::stub;
use crate::function::{Function, Slice, SliceEnd, run_slice};
use crate::http::document::TaskState;
use crate::http::object_call::{Ask, Call, Told};
use crate::limits;
use crate::protocol::{Claim, Claimed, Cursor, StepRecord};
use crate::types::{Input, TaskId};
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;
use worker::Env;

/// A granted claim with what came with it.
pub(super) struct Start {
    pub(super) task_id: TaskId,
    pub(super) claimed: Claimed,
    /// Before the first send of the claim: the lease counts from here.
    pub(super) started_ms: u64,
    pub(super) input: Input,
    pub(super) journal: Vec<StepRecord>,
    /// Where the rest of the journal begins.
    pub(super) more: Option<String>,
    /// The progress that the author has saved.
    pub(super) cursor: Option<Cursor>,
}

impl Start {
    /// When messages under this claim stop being sent.
    fn until_ms(&self) -> u64 {
        let lease_ms = self.claimed.lease_ms;
        self.started_ms + lease_ms.saturating_sub(limits::LEASE_MARGIN_MS.min(lease_ms / 4))
    }
}

/// Runs a function for one slice, and sends its task on if it is not done.
pub(super) async fn run(
    env: Env,
    functions: Functions,
    function: Function,
    mut start: Start,
) -> SliceEnd {
    let until_ms = start.until_ms();
    if !load_journal(&env, &mut start, until_ms).await {
        return SliceEnd::Unreachable;
    }
    let (task_id, fence, attempt) = (
        start.task_id,
        start.claimed.proof.fence,
        start.claimed.attempt,
    );
    let host = Rc::new(EdgeHost {
        env: env.clone(),
        functions,
        task_id,
        until_ms,
        records: Cell::new(0),
    });
    #[cfg(feature = "lab")]
    let cut_ms =
        (start.started_ms + start.claimed.policy.slice_cut_ms).saturating_sub(clock::now_ms());
    let slice = Slice {
        task_id,
        claimed: start.claimed,
        started_ms: start.started_ms,
        input: start.input,
        journal: start.journal,
        cursor: start.cursor,
    };
    let running = run_slice(host, &function, slice);
    // Local engines let a slice run for ever; the lab build ends it as the platform would, without a word.
    #[cfg(feature = "lab")]
    let end = clock::within(cut_ms, running)
        .await
        .unwrap_or(SliceEnd::Unreachable);
    #[cfg(not(feature = "lab"))]
    let end = running.await;
    let how = match &end {
        SliceEnd::Ended(standing) => TaskState::of(&standing.summary).as_str(),
        SliceEnd::Suspended { .. } => "suspended",
        SliceEnd::Stopped => "stopped",
        SliceEnd::Unreachable => "unreachable",
    };
    log::info(
        "slice",
        json!({
            "task_id": task_id.to_string(), "function": function.name(), "attempt": attempt,
            "fence": fence, "end": how, "ms": clock::now_ms().saturating_sub(start.started_ms),
        }),
    );
    if let SliceEnd::Suspended {
        ticket: Some(ticket),
        hop,
    } = &end
    {
        let order = Continue {
            task_id,
            ticket: ticket.clone(),
            hop: *hop,
            held: false,
            function: function.name().to_owned(),
        };
        selfcall::send_on(&env, &order).await;
    }
    end
}

async fn load_journal(env: &Env, start: &mut Start, until_ms: u64) -> bool {
    while let Some(after) = start.more.take() {
        let call = Call {
            task_id: start.task_id,
            ask: Ask::Journal {
                after,
                undoing: start.claimed.undoing,
                show: false,
            },
        };
        match stub::ask(env, &call, until_ms).await.map(|r| r.told) {
            Ok(Told::Journal { records, more, .. }) => {
                start.journal.extend(records);
                start.more = more;
            }
            _ => return false,
        }
    }
    true
}

/// Claims a ticket that came with a continuation, and runs the slice that it grants.
pub(super) async fn go_on(env: Env, functions: Functions, function: Function, order: Continue) {
    let started_ms = clock::now_ms();
    let call = Call {
        task_id: order.task_id,
        ask: Ask::Claim(Claim {
            op: clock::token(),
            ticket: order.ticket,
        }),
    };
    // A claim that is not heard of within the shortest slice is left to the alarm.
    let until_ms = started_ms + limits::TICKET_UNCLAIMED_MS;
    let reply = match stub::ask(&env, &call, until_ms).await {
        Ok(reply) => reply,
        Err(error) => {
            log::error(
                "claim",
                json!({"task_id": order.task_id.to_string(), "error": format!("{error:?}")}),
            );
            return;
        }
    };
    match reply.told {
        Told::Claimed {
            claimed,
            input_headers,
            journal,
            more,
            cursor,
        } => {
            let start = Start {
                task_id: order.task_id,
                claimed: *claimed,
                started_ms,
                input: Input {
                    headers: input_headers.unwrap_or_default(),
                    body: reply.body,
                },
                journal,
                more,
                cursor,
            };
            run(env, functions, function, start).await;
        }
        _ => log::info(
            "claim_refused",
            json!({"task_id": order.task_id.to_string()}),
        ),
    }
}
