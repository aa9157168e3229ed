//! What has to hold so that a trigger begins something.

use super::is_true;
use crate::flow::expression::{Scope, Stop};
use crate::flow::model::Condition;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// An execution that has ended, for triggers that wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// `SUCCESS`, `FAILED`, …
    pub state: String,
    /// Its flow's namespace.
    pub namespace: String,
    /// Its flow.
    pub flow_id: String,
}

/// Whether all of them hold. `at_ms` is the time that days are told of, in `zone`. Conditions about an execution
/// hold only where there is one.
///
/// # Errors
/// When an expression fails, or asks for something first.
pub fn hold(
    conditions: &[Condition],
    scope: &Scope,
    ended: Option<&Ended>,
    (at_ms, zone): (u64, &TimeZone),
) -> Result<bool, Stop> {
    for condition in conditions {
        if !holds(condition, scope, ended, (at_ms, zone))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn holds(
    condition: &Condition,
    scope: &Scope,
    ended: Option<&Ended>,
    when: (u64, &TimeZone),
) -> Result<bool, Stop> {
    Ok(match condition {
        Condition::Expression(template) => is_true(&template.text(scope)?.0),
        Condition::ExecutionStatus { within, not_in } => ended.is_some_and(|ended| {
            (within.is_empty() || within.contains(&ended.state)) && !not_in.contains(&ended.state)
        }),
        Condition::ExecutionNamespace { namespace, prefix } => {
            ended.is_some_and(|ended| is_of(&ended.namespace, namespace, *prefix))
        }
        Condition::ExecutionFlow { namespace, flow_id } => {
            ended.is_some_and(|ended| ended.namespace == *namespace && ended.flow_id == *flow_id)
        }
        Condition::DayWeek { day } => weekday(when) == Some(*day),
        Condition::Not(inner) => !hold(inner, scope, ended, when)?,
        Condition::Or(inner) => {
            for one in inner {
                if holds(one, scope, ended, when)? {
                    return Ok(true);
                }
            }
            false
        }
    })
}

/// The same namespace, or one below it.
fn is_of(namespace: &str, wanted: &str, prefix: bool) -> bool {
    if prefix {
        return namespace.starts_with(wanted);
    }
    namespace == wanted
}

/// 1 is Monday.
fn weekday((at_ms, zone): (u64, &TimeZone)) -> Option<u8> {
    let ms = i64::try_from(at_ms).ok()?;
    let there = Timestamp::from_millisecond(ms).ok()?.to_zoned(zone.clone());
    u8::try_from(there.weekday().to_monday_one_offset()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::expression::{Outside, Template};
    use serde_json::{Map, Value, json};
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

    fn check(conditions: &[Condition], ended: Option<&Ended>) -> bool {
        let roots: Map<String, Value> = [("n".to_owned(), json!(2))].into_iter().collect();
        let scope = Scope {
            roots: &roots,
            outside: &Nothing,
        };
        // 2026-11-29 was a Sunday; it is Monday in the far east already.
        hold(
            conditions,
            &scope,
            ended,
            (1_795_989_751_097, &TimeZone::UTC),
        )
        .expect("rendered")
    }

    fn expression(text: &str) -> Condition {
        Condition::Expression(Template::compile(text).expect("compiles"))
    }

    #[test]
    fn all_of_them_have_to_hold() {
        assert!(check(&[], None));
        assert!(check(
            &[expression("{{ n == 2 }}"), expression("{{ n > 1 }}")],
            None
        ));
        assert!(!check(
            &[expression("{{ n == 2 }}"), expression("{{ n > 2 }}")],
            None
        ));
        let day = |day| Condition::DayWeek { day };
        assert!(check(&[day(7)], None) && !check(&[day(1)], None));
        assert!(check(&[Condition::Not(vec![day(1)])], None));
        assert!(check(&[Condition::Or(vec![day(1), day(7)])], None));
        assert!(!check(&[Condition::Or(Vec::new())], None));
    }

    #[test]
    fn an_execution_is_told_by_its_end_and_its_flow() {
        let ended = Ended {
            state: "FAILED".into(),
            namespace: "company.team".into(),
            flow_id: "sync".into(),
        };
        let status = |within: &[&str], not_in: &[&str]| Condition::ExecutionStatus {
            within: within.iter().map(ToString::to_string).collect(),
            not_in: not_in.iter().map(ToString::to_string).collect(),
        };
        let space = |namespace: &str, prefix| Condition::ExecutionNamespace {
            namespace: namespace.into(),
            prefix,
        };
        let cases = [
            (status(&["FAILED"], &[]), true),
            (status(&[], &["FAILED"]), false),
            (status(&["SUCCESS"], &[]), false),
            (space("company", true), true),
            (space("company", false), false),
            (space("company.team", false), true),
            (
                Condition::ExecutionFlow {
                    namespace: "company.team".into(),
                    flow_id: "sync".into(),
                },
                true,
            ),
        ];
        for (condition, want) in cases {
            assert_eq!(
                check(std::slice::from_ref(&condition), Some(&ended)),
                want,
                "{condition:?}"
            );
            assert!(!check(&[condition], None));
        }
    }
}
