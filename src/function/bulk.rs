//! The function that carries out an operation on many tasks: page by page, each of them one step, with its
//! progress saved in between, so that it goes on where it was whatever happens.

use super::ctx::Ctx;
use super::handler::Function;
use super::retry::Retry;
use crate::http::bulk::{Order, Report};
use crate::types::Failure;

/// Its name. No address has it.
pub const BULK: &str = "onceward.bulk";
/// Its one step, in every turn.
const STEP: &str = "page";
/// Tasks in one step.
const PAGE: u64 = 20;

/// Some of the tasks of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkPage {
    /// What is done.
    pub order: Order,
    /// Behind this task.
    pub after: Option<String>,
    /// To how many at most.
    pub most: u64,
}

/// The function.
pub fn bulk() -> Function {
    Function::new(BULK, carry_out)
}

async fn carry_out(ctx: Ctx, order: Order) -> Result<Report, Failure> {
    let mut report: Report = ctx.saved()?.unwrap_or_default();
    loop {
        let left = order.most.saturating_sub(report.matched);
        if left == 0 {
            return Ok(report);
        }
        let page = BulkPage {
            order: order.clone(),
            after: report.next_cursor.clone(),
            most: left.min(PAGE),
        };
        let done: Report = ctx
            .step_scoped(STEP, move |scope| {
                let page = page.clone();
                async move { scope.bulk(page).await }
            })
            .retry(Retry::exponential(10))
            .await?;
        report.add(done);
        if report.next_cursor.is_none() {
            return Ok(report);
        }
        ctx.save(&report).await?;
    }
}
