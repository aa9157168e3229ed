//! Who may do what: the gate of a route, and whose tasks a caller sees.

use super::api::{absent, unreachable};
use super::ports::Edge;
use super::serve::TOKEN;
use super::{App, delivery};
use crate::http::auth::{Caller, Gate};
use crate::http::problem::Problem;
use crate::http::route::Access;
use crate::types::TaskId;

/// How long an object is asked whose task it has, before the answer is 503.
const PATIENCE_MS: u64 = 5_000;

/// The gate of a route that asks for this.
pub(super) fn of(edge: &Edge, app: &App, access: Access) -> Gate {
    let tokens = app.tokens().clone();
    let tokens = tokens.with_root(edge.secret(TOKEN).as_deref());
    tokens.at(edge.now_ms()).gate(access)
}

/// Lets a caller go on with a task of its tenant. Another one's is not there for it.
pub(super) async fn own(edge: &Edge, caller: &Caller, id: TaskId) -> Result<(), Problem> {
    if caller.tenant.is_empty() {
        return Ok(());
    }
    let standing = delivery::look(edge, id, 0, edge.now_ms() + PATIENCE_MS).await;
    let standing = standing.map_err(|error| unreachable(edge, id, &error))?;
    match standing {
        Some(standing) if caller.sees(&standing.summary.key.tenant) => Ok(()),
        _ => Err(absent(id)),
    }
}
