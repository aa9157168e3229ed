//! Flows on a bench: deliveries at their webhooks, and what came of them.

use super::action::{Reaction, Sent};
use super::address::Address;
use super::bench::Bench;
use super::crash::{CRASH_KEY, Crashes, Tried};
use super::scripted::Script;
use crate::flow::diagnostic::Diagnostic;
use crate::flow::model::Trigger;
use crate::function::InputProblem;
use crate::function::flow::{
    Arrival, Arrived, FlowInput, FlowRef, Secrets, arrive, check_call, digest, flow, prepare,
};
use crate::types::{Answer, Failure, Headers, Input, TaskKey, TaskKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A delivery at a flow's webhook, or a call with inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowDelivery {
    /// The idempotency key; a fresh one if it is empty.
    pub key: String,
    /// Method; `POST` if it is empty.
    pub method: String,
    /// Fields.
    pub headers: Vec<(String, String)>,
    /// Query.
    pub query: String,
    /// Bytes.
    pub body: Vec<u8>,
    /// Begun by a call with these instead of a webhook.
    pub inputs: Option<Map<String, Value>>,
}

/// Why nothing was begun.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowRefusal {
    /// The trigger's conditions do not hold.
    NotMeant,
    /// It has no key.
    NoKey,
    /// Its inputs do not fit, or an expression of the trigger fails.
    Invalid(Vec<InputProblem>),
}

/// Flows on a virtual clock. The first of them gets the deliveries.
///
/// ```
/// use onceward::testing::{FlowBench, FlowDelivery};
/// let flow = "id: hello\nnamespace: team\ntasks:\n  - {id: hi, type: io.kestra.plugin.core.log.Log, message: hi}\n";
/// let mut bench = FlowBench::new(&[flow]).unwrap();
/// let id = bench.deliver(FlowDelivery { inputs: Some(Default::default()), ..Default::default() }).unwrap();
/// bench.run_until_idle();
/// assert_eq!(bench.execution(&id)["state"]["current"], "SUCCESS");
/// assert_eq!(bench.logs(&id), ["INFO hi"]);
/// ```
pub struct FlowBench {
    bench: Bench,
    first: FlowRef,
    script: Script,
    secrets: BTreeMap<String, String>,
    drawn: u64,
    keys: BTreeMap<String, TaskKey>,
    texts: Vec<String>,
}

impl FlowBench {
    /// Reads the flows.
    ///
    /// # Errors
    /// All that is wrong with the first that cannot be read.
    pub fn new(flows: &[&str]) -> Result<Self, Vec<Diagnostic>> {
        let script = Script::default();
        let bench = Bench::new(flow());
        let mut first = None;
        for text in flows {
            let of = load(&bench, text)?;
            first.get_or_insert(of);
        }
        let outside = script.clone();
        let bench = bench.outside(move |sent| outside.answer(sent));
        Ok(Self {
            bench,
            first: first.unwrap_or_default(),
            script,
            secrets: BTreeMap::new(),
            drawn: 0,
            keys: BTreeMap::new(),
            texts: flows.iter().map(|text| (*text).to_owned()).collect(),
        })
    }

    /// Sets a secret.
    #[must_use]
    pub fn secret(mut self, name: &str, value: &str) -> Self {
        self.secrets.insert(name.to_owned(), value.to_owned());
        self.bench = self.bench.secret(name, value);
        self
    }

    /// Puts a value under a key.
    #[must_use]
    pub fn kv(self, namespace: &str, key: &str, value: Value) -> Self {
        self.bench.put_kv(namespace, key, value);
        self
    }

    /// Has requests of this method and address answered, in order; the last answer is given again and again. `*` stands
    /// for any text. A repeat under the same derived key gets the answer that it got, unless that was a failure. Without
    /// any answers every request is answered 200.
    #[must_use]
    pub fn outside(self, method: &str, url: &str, answers: Vec<Reaction>) -> Self {
        self.script.add(method, url, answers);
        self
    }

    /// Brings a delivery.
    ///
    /// # Errors
    /// Why nothing was begun.
    ///
    /// # Panics
    /// If the first flow has no webhook and the delivery no inputs.
    pub fn deliver(&mut self, delivery: FlowDelivery) -> Result<String, FlowRefusal> {
        let (key, input) = self.admit(delivery)?;
        let id = key.task_id().to_string();
        let delivered = self.bench.deliver(&key, input);
        delivered.map_err(FlowRefusal::Invalid)?;
        self.keys.insert(id.clone(), key);
        Ok(id)
    }

