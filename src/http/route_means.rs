//! What a request means, and what is made of the segments of its address.

use super::bulk::Operation;
use super::code::Code;
use super::flows::{FlowHookAt, FlowName};
use super::gateway::check_tail;
use super::problem::Problem;
use crate::config::is_route_name;
use crate::function::is_signal_name;
use crate::limits::MAX_SIGNAL_NAME_CHARS;
use crate::types::{TaskId, TaskKind};

/// What a request means, with the names that its address holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// A webhook delivery.
    Hook {
        /// The source.
        source: String,
    },
    /// A webhook delivery of one tenant.
    TenantHook {
        /// The source.
        source: String,
        /// The tenant.
        tenant: String,
    },
    /// A delivery at a webhook of a flow.
    FlowHook {
        /// Where.
        at: FlowHookAt,
    },
    /// The list of flows.
    ListFlows,
    /// One flow.
    Flow {
        /// Its name.
        name: FlowName,
        /// What is to be done.
        act: FlowAct,
    },
    /// The schema of texts of flows.
    FlowSchema,
    /// A call of a function.
    Call {
        /// The function.
        name: String,
    },
    /// A request to the origin of a gateway.
    Proxy {
        /// The gateway.
        name: String,
        /// What stands behind its name: empty, or a path with its slash.
        tail: String,
    },
    /// The list of tasks.
    ListTasks,
    /// One task.
    ShowTask {
        /// Its id.
        id: TaskId,
    },
    /// Forget a task.
    ForgetTask {
        /// Its id.
        id: TaskId,
    },
    /// The events of many tasks.
    Events,
    /// The events of a task.
    TaskEvents {
        /// Its id.
        id: TaskId,
    },
    /// An operation on all tasks that match.
    Bulk {
        /// What is done to each.
        operation: Operation,
    },
    /// Where operators are told.
    Endpoints,
    /// Tell an endpoint again.
    EnableEndpoint {
        /// Its name.
        name: String,
    },
    /// The records of a task.
    ShowJournal {
        /// Its id.
        id: TaskId,
    },
    /// The stored answer of a task.
    ShowAnswer {
        /// Its id.
        id: TaskId,
    },
    /// What a task was sent.
    ShowInput {
        /// Its id.
        id: TaskId,
    },
    /// Forget the task of a key.
    Erase,
    /// What operators did.
    ListAudit,
    /// A signal to a task.
    Signal {
        /// Its id.
        id: TaskId,
        /// The signal.
        name: String,
    },
    /// End a task.
    CancelTask {
        /// Its id.
        id: TaskId,
    },
    /// Try a task again.
    RetryTask {
        /// Its id.
        id: TaskId,
    },
    /// Undo what a task did.
    UndoTask {
        /// Its id.
        id: TaskId,
    },
    /// Statistics by hour and function.
    Stats,
    /// The same as metrics.
    Metrics,
    /// Why a source refuses a delivery.
    Explain {
        /// The source.
        source: String,
    },
    /// Is it up?
    Health,
    /// The API as a document.
    OpenApi,
    /// The page of an error.
    ErrorPage {
        /// The error.
        code: Code,
    },
    /// The list of all errors.
    ErrorIndex,
    /// The policies of all routes as a document.
    Policies,
    /// The list of all policies as a page.
    PolicyIndex,
    /// The policy of a source or function as a page.
    PolicyPage {
        /// Which of the two.
        kind: TaskKind,
        /// Its name.
        name: String,
    },
    /// The next slice of a task.
    Continue,
    /// Set faults.
    #[cfg(feature = "lab")]
    SetFaults,
    /// Show faults.
    #[cfg(feature = "lab")]
    ShowFaults,
    /// Show counters.
    #[cfg(feature = "lab")]
    ShowCounters,
    /// A CORS preflight; see [`preflight`].
    Preflight {
        /// Methods of this address.
        allow: String,
    },
}

/// What is done with a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAct {
    /// It is shown.
    Show,
    /// A text is deployed.
    Put,
    /// What was deployed is taken away.
    Delete,
    /// Its revisions are listed.
    Revisions,
    /// Two of them are compared.
    Diff,
    /// It is to take nothing.
    Disable,
    /// It is to take deliveries again.
    Enable,
    /// It is called.
    Execute,
}

pub(super) fn not_found() -> Problem {
    Problem::new(
        Code::NotFound,
        "No route, source or function has this address.",
    )
}

pub(super) fn named(name: &str) -> Result<String, Problem> {
    is_route_name(name)
        .then(|| name.to_owned())
        .ok_or_else(not_found)
}

/// A webhook of a source and its tenant, or of a flow.
pub(super) fn hooked(first: &str, second: &str) -> Result<Route, Problem> {
    if is_route_name(first) && is_route_name(second) {
        return Ok(Route::TenantHook {
            source: first.to_owned(),
            tenant: second.to_owned(),
        });
    }
    Ok(Route::FlowHook {
        at: FlowHookAt {
            name: flow_name(first, second)?,
            key: None,
            tail: String::new(),
            main: false,
        },
    })
}

pub(super) fn keyed(
    namespace: &str,
    flow: &str,
    key: &str,
    tail: String,
    main: bool,
) -> Result<Route, Problem> {
    // A slash more is another address.
    if tail == "/" {
        return Err(not_found());
    }
    Ok(Route::FlowHook {
        at: FlowHookAt {
            name: flow_name(namespace, flow)?,
            key: Some(key.to_owned()),
            tail,
            main,
        },
    })
}

pub(super) fn flow([namespace, id]: [&str; 2], act: FlowAct) -> Result<Route, Problem> {
    let name = flow_name(namespace, id)?;
    Ok(Route::Flow { name, act })
}

fn flow_name(namespace: &str, id: &str) -> Result<FlowName, Problem> {
    FlowName::read(namespace, id).ok_or_else(not_found)
}

pub(super) fn proxied(name: &str, tail: String) -> Result<Route, Problem> {
    let name = named(name)?;
    check_tail(&tail)?;
    Ok(Route::Proxy { name, tail })
}

pub(super) fn task(id: &str) -> Result<TaskId, Problem> {
    TaskId::parse(id).ok_or_else(|| Problem::new(Code::TaskNotFound, "No task has this id."))
}

pub(super) fn signal(name: &str) -> Result<String, Problem> {
    is_signal_name(name).then(|| name.to_owned()).ok_or_else(|| {
        Problem::new(
            Code::NotFound,
            format!(
                "The name of a signal has 1 to {MAX_SIGNAL_NAME_CHARS} characters of A-Z, a-z, 0-9, _, - and the dot."
            ),
        )
    })
}

pub(super) fn page(code: &str) -> Result<Code, Problem> {
    code.parse().map_err(|_| not_found())
}
