//! Why a delivery is refused, for an operator.

use super::App;
use super::audit::{Act, audited};
use super::ports::Edge;
use super::serve::{Body, read_up_to};
use crate::config::{Source, Tenant};
use crate::http::auth::Caller;
use crate::http::code::Code;
use crate::http::explain::{self, Subject};
use crate::http::problem::Problem;
use crate::limits::MAX_BODY_BYTES;
use crate::types::Answer;
use crate::webhook::explain::SecretAt;
use serde_json::json;

/// A body of the largest size takes a third more in base64, and it has some fields beside it.
const MAX_DESCRIPTION_BYTES: usize = 2 * MAX_BODY_BYTES;

/// `POST /v1/sources/{source}/explain`. Nothing of what is described is stored or logged.
pub(super) async fn explain(
    source: &str,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
    caller: &Caller,
) -> Result<Answer, Problem> {
    let source = app
        .source(source)
        .filter(|source| is_theirs(source, caller))
        .ok_or_else(|| Problem::new(Code::NotFound, "No source has this name."))?;
    let described = read_up_to(body, MAX_DESCRIPTION_BYTES).await?;
    let now_ms = edge.now_ms();
    let names = source.secret_names();
    let texts: Vec<String> = names
        .iter()
        .map(|secret| edge.secret(&secret.name).unwrap_or_default())
        .collect();
    let secrets: Vec<SecretAt<'_>> = names
        .iter()
        .zip(&texts)
        .map(|(secret, text)| SecretAt {
            name: &secret.name,
            text,
            expired: secret.until_ms.is_some_and(|until| until <= now_ms),
        })
        .collect();
    let subject = Subject {
        name: source.name(),
        scheme: source.scheme(),
        secrets: &secrets,
        public_url: source.told_url(),
        encoding: source.encoding(),
    };
    let act = Act {
        caller,
        action: "explain",
        task_id: None,
        detail: json!({ "source": source.name() }),
    };
    let explained = async { explain::explain(&subject, &described, now_ms) };
    audited(edge, act, explained).await
}

/// A source of several tenants is nobody's but the deployment's.
fn is_theirs(source: &Source, caller: &Caller) -> bool {
    match source.tenant_rule() {
        Tenant::Fixed(label) => caller.sees(label),
        Tenant::Header(_) | Tenant::Body(_) | Tenant::Path => caller.tenant.is_empty(),
    }
}
