//! Tasks of a flow.

use super::{Input, Property};
use crate::flow::diagnostic::Position;

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// `[a-zA-Z0-9][a-zA-Z0-9_-]*`, once in a flow.
    pub id: String,
    /// As written.
    pub type_name: String,
    /// Where it stands.
    pub at: Position,
    /// What it does.
    pub work: Work,
    /// Whether it is left out.
    pub disabled: Option<Property>,
    /// Skipped if this is falsy.
    pub run_if: Option<Property>,
    /// Whether the flow goes on, with a warning, when it fails.
    pub allow_failure: bool,
    /// Whether a warning of it counts as a success.
    pub allow_warning: bool,
    /// How it is tried again.
    pub retry: Option<Retry>,
    /// How long one try may take: an ISO 8601 duration.
    pub timeout: Option<Property>,
    /// What undoes it if the flow fails later or is undone: a task that is no flowable one; it sees `outputs` of this
    /// task as `outputs.<id>`.
    pub undo: Option<Box<Task>>,
}

/// Tasks that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// In order.
    pub tasks: Vec<Task>,
    /// When one of them has failed.
    pub errors: Vec<Task>,
    /// In any case.
    pub finally: Vec<Task>,
}

/// How something is tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// The pauses.
    pub kind: RetryKind,
    /// All tries, the first one among them; `None`: until `max_duration_ms`, or 5 if there is neither.
    pub max_attempts: Option<u32>,
    /// Over all tries.
    pub max_duration_ms: Option<u64>,
    /// Whether a success after the first try is a warning.
    pub warning_on_retry: bool,
}

/// Pauses between tries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RetryKind {
    /// Always the same.
    Constant {
        /// Between two tries.
        interval_ms: u64,
    },
    /// Longer and longer.
    Exponential {
        /// The first.
        interval_ms: u64,
        /// The longest.
        max_interval_ms: u64,
        /// From one to the next.
        factor: f64,
    },
    /// At random.
    Random {
        /// The shortest.
        min_interval_ms: u64,
        /// The longest.
        max_interval_ms: u64,
    },
}

/// What a task does.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub enum Work {
    /// `log.Log`: `message` is a text or a list of them.
    Log {
        /// What.
        message: Property,
        /// `TRACE` … `ERROR`; `INFO` if there is none.
        level: Option<Property>,
    },
    /// `debug.Return`: output `value`.
    Return {
        /// A text.
        format: Option<Property>,
    },
    /// `output.OutputValues`: output `values`.
    OutputValues {
        /// Any.
        values: Property,
    },
    /// `execution.SetVariables`.
    SetVariables {
        /// By name.
        variables: Property,
        /// Whether those that are there may be replaced.
        overwrite: bool,
    },
    /// `flow.If`.
    If {
        /// Rendered to text; falsy: empty, `false`, `0`, `-0`, `null`.
        condition: Property,
        /// If it is truthy.
        then: Vec<Task>,
        /// Else.
        otherwise: Vec<Task>,
        /// As of a block.
        errors: Vec<Task>,
        /// As of a block.
        finally: Vec<Task>,
    },
    /// `flow.Switch`.
    Switch {
        /// Rendered to text.
        value: Property,
        /// By value.
        cases: Vec<(String, Vec<Task>)>,
        /// If none fits.
        defaults: Vec<Task>,
        /// As of a block.
        errors: Vec<Task>,
        /// As of a block.
        finally: Vec<Task>,
    },
    /// `flow.Sequential`.
    Sequential(Block),
    /// `flow.AllowFailure`: a failure inside is a warning.
    AllowFailure(Block),
    /// `flow.Parallel`: `concurrent` of them at once, all if it is 0.
    Parallel {
        /// At once.
        concurrent: u32,
        /// What.
        block: Block,
    },
    /// `flow.ForEach`.
    ForEach(Each),
    /// `flow.LoopUntil`.
    LoopUntil(Loop),
    /// `flow.Pause`.
    Pause(Pause),
    /// `flow.Sleep`: an ISO 8601 duration.
    Sleep {
        /// How long.
        duration: Property,
    },
    /// `flow.Subflow`.
    Subflow(Subflow),
    /// `kv.Get`: output `value`.
    KvGet {
        /// Key.
        key: Property,
        /// The flow's, if there is none.
        namespace: Option<Property>,
        /// Whether a missing key is a failure.
        error_on_missing: Option<Property>,
    },
    /// `kv.Set`.
    KvSet {
        /// Key.
        key: Property,
        /// Value.
        value: Property,
        /// The flow's, if there is none.
        namespace: Option<Property>,
        /// True if there is none.
        overwrite: Option<Property>,
        /// An ISO 8601 duration.
        ttl: Option<Property>,
        /// By the value, if there is none.
        kind: Option<Property>,
    },
    /// `kv.Delete`: output `deleted`.
    KvDelete {
        /// Key.
        key: Property,
        /// The flow's, if there is none.
        namespace: Option<Property>,
        /// Whether a missing key is a failure.
        error_on_missing: Option<Property>,
    },
    /// `kv.GetKeys`: output `keys`.
    KvGetKeys {
        /// All, if there is none.
        prefix: Option<Property>,
        /// The flow's, if there is none.
        namespace: Option<Property>,
    },
    /// `http.Request`: outputs `code`, `body`, `headers`, `uri`.
    Http(Http),
    /// `execution.Fail`.
    Fail {
        /// Only if this is truthy.
        condition: Option<Property>,
        /// Why.
        error_message: Option<Property>,
    },
    /// `execution.Assert`.
    Assert {
        /// All have to be truthy.
        conditions: Property,
        /// Why it fails.
        error_message: Option<Property>,
    },
    /// `execution.Labels`.
    Labels {
        /// A map, or a list of `key` and `value`.
        labels: Property,
    },
    /// `execution.Exit`: ends the execution.
    Exit {
        /// `SUCCESS` (if there is none), `WARNING`, `FAILED`, `KILLED`, `CANCELLED`.
        state: Option<Property>,
    },
}

