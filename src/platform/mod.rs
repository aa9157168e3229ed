//! The edge.
use worker::*;

/// The object.
#[durable_object(alarm)]
pub struct TaskObject {
    _state: State,
}
impl std::panic::RefUnwindSafe for TaskObject {}
impl std::panic::UnwindSafe for TaskObject {}
impl DurableObject for TaskObject {
    fn new(state: State, _env: Env) -> Self {
        Self { _state: state }
    }
    async fn fetch(&self, _req: Request) -> Result<Response> {
        Response::ok("")
    }
    async fn alarm(&self) -> Result<Response> {
        Response::ok("")
    }
}
#[cfg(feature = "entry")]
#[event(fetch)]
async fn fetch(req: Request, _env: Env, _ctx: Context) -> Result<Response> {
    if req.path() == "/healthz" {
        return Response::ok("ok");
    }
    Response::error("not found", 404)
}
#[cfg(feature = "entry")]
#[event(scheduled)]
async fn scheduled(_e: ScheduledEvent, _env: Env, _c: ScheduleContext) {}
