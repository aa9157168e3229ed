//! How a flow's task is told what it runs on: the delivery as it came, and beside it, in a field that no sender can
//! send, which flow it is for.

use crate::types::{Failure, Headers, Input};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Name of that field: the name of a field on the wire cannot have a colon.
pub const FLOW_FIELD: &str = ":flow";
/// What the function's name of a flow's task begins with.
pub const PREFIX: &str = "flow:";

/// One revision of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRef {
    /// Namespace.
    pub namespace: String,
    /// Id.
    pub id: String,
    /// Revision: 1, 2, …
    pub revision: u64,
    /// Digest of its text.
    pub digest: String,
}

impl FlowRef {
    /// What the function of its tasks is called.
    ///
    /// ```
    /// use onceward::function::flow::FlowRef;
    /// let flow = FlowRef { namespace: "team".into(), id: "sync".into(), ..FlowRef::default() };
    /// assert_eq!(flow.function_name(), "flow:team/sync");
    /// ```
    pub fn function_name(&self) -> String {
        format!("{PREFIX}{}/{}", self.namespace, self.id)
    }
}

/// What began it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begun {
    /// A delivery to one of its webhooks.
    Webhook {
        /// The trigger.
        trigger: String,
        /// Method.
        method: String,
        /// Query.
        #[serde(default)]
        query: String,
        /// What stands behind the key in the address.
        #[serde(default)]
        path: String,
    },
    /// A schedule, or the end of another execution: the trigger's variables. The body holds the outputs of that
    /// execution, in JSON.
    Trigger(Value),
    /// A call, or another flow: the body holds the inputs.
    #[default]
    Call,
}

/// What is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// The flow.
    pub flow: FlowRef,
    /// What began it.
    pub begun: Begun,
    /// The idempotency key that its delivery came with.
    pub key: Option<String>,
    /// It stands in the queue of this key: its deliveries are tasks of their own.
    pub queued: bool,
    /// Labels, beside those of the flow.
    pub labels: Map<String, Value>,
    /// The execution that began it.
    pub parent: Option<Value>,
}

/// The input of a flow's task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowInput {
    /// The flow.
    pub flow: FlowRef,
    /// What began it.
    pub begun: Begun,
    /// The idempotency key that its delivery came with.
    pub key: Option<String>,
    /// Whether it stands in the queue of this key.
    pub queued: bool,
    /// Labels, beside those of the flow.
    pub labels: Map<String, Value>,
    /// The execution that began it.
    pub parent: Option<Value>,
    /// Fields of the delivery.
    pub headers: Headers,
    /// Its bytes; without a delivery, the inputs in JSON.
    pub body: Vec<u8>,
}

impl FlowInput {
    /// Reads it.
    ///
    /// # Errors
    /// Terminal (`input_invalid`) for what did not come by way of a flow.
    pub fn read(input: Input) -> Result<Self, Failure> {
        let wrong = |why: String| {
            let message = format!("the input is none of a flow: {why}");
            Failure::terminal("input_invalid", message)
        };
        let field = input.headers.get(FLOW_FIELD);
        let field =
            field.ok_or_else(|| wrong("it comes by the address of its flow only".to_owned()))?;
        let told: Told = serde_json::from_str(field).map_err(|error| wrong(error.to_string()))?;
        let mut headers = input.headers.clone();
        headers.remove(FLOW_FIELD);
        Ok(Self {
            flow: told.flow,
            begun: told.begun,
            key: told.key,
            queued: told.queued,
            labels: told.labels,
            parent: told.parent,
            headers,
            body: input.body,
        })
    }

    /// As the input of a task.
    pub fn into_input(self) -> Input {
        let told = Told {
            flow: self.flow,
            begun: self.begun,
            key: self.key,
            queued: self.queued,
            labels: self.labels,
            parent: self.parent,
        };
        let mut headers = self.headers;
        // Names and values of the crate's own types have a JSON form.
        headers.set(FLOW_FIELD, serde_json::to_string(&told).unwrap_or_default());
        Input {
            headers,
            body: self.body,
        }
    }
}
