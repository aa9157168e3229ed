//! What expressions ask for while a task is prepared: recorded first, so that a run that starts again sees the same.

use super::super::ctx::Ctx;
use super::execution::Execution;
use crate::flow::expression::{Outside, Scope, Stop};
use crate::flow::kv::{KvOp, KvReply};
use crate::flow::plan::Frame;
use crate::types::Failure;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Look-ups of one task.
const MAX_LOOKUPS: usize = 50;

/// What has been looked up.
struct Known {
    /// The branch of the task.
    ctx: Ctx,
    keys: RefCell<BTreeMap<(String, String), Option<Value>>>,
    now_ms: Cell<Option<u64>>,
}

impl Outside for Known {
    fn secret(&self, name: &str) -> Option<String> {
        self.ctx.run.host.secret(name)
    }

    fn kv(&self, namespace: &str, key: &str) -> Option<Option<Value>> {
        let keys = self.keys.borrow();
        keys.get(&(namespace.to_owned(), key.to_owned())).cloned()
    }

    fn now_ms(&self) -> Option<u64> {
        self.now_ms.get()
    }

    fn uuid(&self) -> Uuid {
        self.ctx.uuid()
    }
}

impl Execution {
    /// Renders something in a frame; what it asks for is looked up in the branch `ctx`, which is the task's own.
    pub(super) async fn rendered<T>(
        &self,
        ctx: &Ctx,
        frame: &Frame,
        make: impl Fn(&Scope) -> Result<T, Stop>,
    ) -> Result<T, Failure> {
        let known = Known {
            ctx: ctx.clone(),
            keys: RefCell::default(),
            now_ms: Cell::new(None),
        };
        for _ in 0..MAX_LOOKUPS {
            let roots = self.roots(frame);
            let scope = Scope {
                roots: &roots,
                outside: &known,
            };
            match make(&scope) {
                Ok(value) => return Ok(value),
                Err(Stop::Failed(failure)) => return Err(failure),
                Err(Stop::NeedsNow) => known.now_ms.set(Some(ctx.now().await?)),
                Err(Stop::NeedsKv { namespace, key }) => {
                    let value = looked_up(ctx, &namespace, &key).await?;
                    known.keys.borrow_mut().insert((namespace, key), value);
                }
            }
        }
        let message = format!("one task looks up {MAX_LOOKUPS} keys at most");
        Err(Failure::terminal("too_many_lookups", message))
    }
}

async fn looked_up(ctx: &Ctx, namespace: &str, key: &str) -> Result<Option<Value>, Failure> {
    let (namespace, key) = (namespace.to_owned(), key.to_owned());
    let step = ctx.step_scoped("%kv", move |scope| {
        let (namespace, key) = (namespace.clone(), key.clone());
        async move {
            match scope.kv(&namespace, &key, KvOp::Get).await? {
                KvReply::Found(entry) => Ok(entry.map(|entry| entry.value)),
                KvReply::Set { .. } | KvReply::Refused(_) | KvReply::Deleted(_) => Ok(None),
            }
        }
    });
    step.retry(super::tries::OBJECT_RETRY).await
}
