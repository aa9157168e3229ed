//! Which flows begin when an execution has ended.

use super::{Ended, hold};
use crate::flow::expression::{Scope, Stop};
use crate::flow::model::FlowTrigger;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// States in which executions end.
const ENDS: &[&str] = &["SUCCESS", "WARNING", "FAILED", "KILLED", "CANCELLED"];

/// `trigger` of an execution that the end of another one begins; its outputs come beside it.
pub fn variables_of_end(
    trigger: &FlowTrigger,
    ended: &Ended,
    (execution_id, revision): (&str, u64),
) -> Value {
    json!({
        "id": trigger.id,
        "type": "io.kestra.plugin.core.trigger.Flow",
        "executionId": execution_id,
        "namespace": ended.namespace,
        "flowId": ended.flow_id,
        "flowRevision": revision,
        "state": ended.state,
    })
}

/// Whether this trigger of the flow `of` (namespace, id) begins it when an execution has ended at `at_ms`; `roots` are
/// the variables that its conditions see. A flow never begins itself.
///
/// # Errors
/// When an expression of a condition fails, or asks for something first.
pub fn begins_after(
    trigger: &FlowTrigger,
    of: (&str, &str),
    ended: &Ended,
    scope: &Scope,
    at_ms: u64,
) -> Result<bool, Stop> {
    if trigger.disabled || of == (ended.namespace.as_str(), ended.flow_id.as_str()) {
        return Ok(false);
    }
    let counts = if trigger.states.is_empty() {
        ENDS.contains(&ended.state.as_str())
    } else {
        trigger.states.contains(&ended.state)
    };
    if !counts {
        return Ok(false);
    }
    hold(
        &trigger.conditions,
        scope,
        Some(ended),
        (at_ms, &TimeZone::UTC),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::expression::{Outside, Template};
    use crate::flow::model::Condition;
    use serde_json::Map;
    use uuid::Uuid;

    struct Nothing;

    impl Outside for Nothing {
        fn secret(&self, _: &str) -> Option<String> {
            None
        }
        fn kv(&self, _: &str, _: &str) -> Option<Option<Value>> {
            None
        }
        fn now_ms(&self) -> Option<u64> {
            None
        }
        fn uuid(&self) -> Uuid {
            Uuid::nil()
        }
    }

    fn trigger(states: &[&str], conditions: Vec<Condition>) -> FlowTrigger {
        FlowTrigger {
            id: "after".into(),
            disabled: false,
            states: states.iter().map(ToString::to_string).collect(),
            conditions,
            inputs: Vec::new(),
        }
    }

    fn begins(trigger: &FlowTrigger, of: (&str, &str), state: &str) -> bool {
        let ended = Ended {
            state: state.into(),
            namespace: "team".into(),
            flow_id: "first".into(),
        };
        let variables = variables_of_end(trigger, &ended, ("e-1", 3));
        let roots: Map<String, Value> = [("trigger".to_owned(), variables)].into_iter().collect();
        let scope = Scope {
            roots: &roots,
            outside: &Nothing,
        };
        begins_after(trigger, of, &ended, &scope, 1_795_989_751_097).expect("rendered")
    }

    #[test]
    fn states_conditions_and_the_flow_itself() {
        let other = ("team", "second");
        let any = trigger(&[], Vec::new());
        for state in ENDS {
            assert!(begins(&any, other, state), "{state}");
            assert!(!begins(&any, ("team", "first"), state), "itself");
        }
        assert!(!begins(&any, other, "RUNNING"));
        assert!(begins(&any, ("else", "first"), "SUCCESS"), "only its name");
        let failed = trigger(&["FAILED", "WARNING"], Vec::new());
        assert!(begins(&failed, other, "FAILED") && !begins(&failed, other, "SUCCESS"));
        let when = |text: &str| {
            trigger(
                &[],
                vec![Condition::Expression(
                    Template::compile(text).expect("compiles"),
                )],
            )
        };
        assert!(begins(
            &when("{{ trigger.flowId == 'first' }}"),
            other,
            "SUCCESS"
        ));
        assert!(!begins(
            &when("{{ trigger.flowRevision > 3 }}"),
            other,
            "SUCCESS"
        ));
        let off = FlowTrigger {
            disabled: true,
            ..any
        };
        assert!(!begins(&off, other, "SUCCESS"));
    }
}