    fn admit(&mut self, delivery: FlowDelivery) -> Result<(TaskKey, Input), FlowRefusal> {
        self.drawn += 1;
        let fresh = format!("fresh-{}", self.drawn);
        let name = self.first.function_name();
        let of_key = |key: &str| TaskKey::new(TaskKind::Function, &name, "", key);
        let given = if delivery.key.is_empty() {
            fresh.clone()
        } else {
            delivery.key.clone()
        };
        let headers: Headers = delivery
            .headers
            .iter()
            .map(|(n, v)| (n, v.clone()))
            .collect();
        let flow = prepare(&self.texts[0]).unwrap_or_else(|_| unreachable!("it was read"));
        let secrets = self.secrets.clone();
        let lookup = move |name: &str| secrets.get(name).cloned();
        if let Some(inputs) = delivery.inputs {
            let body = Value::Object(inputs).to_string().into_bytes();
            let problems =
                check_call(&flow, &body, &Secrets(&lookup)).map_err(|failure| unfit(&failure))?;
            if !problems.is_empty() {
                return Err(FlowRefusal::Invalid(problems));
            }
            let input = FlowInput {
                flow: self.first.clone(),
                key: Some(given.clone()),
                headers,
                body,
                ..FlowInput::default()
            };
            return Ok((of_key(&given), input.into_input()));
        }
        let webhook = flow.triggers.iter().find_map(|trigger| match trigger {
            Trigger::Webhook(webhook) => Some(webhook),
            Trigger::Schedule(_) | Trigger::Flow(_) => None,
        });
        let mut headers = headers;
        if headers.get("idempotency-key").is_none() {
            headers.push("Idempotency-Key", given.clone());
        }
        let method = if delivery.method.is_empty() {
            "POST".to_owned()
        } else {
            delivery.method
        };
        let arrival = Arrival {
            method,
            query: delivery.query,
            path: String::new(),
            headers,
            body: delivery.body,
            key: Some(given),
        };
        let webhook = webhook.expect("the first flow has a webhook");
        match arrive((&flow, &self.first), webhook, arrival, &Secrets(&lookup)) {
            Arrived::Begin { key, input } => {
                Ok((of_key(&key.unwrap_or(fresh)), input.into_input()))
            }
            Arrived::NotMeant => Err(FlowRefusal::NotMeant),
            Arrived::NoKey => Err(FlowRefusal::NoKey),
            Arrived::Invalid(problems) => Err(FlowRefusal::Invalid(problems)),
            Arrived::Failed(failure) => Err(unfit(&failure)),
        }
    }

    /// Runs until nothing goes on by itself.
    pub fn run_until_idle(&mut self) {
        self.bench.run_until_idle();
    }

    /// Sends a signal to an execution. Says whether it waited for it.
    pub fn signal(&mut self, id: &str, name: &str, payload: &Value) -> bool {
        self.drawn += 1;
        let signal = format!("signal-{}", self.drawn);
        let Some(key) = self.keys.get(id) else {
            return false;
        };
        self.bench.signal(key, name, &signal, &payload.to_string());
        true
    }

    /// The document of an execution: its answer, or for one that has none what is known of it.
    pub fn execution(&self, id: &str) -> Value {
        let Some(key) = self.keys.get(id) else {
            return Value::Null;
        };
        let task = self.bench.task(key);
        let failed = task
            .as_ref()
            .and_then(|task| task.failure.as_ref()?.answer.clone());
        let answer = self
            .bench
            .answer(key)
            .or_else(|| failed.map(|answer| *answer));
        let document = answer.and_then(|answer| serde_json::from_slice(&answer.body).ok());
        document.unwrap_or_else(|| {
            let state = task
                .map(|task| format!("{:?}", task.state))
                .unwrap_or_default();
            json!({ "id": id, "state": { "current": "RUNNING", "task": state } })
        })
    }

    /// What it logged, as `LEVEL message`.
    pub fn logs(&self, id: &str) -> Vec<String> {
        let execution = self.execution(id);
        let runs = execution["taskRunList"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let lines = runs
            .iter()
            .flat_map(|run| run["logs"].as_array().cloned().unwrap_or_default());
        lines
            .map(|line| {
                let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
                format!("{} {}", text("level"), text("message"))
            })
            .collect()
    }

    /// What went out, in order.
    pub fn requests(&self) -> Vec<Sent> {
        self.bench.requests()
    }

    /// What stands under a key.
    pub fn kv_get(&self, namespace: &str, key: &str) -> Option<Value> {
        self.bench.get_kv(namespace, key)
    }

    /// The stored answer.
    pub fn answer(&self, id: &str) -> Option<Answer> {
        self.bench.answer(Address::from(self.keys.get(id)?))
    }

    /// The bench itself.
    pub fn bench(&mut self) -> &mut Bench {
        &mut self.bench
    }

    /// Has the first flow disturbed everywhere with this delivery; `script` is called when nothing goes on by itself.
    ///
    /// # Panics
    /// As [`Crashes::everywhere`], or if the delivery is refused.
    pub fn crash_everywhere(
        &mut self,
        delivery: FlowDelivery,
        script: impl Fn(&mut Bench) + 'static,
    ) -> Tried {
        let delivery = FlowDelivery {
            key: CRASH_KEY.to_owned(),
            ..delivery
        };
        let (_, input) = self
            .admit(delivery)
            .unwrap_or_else(|why| panic!("refused: {why:?}"));
        let (texts, secrets) = (self.texts.clone(), self.secrets.clone());
        let kv = self.bench.all_kv();
        let (outside, runs) = (self.script.clone(), self.script.clone());
        Crashes::of(flow())
            .prepared(move |mut bench| {
                runs.restart();
                for text in &texts {
                    let _ = load(&bench, text);
                }
                for (name, value) in &secrets {
                    bench = bench.secret(name, value);
                }
                for (namespace, key, value) in &kv {
                    bench.put_kv(namespace, key, value.clone());
                }
                bench
            })
            .outside(move |sent| outside.answer(sent))
            .script(script)
            .everywhere(&input)
    }
}

/// An expression that fails on what came.
fn unfit(failure: &Failure) -> FlowRefusal {
    FlowRefusal::Invalid(vec![InputProblem {
        path: String::new(),
        detail: failure.to_string(),
    }])
}

/// Makes a flow known to a bench.
fn load(bench: &Bench, text: &str) -> Result<FlowRef, Vec<Diagnostic>> {
    let flow = prepare(text)?;
    let of = FlowRef {
        namespace: flow.namespace.clone(),
        id: flow.id.clone(),
        revision: 1,
        digest: digest(text),
    };
    let world = &bench.world;
    world
        .flow_texts
        .borrow_mut()
        .insert(of.digest.clone(), text.to_owned());
    world
        .flows
        .borrow_mut()
        .insert((of.namespace.clone(), of.id.clone()), of.clone());
    Ok(of)
}
