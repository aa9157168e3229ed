//! Which task is to be erased: it is named by its key, not by its id.

use super::auth::Caller;
use super::code::Code;
use super::problem::{Cause, Problem, settled_body};
use crate::config::is_route_name;
use crate::limits::MAX_KEY_CHARS;
use crate::types::{TaskKey, TaskKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of a request.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EraseRequest {
    /// The source that the key came to; this or `function`.
    pub source: Option<String>,
    /// The function that was called with it.
    pub function: Option<String>,
    /// The tenant label, if the deliveries have one.
    pub tenant: Option<String>,
    /// The idempotency key, without quotes.
    pub key: String,
}

/// What was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Erased {
    /// The task: a hash of the key, and all that is left of it.
    #[serde(serialize_with = "super::document::id")]
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String, format = Uuid))]
    pub task_id: crate::types::TaskId,
    /// Always true.
    pub erased: bool,
}

/// Reads which task is meant. A caller with a tenant means its own.
///
/// # Errors
/// 400 that names everything that is wrong. Nothing of the key is in it.
///
/// ```
/// use onceward::http::auth::Caller;
/// use onceward::http::erase::read;
/// use onceward::types::{TaskKey, TaskKind};
/// let caller = |tenant: &str| Caller { name: "ops".into(), tenant: tenant.into() };
/// let body = br#"{"source": "shop", "key": "k1"}"#;
/// let key = |tenant| TaskKey::new(TaskKind::Source, "shop", tenant, "k1");
/// assert_eq!(read(body, &caller("")), Ok(key("")));
/// assert_eq!(read(body, &caller("acme")), Ok(key("acme")));
/// assert_eq!(read(b"{}", &caller("")).unwrap_err().status(), 400);
/// let wrong = read(br#"{"source": "shop", "key": ""}"#, &caller("")).unwrap_err();
/// assert_eq!((&*wrong.errors[0].pointer, &*wrong.detail), ("/key", "The body has problems; `errors` lists them."));
/// ```
pub fn read(body: &[u8], caller: &Caller) -> Result<TaskKey, Problem> {
    // What serde says of a text may quote it.
    let shape = "The body must be an object like {\"source\": \"shop\", \"tenant\": \"acme\", \"key\": \"order-1\"}, with source or function; tenant may be left out.";
    let shape = || Problem::new(Code::InputInvalid, shape);
    let wish: Value = serde_json::from_slice(body).map_err(|_| shape())?;
    let wish = EraseRequest::deserialize(wish).map_err(|_| shape())?;
    let mut wrong = Vec::new();
    let mut say = |pointer: &str, detail: &str| {
        wrong.push(Cause {
            detail: detail.to_owned(),
            pointer: pointer.to_owned(),
        });
    };
    let (kind, name) = match (wish.source, wish.function) {
        (Some(name), None) => (TaskKind::Source, name),
        (None, Some(name)) => (TaskKind::Function, name),
        _ => return Err(shape()),
    };
    // Functions of gateways are called `proxy:NAME`.
    let bare = name.strip_prefix(super::policy::GATEWAY).unwrap_or(&name);
    if !is_route_name(bare) {
        say("/name", "no source or function can have this name");
    }
    let fits =
        |text: &str| text.bytes().all(|b| b.is_ascii_graphic()) && text.len() <= MAX_KEY_CHARS;
    let tenant = wish.tenant.unwrap_or_else(|| caller.tenant.clone());
    if !fits(&tenant) {
        say("/tenant", "wanted at most 255 visible ASCII characters");
    }
    if wish.key.is_empty() {
        say("/key", "it is empty");
    }
    settled_body(wrong)?;
    Ok(TaskKey::new(kind, &name, &tenant, &wish.key))
}