/// `flow.ForEach`.
#[derive(Clone, Debug, PartialEq)]
pub struct Each {
    /// A list, or a text that holds one in JSON.
    pub values: Property,
    /// Values at once: 1 if there is none, 0: all.
    pub concurrency_limit: u32,
    /// For each of them.
    pub block: Block,
}

/// `flow.LoopUntil`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// It ends when this is truthy, after a turn.
    pub condition: Property,
    /// Between two turns.
    pub interval: Option<Property>,
    /// Turns at most.
    pub max_iterations: Option<Property>,
    /// An ISO 8601 duration over all turns.
    pub max_duration: Option<Property>,
    /// Whether reaching one of the two is a failure.
    pub fail_on_max_reached: Option<Property>,
    /// A turn.
    pub block: Block,
}

/// `flow.Pause`: ends with the signal that has the task's id as its name, or by time.
#[derive(Clone, Debug, PartialEq)]
pub struct Pause {
    /// What the signal's payload has to hold: output `onResume`.
    pub on_resume: Vec<Input>,
    /// `pauseDuration` or `delay`: it goes on by itself then.
    pub duration: Option<Property>,
    /// What it does then: `RESUME`, `WARN`, `FAIL`, `CANCEL`.
    pub behavior: Option<Property>,
    /// Tasks that follow, inside.
    pub tasks: Vec<Task>,
}

/// `flow.Subflow`.
#[derive(Clone, Debug, PartialEq)]
pub struct Subflow {
    /// Namespace.
    pub namespace: Property,
    /// Flow.
    pub flow_id: Property,
    /// Inputs.
    pub inputs: Option<Property>,
    /// Labels: a map or a list.
    pub labels: Option<Property>,
    /// Whether it hands its own labels on.
    pub inherit_labels: bool,
    /// Whether it waits for the end (it does if there is none).
    pub wait: Option<Property>,
    /// Whether a failure of it is one of this task (it is if there is none).
    pub transmit_failed: Option<Property>,
}

/// `http.Request`.
#[derive(Clone, Debug, PartialEq)]
pub struct Http {
    /// Address.
    pub uri: Property,
    /// `GET` if there is none.
    pub method: Option<Property>,
    /// Fields: a map.
    pub headers: Option<Property>,
    /// Query: a map.
    pub params: Option<Property>,
    /// `content-type`.
    pub content_type: Option<Property>,
    /// A text as it is; anything else as JSON.
    pub body: Option<Property>,
    /// A form: a map.
    pub form_data: Option<Property>,
    /// More.
    pub options: HttpOptions,
}

/// `options` of `http.Request`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HttpOptions {
    /// Whether a status from 400 on is an answer as well.
    pub allow_failed: Option<Property>,
    /// Statuses that are answers though they are from 400 on.
    pub allowed_codes: Option<Property>,
    /// `basic`: user and password.
    pub basic: Option<(Property, Property)>,
    /// `bearer`: token.
    pub bearer: Option<Property>,
    /// An ISO 8601 duration: of the whole exchange.
    pub timeout: Option<Property>,
}
