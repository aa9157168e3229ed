//! Whether a webhook may begin or join a task, or several. The checks come in the order of the contract:
//!
//! 1. route: the source exists (404), takes this method (405) and this content type (415);
//! 2. size: declared length, body, kept header fields (413, 431);
//! 3. signature (401; 500 where a secret is not usable); what the provider asks before it sends at all is
//!    answered here, without a task;
//! 4. content: coding (413, 415), nesting (400);
//! 5. tenant and key (400).
//!
//! What comes after, the object decides: fingerprint (422), in progress, stored answer.

use super::admit::{
    Admitted, Delivery, Mode, about, body_fits, closely, fits, key_at, misconfigured, unreadable,
    wishes,
};
use super::code::Code;
use super::headers::keep_input;
use super::media;
use super::problem::Problem;
use super::prove::{Proven, material, prove};
use super::split;
use crate::config::{App, Named, Source, Tenant};
use crate::limits::MAX_KEY_CHARS;
use crate::types::{Answer, Headers, Input, TaskKey, TaskKind};
use crate::webhook::{Document, KeySource, Proof, event_of, hex, single};
use serde_json::Value;

/// A webhook that has come in.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// Its head.
    pub delivery: &'a Delivery<'a>,
    /// The tenant that its address names.
    pub tenant: Option<&'a str>,
    /// Milliseconds since 1970.
    pub now_ms: u64,
}

/// What is to be done with a webhook that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Which of the source's secrets made the signature.
    pub secret: Option<usize>,
    /// SHA-256 of the signed bytes, in hex, if the source has them recognised.
    pub signed: Option<String>,
    /// What it is.
    pub what: What,
}

/// What a webhook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A question of the provider's: no task.
    Handshake(Answer),
    /// One task.
    Task(Box<Admitted>),
    /// A task for each of its items.
    Split(Vec<Admitted>),
}

/// Checks of the head of a webhook: the source exists, and nothing is too large as far as is known.
///
/// # Errors
/// 404, 405, 413, 415, 431.
pub fn check_hook<'a, F: Named>(
    app: &'a App<F>,
    source: &str,
    arrived: &Arrived<'_>,
) -> Result<&'a Source, Problem> {
    let absent = || Problem::new(Code::NotFound, "No source has this name.");
    let source = app.source(source).ok_or_else(absent)?;
    if (source.tenant_rule() == &Tenant::Path) != arrived.tenant.is_some() {
        return Err(absent());
    }
    let delivery = arrived.delivery;
    let method = delivery.method;
    if method != "POST" && !source.more_methods().contains(&method) {
        return Err(Problem::method_not_allowed(&allow_of(source)));
    }
    if method == "POST" {
        media::check(delivery.headers, source.content_types())?;
    }
    fits(
        delivery,
        &keep_input(delivery.headers, source.kept_headers()),
    )?;
    Ok(source)
}

/// The value of `Allow`.
pub fn allow_of(source: &Source) -> String {
    let mut methods = vec!["POST"];
    methods.extend(source.more_methods());
    methods.push("OPTIONS");
    methods.join(", ")
}

