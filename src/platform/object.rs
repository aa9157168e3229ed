//! The class of the objects: one per key. What an object does is in `runtime::Object`.
#![allow(missing_docs)] // of what the macro makes

use super::edge::{PlatformEdge, Waits};
use super::storage::EdgeStorage;
use super::{log, probe};
use crate::http::object_call::{Call, Frame, Reply, Told};
use crate::runtime::{Fault, Object};
use crate::types::TaskId;
use serde_json::json;
use std::rc::Rc;
use worker::{DurableObject, Env, Error, Request, Response, Result, State, durable_object};

/// The Durable Object class. Export it from your Worker under this name.
#[durable_object(alarm)]
pub struct TaskObject {
    state: Rc<State>,
    object: Object,
}

// Everything that a panic could leave half-done is read from storage again with each message.
impl std::panic::RefUnwindSafe for TaskObject {}
impl std::panic::UnwindSafe for TaskObject {}

fn thrown(fault: Fault) -> Error {
    Error::RustError(fault.0)
}

impl DurableObject for TaskObject {
    fn new(state: State, env: Env) -> Self {
        let state = Rc::new(state);
        let storage = Rc::new(EdgeStorage::of(&state));
        let edge = Rc::new(PlatformEdge::new(env, Waits::Object(Rc::clone(&state))));
        let object = Object::new(edge, storage);
        Self { state, object }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        probe::count("object_requests", 1);
        let bytes = request.bytes().await?;
        let call = Frame::decode(&bytes)
            .ok_or_else(|| "cut off".to_owned())
            .and_then(Call::from_frame);
        let reply = match call {
            Ok(call) => self.object.answer(call).await.map_err(thrown)?,
            Err(why) => Reply::of(Told::Unavailable(why)),
        };
        Response::from_bytes(reply.to_frame().encode())
    }

    async fn alarm(&self) -> Result<Response> {
        probe::count("object_requests", 1);
        probe::count("alarm_runs", 1);
        let Some(id) = self.state.id().name().as_deref().and_then(TaskId::parse) else {
            log::error("alarm_without_name", json!({}));
            return Response::empty();
        };
        self.object.alarm(id).await.map_err(thrown)?;
        Response::empty()
    }
}
