//! Undoing a task of a flow: the task that its `undo` names, run with what was kept for it.

use super::super::ctx::StepScope;
use super::super::undo::Undo;
use super::leaf::send;
use super::{prepare, ready, unreadable};
use crate::flow::expression::{Outside, Scope, Stop};
use crate::flow::kv::{KvOp, KvReply};
use crate::flow::model::{Flow, Task};
use crate::flow::plan::{Act, Recorded, Undone, act, find};
use crate::types::Failure;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::rc::Rc;
use uuid::Uuid;

/// Keys that one undoing looks up.
const MAX_LOOKUPS: usize = 20;

/// For a task whose outcome is known.
pub(super) async fn known(scope: StepScope, undo: Undo<Undone, Recorded>) -> Result<(), Failure> {
    undone(scope, undo).await
}

/// For one that needs no outcome.
pub(super) async fn any(scope: StepScope, undo: Undo<Undone, Recorded>) -> Result<(), Failure> {
    undone(scope, undo).await
}

struct Known {
    scope: StepScope,
    keys: BTreeMap<(String, String), Option<Value>>,
}

impl Outside for Known {
    fn secret(&self, name: &str) -> Option<String> {
        self.scope.secret(name)
    }

    fn kv(&self, namespace: &str, key: &str) -> Option<Option<Value>> {
        self.keys
            .get(&(namespace.to_owned(), key.to_owned()))
            .cloned()
    }

    fn now_ms(&self) -> Option<u64> {
        Some(self.scope.clock_ms())
    }

    fn uuid(&self) -> Uuid {
        self.scope.key()
    }
}

async fn undone(scope: StepScope, undo: Undo<Undone, Recorded>) -> Result<(), Failure> {
    let flow = if let Some(flow) = ready(&undo.input.digest) {
        flow
    } else {
        let text = scope.host().flow_text(undo.input.digest.clone()).await?;
        prepare(&text).map_err(|problems| unreadable(&problems))?
    };
    let task_id = &undo.input.task_id;
    let task = find(&flow, task_id)
        .and_then(|task| task.undo.as_deref())
        .ok_or_else(|| {
            let message = format!("task {task_id} of the flow has nothing that undoes it");
            Failure::terminal("no_such_handler", message)
        })?;
    let mut roots = undo.input.roots;
    let outcome = undo
        .outcome
        .map_or_else(Map::new, |recorded| recorded.outputs);
    let outputs = roots.entry("outputs").or_insert_with(|| json!({}));
    if let Value::Object(outputs) = outputs {
        outputs.insert(task_id.clone(), Value::Object(outcome));
    }
    let act = prepared(&scope, &flow, task, &roots).await?;
    match act {
        Some(Act::Http(http)) => send(&scope, &http).await.map(drop),
        Some(Act::Kv(kv)) => {
            let reply = scope.kv(&kv.namespace, &kv.key, kv.op.clone()).await?;
            kv.record(reply).map(drop)
        }
        Some(Act::Fail(failure)) => Err(failure),
        Some(Act::Note(_)) => Ok(()),
        Some(Act::KvKeys { .. } | Act::Sleep { .. } | Act::Subflow(_)) | None => {
            let message = format!("a task of type {} undoes nothing", task.type_name);
            Err(Failure::terminal("undo_unsupported", message))
        }
    }
}

/// What the task does, with the keys that its expressions need looked up.
pub(super) async fn prepared(
    scope: &StepScope,
    flow: &Rc<Flow>,
    task: &Task,
    roots: &Map<String, Value>,
) -> Result<Option<Act>, Failure> {
    let mut known = Known {
        scope: scope.clone(),
        keys: BTreeMap::new(),
    };
    for _ in 0..MAX_LOOKUPS {
        let stop = match act(
            flow,
            task,
            &Scope {
                roots,
                outside: &known,
            },
        ) {
            Ok(act) => return Ok(act.map(|(act, _)| act)),
            Err(stop) => stop,
        };
        let Stop::NeedsKv { namespace, key } = stop else {
            return Err(match stop {
                Stop::Failed(failure) => failure,
                Stop::NeedsKv { .. } | Stop::NeedsNow => {
                    Failure::terminal("expression_failed", "the time is not known")
                }
            });
        };
        let found = match scope.kv(&namespace, &key, KvOp::Get).await? {
            KvReply::Found(entry) => entry.map(|entry| entry.value),
            KvReply::Set { .. } | KvReply::Refused(_) | KvReply::Deleted(_) => None,
        };
        known.keys.insert((namespace, key), found);
    }
    let message = format!("one task looks up {MAX_LOOKUPS} keys at most");
    Err(Failure::terminal("too_many_lookups", message))
}
