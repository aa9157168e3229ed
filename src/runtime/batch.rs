//! A delivery with many events: a task for each, all of them accepted before it is answered.

use super::App;
use super::delivery::Delivery;
use super::ingress;
use super::ports::Edge;
use super::serve::Exchange;
use crate::config::Source;
use crate::http::admit::Admitted;
use crate::http::answer::Standing;
use crate::http::code::Code;
use crate::http::problem::Problem;
use crate::http::split::{self, Outcome};
use crate::limits::SPLIT_AT_A_TIME;
use crate::types::Answer;
use futures::stream::{StreamExt as _, TryStreamExt as _, iter};

/// Begins or joins the task of each item. The slices run in invocations of their own: there is no time for all
/// of them in this one.
///
/// # Errors
/// An item that the function does not take, before anything has begun; 503 if a task could not be begun: those
/// that were go on, and meet the repeat as duplicates.
pub(super) async fn carry(
    items: Vec<Admitted>,
    source: &Source,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    let mut deliveries = Vec::with_capacity(items.len());
    for mut admitted in items {
        let (function, policy) = ingress::checked(&admitted, Some(source), app)?;
        ingress::label(&mut admitted, Some(source), function);
        deliveries.push(Delivery {
            edge,
            function,
            functions: app.shared_functions(),
            policy,
            admitted,
            started_ms: exchange.started_ms,
            claims: false,
            known_bytes: false,
        });
    }
    let begun = iter(deliveries).map(begin).buffered(SPLIT_AT_A_TIME);
    let outcomes: Vec<Outcome> = begun.try_collect().await?;
    Ok(split::answer(&outcomes))
}

async fn begin(delivery: Delivery<'_>) -> Result<Outcome, Problem> {
    let task_id = delivery.task_id();
    let standing = delivery.begin_only().await.map_err(|why| {
        Problem::new(
            Code::Unavailable,
            "A task could not be begun. Send the same delivery again: each of its events runs once at most.",
        )
        .task(task_id)
        .because(why)
    })?;
    let now_ms = delivery.edge.now_ms();
    let ended = !matches!(
        Standing::of(&standing, now_ms),
        Some(Standing::Running | Standing::Waiting { .. } | Standing::FailedResumable)
    );
    Ok(Outcome {
        task_id,
        ended,
        repeated: !standing.began,
    })
}
