//! What begins a flow.

use super::Property;
use crate::flow::expression::Template;

/// A trigger.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub enum Trigger {
    /// `trigger.Webhook`.
    Webhook(Webhook),
    /// `trigger.Schedule`.
    Schedule(Schedule),
    /// `trigger.Flow`.
    Flow(FlowTrigger),
}

/// Exactly-once of a webhook.
#[derive(Clone, Debug, PartialEq)]
pub struct Idempotency {
    /// Off: each delivery is a task of its own, one after the other for each key.
    pub on: bool,
    /// The key; the `Idempotency-Key` header if there is none.
    pub key: Option<Template>,
    /// What has to be equal under one key; the bytes of the request if there is none, nothing if it is `false`.
    pub fingerprint: Option<Property>,
    /// How long the answer is kept.
    pub retention_ms: Option<u64>,
}

impl Default for Idempotency {
    fn default() -> Self {
        Self {
            on: true,
            key: None,
            fingerprint: None,
            retention_ms: None,
        }
    }
}

/// A provider's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name of a provider, as `docs/sources.md` lists them.
    pub provider: String,
    /// Name of the secret.
    pub secret: String,
}

/// `trigger.Webhook`.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    /// Its id.
    pub id: String,
    /// The secret part of its address: a text of at most 256 characters, which may use `secret()`.
    pub key: Property,
    /// Whether it takes nothing.
    pub disabled: bool,
    /// 204 if one of them is falsy.
    pub conditions: Vec<Condition>,
    /// Inputs of the flow, of the delivery.
    pub inputs: Vec<(String, Property)>,
    /// Whether the sender waits for the end.
    pub wait: bool,
    /// Whether the answer is the outputs only.
    pub return_outputs: bool,
    /// `application/json` or `text/plain`.
    pub response_content_type: Option<String>,
    /// The status of a success.
    pub response_code: Option<u16>,
    /// Exactly-once.
    pub idempotency: Idempotency,
    /// A signature that is checked besides the key.
    pub signature: Option<Signature>,
}

/// What has to hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// `condition.Expression`, `when`: truthy.
    Expression(Template),
    /// `condition.ExecutionStatus`.
    ExecutionStatus {
        /// One of these; any if it is empty.
        within: Vec<String>,
        /// None of these.
        not_in: Vec<String>,
    },
    /// `condition.ExecutionNamespace`.
    ExecutionNamespace {
        /// The namespace.
        namespace: String,
        /// Whether it is only its beginning.
        prefix: bool,
    },
    /// `condition.ExecutionFlow`.
    ExecutionFlow {
        /// The namespace.
        namespace: String,
        /// The flow.
        flow_id: String,
    },
    /// `condition.DayWeek`: 1 is Monday.
    DayWeek {
        /// The day.
        day: u8,
    },
    /// `condition.Not`.
    Not(Vec<Condition>),
    /// `condition.Or`.
    Or(Vec<Condition>),
}

/// What is made of fire times that nobody was there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recover {
    /// Each of them.
    All,
    /// The last.
    Last,
    /// None.
    None,
}

/// `trigger.Schedule`.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Its id.
    pub id: String,
    /// Five fields, or a word like `@daily`.
    pub cron: String,
    /// A name like `Europe/Paris`; `UTC` if there is none.
    pub timezone: String,
    /// Whether it does nothing.
    pub disabled: bool,
    /// What has to hold.
    pub conditions: Vec<Condition>,
    /// Inputs of the flow.
    pub inputs: Vec<(String, Property)>,
    /// What is made of times that were missed.
    pub recover: Recover,
}

/// `trigger.Flow`: the end of another flow's execution.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTrigger {
    /// Its id.
    pub id: String,
    /// Whether it does nothing.
    pub disabled: bool,
    /// States that count; SUCCESS, WARNING, FAILED, KILLED, CANCELLED if it is empty.
    pub states: Vec<String>,
    /// What has to hold.
    pub conditions: Vec<Condition>,
    /// Inputs of the flow.
    pub inputs: Vec<(String, Property)>,
}
