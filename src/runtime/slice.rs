//! One slice: from a granted claim to its end.

use super::Functions;
use super::ask;
use super::go_on::{self, Continue};
use super::host::EdgeHost;
use super::ports::{Edge, Level};
use super::within;
use crate::function::{Function, Slice, SliceEnd, run_slice};
use crate::http::document::TaskState;
use crate::http::object_call::{Ask, Call, Told};
use crate::limits;
use crate::protocol::{Claim, Claimed, Cursor, StepRecord};
use crate::types::{Input, TaskId};
use serde_json::{Value, json};
use std::cell::Cell;
use std::rc::Rc;

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
    edge: Edge,
    functions: Functions,
    function: Function,
    mut start: Start,
) -> SliceEnd {
    let until_ms = start.until_ms();
    if !load_journal(&edge, &mut start, until_ms).await {
        return SliceEnd::Unreachable;
    }
    let task_id = start.task_id;
    let mut line = described(&start.claimed, task_id);
    let host = Rc::new(EdgeHost {
        edge: edge.clone(),
        functions,
        task_id,
        until_ms,
        records: Cell::new(0),
    });
    let cut_ms = edge
        .cut_ms(&start.claimed.policy)
        .map(|ms| (start.started_ms + ms).saturating_sub(edge.now_ms()));
    let slice = Slice {
        task_id,
        claimed: start.claimed,
        started_ms: start.started_ms,
        input: start.input,
        journal: start.journal,
        cursor: start.cursor,
    };
    let running = run_slice(host, &function, slice);
    let end = match cut_ms {
        Some(cut_ms) => within(&edge, cut_ms, running)
            .await
            .unwrap_or(SliceEnd::Unreachable),
        None => running.await,
    };
    let how = match &end {
        SliceEnd::Ended(standing) => TaskState::of(&standing.summary).as_str(),
        SliceEnd::Suspended { .. } => "suspended",
        SliceEnd::Stopped => "stopped",
        SliceEnd::Unreachable => "unreachable",
    };
    let ms = edge.now_ms().saturating_sub(start.started_ms);
    line["end"] = how.into();
    line["ms"] = ms.into();
    edge.point(&[function.name(), "slice", how], &[number(ms)]);
    edge.log(Level::Info, "slice", line);
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
        go_on::send_on(&edge, &order).await;
    }
    end
}

/// What names a slice in the log.
fn described(claimed: &Claimed, task_id: TaskId) -> Value {
    let mut line = json!({
        "task_id": task_id.to_string(), "function": claimed.function, "attempt": claimed.attempt,
        "slice": claimed.slice, "fence": claimed.proof.fence,
    });
    if let Some(trace) = &claimed.about.trace {
        line["trace_id"] = trace.id.as_str().into();
    }
    line
}

#[allow(clippy::cast_precision_loss)] // a time within one slice
fn number(ms: u64) -> f64 {
    ms as f64
}

async fn load_journal(edge: &Edge, start: &mut Start, until_ms: u64) -> bool {
    while let Some(after) = start.more.take() {
        let call = Call {
            task_id: start.task_id,
            ask: Ask::Journal {
                after,
                undoing: start.claimed.undoing,
                show: false,
            },
        };
        match ask::ask(edge, &call, until_ms).await.map(|r| r.told) {
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
pub(super) async fn go_on(edge: Edge, functions: Functions, function: Function, order: Continue) {
    let started_ms = edge.now_ms();
    let call = Call {
        task_id: order.task_id,
        ask: Ask::Claim(Claim {
            op: edge.token(),
            ticket: order.ticket,
        }),
    };
    // A claim that is not heard of within the shortest slice is left to the alarm.
    let until_ms = started_ms + limits::TICKET_UNCLAIMED_MS;
    let reply = match ask::ask(&edge, &call, until_ms).await {
        Ok(reply) => reply,
        Err(error) => {
            edge.log(
                Level::Error,
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
            run(edge, functions, function, start).await;
        }
        _ => edge.log(
            Level::Info,
            "claim_refused",
            json!({"task_id": order.task_id.to_string()}),
        ),
    }
}
