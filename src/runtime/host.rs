//! The outside of a slice, on the platform.

use super::Functions;
use super::ask::{self, NoReply};
use super::bulk;
use super::children;
use super::flows;
use super::kv;
use super::lock;
use super::notices;
use super::ports::Edge;
use super::serve::TOKEN;
use crate::flow::kv::{KvCall, KvReply};
use crate::flow::lock::{LockCall, LockReply};
use crate::function::bulk::BulkPage;
use crate::function::flow::FlowRef;
use crate::function::{
    CallError, ChildBegin, ChildSays, FetchError, Host, OutRequest, OutResponse,
};
use crate::http::bulk::Report;
use crate::http::flows::FlowName;
use crate::http::headers;
use crate::http::object_call::{Ask, Call, Reply as ObjectReply, Told};
use crate::http::seal;
use crate::limits;
use crate::protocol::{Finish, Record, Reply, Suspend};
use crate::types::{Answer, Failure, TaskId, Token};
use futures::future::LocalBoxFuture;
use std::cell::Cell;

/// The outside of one slice.
pub(super) struct EdgeHost {
    pub(super) edge: Edge,
    /// What children can be.
    pub(super) functions: Functions,
    pub(super) task_id: TaskId,
    /// Messages are re-sent until then: shortly before the lease is over.
    pub(super) until_ms: u64,
    /// Records sent so far.
    pub(super) records: Cell<u32>,
}

/// Records after which a slice lets others have their turn.
const RECORDS_PER_PAUSE: u32 = 16;

impl EdgeHost {
    fn ask(&self, ask: Ask) -> LocalBoxFuture<'static, Result<Reply, CallError>> {
        let (edge, until_ms) = (self.edge.clone(), self.until_ms);
        let call = Call {
            task_id: self.task_id,
            ask,
        };
        Box::pin(async move {
            match ask::ask(&edge, &call, until_ms).await {
                Ok(reply) => understood(reply),
                Err(NoReply::Overloaded) => {
                    Err(CallError::Unreachable("the object is overloaded".into()))
                }
                Err(NoReply::Unreachable(why)) => Err(CallError::Unreachable(why)),
            }
        })
    }
}

fn lost(lost: flows::Lost) -> Failure {
    let (code, why) = match lost {
        flows::Lost::Unreachable(why) => ("flow_unreachable", why),
        flows::Lost::Unreadable(why) => ("flow_unreadable", why),
    };
    Failure::retryable(code, why).cut()
}

/// The object's answer in the machine's words.
fn understood(reply: ObjectReply) -> Result<Reply, CallError> {
    match reply.told {
        Told::Stands(standing) => Ok(Reply::Stands(*standing)),
        Told::Stale(standing) => Ok(Reply::Stale(*standing)),
        Told::InProgress(standing) => Ok(Reply::InProgress(*standing)),
        Told::Recorded {
            stop,
            winners,
            cancel,
        } => Ok(Reply::Recorded {
            stop,
            winners,
            cancel,
        }),
        Told::GoOn { records, now_ms } => Ok(Reply::GoOn { records, now_ms }),
        Told::Suspended { ticket, hop } => Ok(Reply::Suspended { ticket, hop }),
        Told::NotFound => Err(CallError::Gone),
        Told::Unavailable(why) => Err(CallError::Unreachable(why)),
        Told::Claimed { .. }
        | Told::KeyReused
        | Told::Expired
        | Told::KeyCollision
        | Told::Refused
        | Told::Journal { .. }
        | Told::Signalled { .. }
        | Told::MailboxFull
        | Told::Ended(_)
        | Told::Planned(_)
        | Told::NoSuchStep
        | Told::Input { .. }
        | Told::Owner { .. }
        | Told::Kv { .. }
        | Told::Lock { .. }
        | Told::Done => Err(CallError::Unreachable(
            "an answer to another question".into(),
        )),
    }
}

impl Host for EdgeHost {
    fn now_ms(&self) -> u64 {
        self.edge.now_ms()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        self.edge.sleep(ms)
    }

    fn token(&self) -> Token {
        self.edge.token()
    }

    fn jitter(&self) -> u32 {
        self.edge.jitter()
    }

