//! The runtime's outside, on the platform.

use super::variable::{NOTIFY, variable};
use super::{analytics, clock, d1, limiter, log, outbound, probe, selfcall, stub};
use crate::config::Endpoints;
use crate::function::{FetchError, OutRequest, OutResponse};
use crate::http::object_call::{Call, Reply};
use crate::runtime::{Broken, Continuation, Later, Level, Platform, Rows, Tally};
use crate::store::d1::Statement;
use crate::types::{Database, Policy, Token};
use serde_json::Value;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use worker::{Context, Env, State};

thread_local! {
    static ENDPOINTS: OnceCell<Rc<Endpoints>> = const { OnceCell::new() };
    static TALLY: &'static Tally = Box::leak(Box::default());
}

/// Who keeps this invocation alive after its answer.
pub(super) enum Waits {
    /// A request.
    Request(Context),
    /// An object.
    Object(Rc<State>),
    /// Nobody: a scheduled run has no answer.
    Nowhere,
}

/// One invocation on the platform.
pub(super) struct PlatformEdge {
    env: Env,
    waits: Waits,
    /// How many there are, once somebody has asked.
    databases: Cell<Option<u16>>,
}

impl PlatformEdge {
    pub(super) fn new(env: Env, waits: Waits) -> Self {
        Self {
            env,
            waits,
            databases: Cell::new(None),
        }
    }
}

impl Platform for PlatformEdge {
    fn now_ms(&self) -> u64 {
        clock::now_ms()
    }

    fn sleep(&self, ms: u64) -> Later<()> {
        Box::pin(clock::sleep(ms))
    }

    fn token(&self) -> Token {
        clock::token()
    }

    fn jitter(&self) -> u32 {
        clock::jitter()
    }

    fn send(&self, call: &Call) -> Later<Result<Reply, Broken>> {
        stub::send(self.env.clone(), call)
    }

    fn go_on(&self, continuation: Continuation) -> Later<Result<u16, String>> {
        Box::pin(selfcall::send(self.env.clone(), continuation))
    }

    fn databases(&self) -> u16 {
        let known = self.databases.get();
        let known = known.unwrap_or_else(|| d1::databases(&self.env));
        self.databases.set(Some(known));
        known
    }

    fn d1(
        &self,
        database: Database,
        statements: Vec<Statement>,
    ) -> Later<Result<Vec<Rows>, String>> {
        Box::pin(d1::batch(self.env.clone(), database, statements))
    }

    fn fetch(&self, request: OutRequest) -> Later<Result<OutResponse, FetchError>> {
        Box::pin(outbound::send(request))
    }

    fn wait_until(&self, work: Later<()>) {
        match &self.waits {
            Waits::Request(context) => context.wait_until(work),
            Waits::Object(state) => state.wait_until(work),
            Waits::Nowhere => worker::wasm_bindgen_futures::spawn_local(work),
        }
    }

    fn secret(&self, name: &str) -> Option<String> {
        let secret = self.env.secret(name).map(|s| s.to_string());
        secret
            .or_else(|_| self.env.var(name).map(|v| v.to_string()))
            .ok()
    }

    fn admits(&self, limiter: &str, key: &str) -> Later<Result<bool, String>> {
        Box::pin(limiter::admits(
            self.env.clone(),
            limiter.to_owned(),
            key.to_owned(),
        ))
    }

    fn log(&self, level: Level, event: &str, fields: Value) {
        match level {
            Level::Info => log::info(event, fields),
            Level::Error => log::error(event, fields),
        }
    }

    /// Local engines let a slice run for ever; the lab build ends it as the platform would, without a
    /// word. The platform itself needs no help.
    fn cut_ms(&self, policy: &Policy) -> Option<u64> {
        cfg!(feature = "lab").then_some(policy.slice_cut_ms)
    }

    fn endpoints(&self) -> Rc<Endpoints> {
        // Variables stay the same for as long as an instance lives.
        ENDPOINTS.with(|kept| {
            let read = || Endpoints::read(variable(&self.env, NOTIFY).as_ref()).0;
            Rc::clone(kept.get_or_init(|| Rc::new(read())))
        })
    }

    fn tally(&self) -> &Tally {
        // One for all requests of an instance, which lives as long as it.
        TALLY.with(|tally| *tally)
    }

    fn point(&self, texts: &[&str], numbers: &[f64]) {
        analytics::write(&self.env, texts, numbers);
    }

    fn count(&self, what: &'static str, by: u64) {
        probe::count(what, by);
    }

    #[cfg(feature = "lab")]
    fn faults(&self, wish: Option<&Value>) -> Result<Value, Vec<String>> {
        if let Some(wish) = wish {
            probe::set_faults(wish)?;
        }
        Ok(probe::faults())
    }

    #[cfg(feature = "lab")]
    fn counters(&self) -> Value {
        probe::counters()
    }
}
