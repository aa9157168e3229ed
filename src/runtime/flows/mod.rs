//! Flows: which there are, their addresses, and what operators do with them.

mod call;
mod change;
mod hook;
mod listen;
mod registry;
mod show;

pub(super) use call::call;
pub(super) use change::{delete, put, set_disabled};
pub(super) use hook::hook;
pub(super) use listen::{listeners, names_in};
pub(super) use registry::{Lost, Registry};
pub(super) use show::{diff, list, revisions, show};

use super::App;
use super::delivery::{Carried, Delivery};
use super::ports::{Edge, Level};
use super::serve::{Exchange, TOKEN};
use crate::http::code::Code;
use crate::http::flows::{Begins, FlowName};
use crate::http::problem::Problem;
use serde_json::json;

/// How long the objects of a flow are asked while a sender waits, in milliseconds: senders wait 3 s at the least.
const PATIENCE_MS: u64 = 2_000;

/// What is known of flows, for a request.
fn registry<'a>(edge: &'a Edge, app: &'a App) -> Registry<'a> {
    Registry {
        edge,
        flows: app.flows(),
        until_ms: edge.now_ms() + PATIENCE_MS,
    }
}

/// A secret that flows may use: never the API token.
fn secret(edge: &Edge, name: &str) -> Option<String> {
    (name != TOKEN).then(|| edge.secret(name)).flatten()
}

/// The refusal of what needs a flow that cannot be told now.
fn lost(edge: &Edge, name: &FlowName, lost: Lost) -> Problem {
    let (code, detail, why) = match lost {
        Lost::Unreachable(why) => (
            Code::Unavailable,
            "It cannot be told now which text this flow has. Nothing was accepted: send it again.",
            why,
        ),
        Lost::Unreadable(why) => (
            Code::Misconfigured,
            "This release cannot read the flow's text. Nothing was accepted: send it again later.",
            why,
        ),
    };
    let fields = json!({ "flow": name.to_string(), "error": why });
    edge.log(Level::Error, "flow_lost", fields);
    Problem::new(code, detail)
}

fn disabled() -> Problem {
    Problem::new(Code::FlowDisabled, "The flow takes nothing now.")
}

/// Begins what was admitted, or joins it.
async fn begin(
    begins: Begins,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
) -> Result<Carried, Problem> {
    let function = app.function(&begins.admitted.function).ok_or_else(|| {
        let why = "this release has no function that runs flows";
        Problem::new(Code::Misconfigured, "This deployment runs no flows.").because(why)
    })?;
    let delivery = Delivery {
        edge,
        function,
        functions: app.shared_functions(),
        policy: begins.policy,
        admitted: begins.admitted,
        started_ms: exchange.started_ms,
        claims: true,
        known_bytes: false,
    };
    Ok(delivery.carry().await)
}