    fn fetch(
        &self,
        request: OutRequest,
    ) -> LocalBoxFuture<'static, Result<OutResponse, FetchError>> {
        self.edge.fetch(request)
    }

    fn record(&self, record: Record) -> LocalBoxFuture<'static, Result<Reply, CallError>> {
        let asked = self.ask(Ask::Record(Box::new(record)));
        let count = self.records.get() + 1;
        self.records.set(count);
        if !count.is_multiple_of(RECORDS_PER_PAUSE) {
            return asked;
        }
        // Within one process, messages never touch the network; a local engine that passes them on
        // for ever looks at nobody else.
        let pause = self.edge.sleep(1);
        Box::pin(async move {
            let reply = asked.await;
            pause.await;
            reply
        })
    }

    fn suspend(&self, suspend: Suspend) -> LocalBoxFuture<'static, Result<Reply, CallError>> {
        self.ask(Ask::Suspend(Box::new(suspend)))
    }

    fn finish(&self, finish: Finish) -> LocalBoxFuture<'static, Result<Reply, CallError>> {
        self.ask(Ask::Finish(Box::new(finish)))
    }

    fn begin_child(
        &self,
        begin: ChildBegin,
    ) -> LocalBoxFuture<'static, Result<ChildSays, CallError>> {
        let (edge, functions) = (self.edge.clone(), self.functions.clone());
        let until_ms = children::until_ms(&self.edge, self.until_ms);
        Box::pin(async move { children::begin(&edge, &functions, begin, until_ms).await })
    }

    fn look_at_child(
        &self,
        task_id: TaskId,
    ) -> LocalBoxFuture<'static, Result<ChildSays, CallError>> {
        let (edge, until_ms) = (
            self.edge.clone(),
            children::until_ms(&self.edge, self.until_ms),
        );
        Box::pin(async move { children::look(&edge, task_id, until_ms).await })
    }

    fn signal_token(&self, name: &str, n: u32) -> Option<String> {
        let secret = self.edge.secret(TOKEN)?;
        seal::signal_token(&secret, self.task_id, name, n)
    }

    fn bulk(&self, page: BulkPage) -> LocalBoxFuture<'static, Result<Report, Failure>> {
        Box::pin(bulk::page(self.edge.clone(), self.task_id, page))
    }

    fn disabled_since(&self, endpoint: &str) -> LocalBoxFuture<'static, Option<u64>> {
        Box::pin(notices::disabled_since(
            self.edge.clone(),
            endpoint.to_owned(),
        ))
    }

    fn disable(&self, endpoint: &str) -> LocalBoxFuture<'static, ()> {
        Box::pin(notices::disable(self.edge.clone(), endpoint.to_owned()))
    }

    fn kv(&self, call: KvCall) -> LocalBoxFuture<'static, Result<KvReply, CallError>> {
        let (edge, until_ms) = (
            self.edge.clone(),
            children::until_ms(&self.edge, self.until_ms),
        );
        Box::pin(async move { kv::ask(&edge, call, until_ms).await })
    }

    fn kv_keys(
        &self,
        namespace: &str,
        prefix: &str,
    ) -> LocalBoxFuture<'static, Result<Vec<String>, CallError>> {
        let (edge, namespace, prefix) =
            (self.edge.clone(), namespace.to_owned(), prefix.to_owned());
        Box::pin(async move {
            let keys = kv::keys(&edge, &namespace, &prefix, limits::MAX_KV_KEYS).await;
            keys.map_err(CallError::Unreachable)
        })
    }

    fn lock(&self, call: LockCall) -> LocalBoxFuture<'static, Result<LockReply, CallError>> {
        let (edge, until_ms) = (
            self.edge.clone(),
            children::until_ms(&self.edge, self.until_ms),
        );
        Box::pin(async move { lock::ask(&edge, call, until_ms).await })
    }

    fn flow_text(&self, digest: String) -> LocalBoxFuture<'static, Result<String, Failure>> {
        let (edge, functions) = (self.edge.clone(), self.functions.clone());
        let until_ms = children::until_ms(&self.edge, self.until_ms);
        Box::pin(async move {
            let registry = flows::Registry {
                edge: &edge,
                flows: functions.flows(),
                until_ms,
            };
            let text = registry.text(&digest).await.map_err(lost)?;
            text.ok_or_else(|| {
                Failure::terminal("flow_not_found", "the text of the flow is not kept")
            })
        })
    }

    fn flow_current(
        &self,
        namespace: String,
        id: String,
    ) -> LocalBoxFuture<'static, Result<FlowRef, Failure>> {
        let (edge, functions) = (self.edge.clone(), self.functions.clone());
        let until_ms = children::until_ms(&self.edge, self.until_ms);
        Box::pin(async move {
            let absent = || {
                let message = format!("there is no flow {namespace}/{id}");
                Failure::terminal("flow_not_found", message).cut()
            };
            let name = FlowName::read(&namespace, &id).ok_or_else(absent)?;
            let registry = flows::Registry {
                edge: &edge,
                flows: functions.flows(),
                until_ms,
            };
            let current = registry.current(&name).await.map_err(lost)?;
            let current = current.ok_or_else(absent)?;
            if current.disabled {
                let message = format!("the flow {name} is disabled");
                return Err(Failure::terminal("flow_disabled", message).cut());
            }
            Ok(current.revision)
        })
    }

    fn flow_listeners(&self) -> LocalBoxFuture<'static, Result<Vec<FlowRef>, Failure>> {
        let (edge, functions) = (self.edge.clone(), self.functions.clone());
        let until_ms = children::until_ms(&self.edge, self.until_ms);
        Box::pin(async move { flows::listeners(&edge, functions.flows(), until_ms).await })
    }

    fn secret(&self, name: &str) -> Option<String> {
        (name != TOKEN).then(|| self.edge.secret(name)).flatten()
    }

    fn fit(&self, answer: Answer) -> Result<Answer, Failure> {
        headers::fit(answer).map_err(|why| Failure::terminal("answer_invalid", why))
    }
}
