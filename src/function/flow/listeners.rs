//! Flows that begin because this execution has ended.

use super::super::ctx::StepScope;
use super::arrive::{Secrets, roots_of};
use super::execution::Execution;
use super::input::{Begun, FlowInput, FlowRef};
use super::tries::OBJECT_RETRY;
use super::{prepare, ready, unreadable};
use crate::flow::expression::Scope;
use crate::flow::model::{Flow, FlowTrigger, Trigger};
use crate::flow::plan::{Ended, begins_after, variables_of_end};
use crate::types::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::rc::Rc;

/// A flow that begins, and the trigger that says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Listener {
    flow: FlowRef,
    trigger: Value,
}

/// What is known of the execution that has ended.
#[derive(Clone)]
struct End {
    ended: Ended,
    execution_id: String,
    revision: u64,
    labels: Value,
}

impl Execution {
    /// Begins the flows that wait for an end like this one, each once. Which ones these are is recorded first. Where
    /// nobody waits for any end, nothing is.
    ///
    /// # Errors
    /// Retryable, if one of them could not be reached for long.
    pub(super) async fn tell(
        &self,
        state: &str,
        outputs: &Map<String, Value>,
    ) -> Result<(), Failure> {
        let own = self.ctx.within(&format!("%ended-{state}"));
        if !own.is_recorded("%which") {
            let known = self.ctx.run.host.flow_listeners().await;
            if known.is_ok_and(|known| known.is_empty()) {
                return Ok(());
            }
        }
        let end = self.end_as_told(state);
        let at_ms = self.ctx.generation();
        let which = own.step_scoped("%which", move |scope| {
            let end = end.clone();
            async move { listeners(&scope, &end, at_ms).await }
        });
        // If that cannot be told for long, the execution ends all the same; the failure is on record.
        let Ok(which) = which.retry(OBJECT_RETRY).await else {
            return Ok(());
        };
        for listener in which {
            self.begin_one(&own, listener, state, outputs).await?;
        }
        Ok(())
    }

    fn end_as_told(&self, state: &str) -> End {
        let meta = self.meta.borrow();
        End {
            ended: Ended {
                state: state.to_owned(),
                namespace: self.flow.namespace.clone(),
                flow_id: self.flow.id.clone(),
            },
            execution_id: meta.execution_id.clone(),
            revision: meta.revision,
            labels: crate::flow::plan::nested(&self.history.borrow().labels),
        }
    }

    async fn begin_one(
        &self,
        own: &super::super::ctx::Ctx,
        listener: Listener,
        state: &str,
        outputs: &Map<String, Value>,
    ) -> Result<(), Failure> {
        let trigger = listener.trigger["id"].as_str().unwrap_or_default();
        // An execution that an operator has run again may end another way; one that starts over is another one.
        let (execution, generation) = (self.ctx.task_id(), self.ctx.generation());
        let key = format!("{execution}/{trigger}/{state}/{generation}");
        let function = listener.flow.function_name();
        let correlation = self
            .history
            .borrow()
            .labels
            .get("system.correlationId")
            .cloned();
        let labels = correlation.map(|id| ("system.correlationId".to_owned(), id));
        let input = FlowInput {
            flow: listener.flow,
            begun: Begun::Trigger(listener.trigger),
            labels: labels.into_iter().collect(),
            body: Value::Object(outputs.clone()).to_string().into_bytes(),
            ..FlowInput::default()
        };
        let (mut tries, mut waited_ms) = (0, 0);
        loop {
            let begun = own.start(&function, Some(&key), &());
            let begun = begun.named("%begin").with_input(input.clone().into_input());
            let Err(failure) = begun.await else {
                return Ok(());
            };
            if failure.kind != FailureKind::Retryable {
                // Refused: a chain of flows that would go on for ever, or a flow that this release does not run. On
                // record, and nothing that this execution could do about.
                return Ok(());
            }
            tries += 1;
            let random = u32::try_from(own.random() % 1_001).unwrap_or_default();
            let Some(pause_ms) = OBJECT_RETRY.next_delay_ms(tries, waited_ms, None, random) else {
                return Err(failure);
            };
            waited_ms += pause_ms;
            own.sleep("%pause", pause_ms).await?;
        }
    }
}

/// Whether the end of some execution may begin this flow.
pub fn listens(flow: &Flow) -> bool {
    let mut triggers = flow.triggers.iter();
    triggers.any(|trigger| match trigger {
        Trigger::Flow(trigger) => !trigger.disabled,
        Trigger::Webhook(_) | Trigger::Schedule(_) => false,
    })
}

/// The flows that begin, of all that wait for ends.
async fn listeners(scope: &StepScope, end: &End, at_ms: u64) -> Result<Vec<Listener>, Failure> {
    let mut found = Vec::new();
    for of in scope.flow_listeners().await? {
        let flow = read_flow(scope, &of).await?;
        for trigger in &flow.triggers {
            let Trigger::Flow(trigger) = trigger else {
                continue;
            };
            if let Some(variables) = begun_by(scope, (&flow, trigger), end, at_ms) {
                found.push(Listener {
                    flow: of.clone(),
                    trigger: variables,
                });
            }
        }
    }
    Ok(found)
}

async fn read_flow(scope: &StepScope, of: &FlowRef) -> Result<Rc<Flow>, Failure> {
    if let Some(flow) = ready(&of.digest) {
        return Ok(flow);
    }
    let text = scope.flow_text(&of.digest).await?;
    prepare(&text).map_err(|problems| unreadable(&problems))
}

/// The variables of the trigger, if the end begins its flow. A condition that fails does not hold: it must not keep the
/// others from beginning.
fn begun_by(
    scope: &StepScope,
    (flow, trigger): (&Flow, &FlowTrigger),
    end: &End,
    at_ms: u64,
) -> Option<Value> {
    let told = (end.execution_id.as_str(), end.revision);
    let variables = variables_of_end(trigger, &end.ended, told);
    let mut roots = roots_of(flow, &variables);
    roots.insert("labels".to_owned(), end.labels.clone());
    roots.insert(
        "execution".to_owned(),
        json!({ "id": end.execution_id, "state": end.ended.state }),
    );
    let lookup = |name: &str| scope.secret(name);
    let secrets = Secrets(&lookup);
    let seen = Scope {
        roots: &roots,
        outside: &secrets,
    };
    let of = (flow.namespace.as_str(), flow.id.as_str());
    let begins = begins_after(trigger, of, &end.ended, &seen, at_ms);
    begins.unwrap_or(false).then_some(variables)
}