/// Decides about a webhook. `lookup` gives the value of a secret by its name.
///
/// # Errors
/// The first check that fails, as a problem to answer with. Its `reason` is for the log.
///
/// ```
/// use onceward::config::{Builder, Source};
/// use onceward::function::{Ctx, Function};
/// use onceward::http::admit::Delivery;
/// use onceward::http::hook::{Arrived, What, admit_hook};
/// use onceward::types::{Failure, Headers};
///
/// async fn greet(_: Ctx, name: String) -> Result<String, Failure> { Ok(name) }
/// let app = Builder::new()
///     .function(Function::new("greet", greet))
///     .source(Source::generic("inbox").runs("greet"))
///     .build()
///     .unwrap();
/// let headers: Headers = [("Idempotency-Key", "\"k1\"")].into_iter().collect();
/// let delivery = Delivery { method: "POST", target: "/hooks/inbox", headers: &headers };
/// let arrived = Arrived { delivery: &delivery, tenant: None, now_ms: 0 };
/// let hook = admit_hook(&app, "inbox", &arrived, b"{}".to_vec(), &|_| None).unwrap();
/// let What::Task(admitted) = hook.what else { panic!("one task") };
/// assert_eq!(admitted.key.key, "k1");
/// ```
pub fn admit_hook<F: Named>(
    app: &App<F>,
    source: &str,
    arrived: &Arrived<'_>,
    body: Vec<u8>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Hook, Problem> {
    let source = check_hook(app, source, arrived)?;
    body_fits(body.len())?;
    match prove(source, arrived, body, lookup)? {
        Proven::Handshake(secret, answer) => Ok(Hook::handshake(secret, answer)),
        Proven::Holds {
            body,
            proof,
            secret,
        } => admit(app, source, arrived, body, &proof, secret),
    }
}

impl Hook {
    fn handshake(secret: Option<usize>, answer: Answer) -> Self {
        Self {
            secret,
            signed: None,
            what: What::Handshake(answer),
        }
    }
}

/// A proven delivery, with its tenant, its key or its items.
fn admit<F: Named>(
    app: &App<F>,
    source: &Source,
    arrived: &Arrived<'_>,
    body: Vec<u8>,
    proof: &Proof,
    secret: Option<usize>,
) -> Result<Hook, Problem> {
    let delivery = arrived.delivery;
    let content_type = delivery.headers.get("content-type");
    // No signature covers the content type: another one must not lead to another key.
    let document = if source.scheme().is_signed() {
        Document::by_its_bytes(&body)
    } else {
        Document::new(content_type, &body)
    };
    let tenant = tenant(source, arrived, &document)?;
    let headers = kept(source, arrived, &document, secret);
    // The builder has checked that it exists.
    let function = app
        .function(source.function())
        .ok_or_else(|| misconfigured(format!("source {} runs no known function", source.name())))?;
    let prefer = wishes(source.key_rules(), delivery.headers);
    let own_5xx = source.passes_5xx();
    let own = source.own_respond_within_ms();
    let respond_within_ms = own.unwrap_or(function.policy().respond_within_ms);
    let admitted = |key: &str, input: Input, fingerprint| Admitted {
        key: TaskKey::new(TaskKind::Source, source.name(), &tenant, key),
        function: source.function().to_owned(),
        fingerprint,
        input,
        prefer,
        mode: Mode::Webhook { own_5xx },
        respond_within_ms,
        about: about(delivery.headers),
    };
    let what = if let Some(split) = &source.provider().split
        && let Some(items) = split::items(split, &document)?
    {
        let each = items.into_iter().map(|item| {
            let mut headers = headers.clone();
            headers.set("content-type", "application/json");
            let body = item.body;
            admitted(&item.key, Input { headers, body }, None)
        });
        What::Split(each.collect())
    } else {
        let from = KeySource {
            headers: delivery.headers,
            target: delivery.target,
            document: &document,
            material: material(source, proof, &body),
        };
        let key = key_at(&closely(source.key_rules(), prefer), &from)?;
        let fingerprint = source
            .fingerprint_mode()
            .of(delivery.method, delivery.target, &document)
            .map_err(unreadable)?;
        What::Task(Box::new(admitted(
            &key,
            Input { headers, body },
            fingerprint,
        )))
    };
    Ok(Hook {
        secret,
        signed: recognised(source, proof),
        what,
    })
}

/// What the signed bytes are recognised by, if the source wishes that.
fn recognised(source: &Source, proof: &Proof) -> Option<String> {
    let material = source.signed_window_ms().and(proof.material)?;
    Some(hex(&material))
}

/// The fields that the function sees: those that the source keeps, and what is known of the delivery.
fn kept(
    source: &Source,
    arrived: &Arrived<'_>,
    document: &Document<'_>,
    secret: Option<usize>,
) -> Headers {
    let sent = arrived.delivery.headers;
    let mut headers = keep_input(sent, source.kept_headers());
    if let Some(event) = event_of(&source.provider().event, sent, document) {
        headers.set("onceward-event", event);
    }
    if let Some(at) = secret {
        headers.set("onceward-signed-by", at.to_string());
    }
    headers
}

/// The tenant label of a delivery. It is part of what names the task: missing, it names none.
fn tenant(
    source: &Source,
    arrived: &Arrived<'_>,
    document: &Document<'_>,
) -> Result<String, Problem> {
    let missing = |place: String| {
        Problem::new(
            Code::KeyMissing,
            format!("This source needs a tenant in {place}."),
        )
    };
    let (place, text) = match source.tenant_rule() {
        Tenant::Fixed(label) => return Ok(label.clone()),
        // The route has checked it.
        Tenant::Path => return Ok(arrived.tenant.unwrap_or_default().to_owned()),
        Tenant::Header(name) => (name.clone(), header_label(arrived.delivery.headers, name)?),
        Tenant::Body(pointer) => {
            let text = match document.find(pointer).map_err(unreadable)? {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Number(digits)) => Some(digits.to_string()),
                _ => None,
            };
            (pointer.as_str().to_owned(), text)
        }
    };
    let text = text
        .filter(|text| !text.is_empty())
        .ok_or_else(|| missing(place.clone()))?;
    let plain = text.len() <= MAX_KEY_CHARS && text.bytes().all(|b| b.is_ascii_graphic());
    if plain {
        return Ok(text);
    }
    Err(Problem::new(
        Code::KeyMalformed,
        format!("The tenant in {place} is not 1 to {MAX_KEY_CHARS} visible ASCII characters."),
    ))
}

fn header_label(headers: &Headers, name: &str) -> Result<Option<String>, Problem> {
    let value = single(headers, name).map_err(|_| {
        Problem::new(
            Code::KeyMalformed,
            format!("{name}: the field came more than once; send it once."),
        )
    })?;
    Ok(value.map(str::to_owned))
}
