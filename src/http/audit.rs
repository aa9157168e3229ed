//! The audit as a list: what is looked for, and what is shown.

use super::problem::{Cause, Problem};
use super::query;
use crate::limits;
use crate::store::d1::AuditQuery;
use crate::types::time::rfc3339;
use crate::types::{Answer, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The parameters of the list.
const PARAMETERS: &str = "task_id, token, action, created_after, created_before, limit and cursor";

/// A row, as D1 gives it.
#[derive(Clone, Debug, Deserialize)]
pub struct AuditRow {
    audit_id: String,
    at_ms: f64,
    token: String,
    action: String,
    task_id: Option<String>,
    detail: Option<String>,
    status: Option<f64>,
}

/// What an operator did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct AuditDocument {
    /// Names the action, in the log as well.
    pub audit_id: String,
    /// When it was asked for.
    #[cfg_attr(not(target_arch = "wasm32"), schema(format = DateTime))]
    pub at: String,
    /// Name of the API token.
    pub token: String,
    /// What was asked for.
    pub action: String,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(not(target_arch = "wasm32"), schema(format = Uuid))]
    pub task_id: Option<String>,
    /// How it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Option<Object>))]
    pub detail: Option<Value>,
    /// Status of the answer; without one it is not known what came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// A page of the audit, newest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// The actions.
    pub actions: Vec<AuditDocument>,
    /// There are older ones: the `cursor` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl AuditRow {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // D1 gives integers as doubles
    fn document(self) -> AuditDocument {
        let detail = self.detail.as_deref();
        AuditDocument {
            audit_id: self.audit_id,
            at: rfc3339(self.at_ms as u64),
            token: self.token,
            action: self.action,
            task_id: self.task_id,
            detail: detail.and_then(|text| serde_json::from_str(text).ok()),
            status: self.status.map(|status| status as u16),
        }
    }
}

/// What of the audit is asked for.
///
/// ```
/// use onceward::http::audit::Wish;
/// let wish = Wish::read("/v1/audit?action=cancel&limit=5").unwrap();
/// assert_eq!(wish.query.action.as_deref(), Some("cancel"));
/// assert_eq!(wish.query.limit, 6, "one more tells whether there is another page");
/// assert_eq!(Wish::read("/v1/audit?limit=0").unwrap_err().errors[0].pointer, "limit");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The rows that are looked for, one more than are shown.
    pub query: AuditQuery,
    limit: u32,
}

impl Wish {
    /// Reads the parameters of an address, and names everything that is wrong with them.
    ///
    /// # Errors
    /// 400.
    pub fn read(target: &str) -> Result<Self, Problem> {
        let mut query = AuditQuery::default();
        let mut limit = limits::LIST_PAGE;
        let mut wrong = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in query::parameters(target) {
            if seen.contains(&name) {
                wrong.push(cause(&name, "it came more than once"));
                continue;
            }
            let wanted = match &*name {
                "task_id" => keep(
                    &mut query.task_id,
                    TaskId::parse(&value).map(|id| id.to_string()),
                    "wanted the id of a task",
                ),
                "token" => keep(&mut query.token, word(&value), "wanted the name of a token"),
                "action" => keep(
                    &mut query.action,
                    word(&value),
                    "wanted the name of an action",
                ),
                "created_after" => {
                    keep(&mut query.after_ms, query::time_ms(&value), query::NO_TIME)
                }
                "created_before" => {
                    keep(&mut query.before_ms, query::time_ms(&value), query::NO_TIME)
                }
                "cursor" => keep(
                    &mut query.behind,
                    cursor(&value),
                    "wanted a `next_cursor` of an earlier page",
                ),
                "limit" => match value.parse() {
                    Ok(n) if (1..=limits::LIST_PAGE_MAX).contains(&n) => {
                        limit = n;
                        None
                    }
                    _ => Some("wanted a whole number from 1 to 200"),
                },
                _ => {
                    wrong.push(query::unknown(name, PARAMETERS));
                    continue;
                }
            };
            wrong.extend(wanted.map(|wanted| cause(&name, wanted)));
            seen.push(name);
        }
        query::settled(wrong)?;
        query.limit = limit + 1;
        Ok(Self { query, limit })
    }

    /// The rows that were found, as a page.
    pub fn answer(&self, rows: Vec<AuditRow>) -> Answer {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        let actions: Vec<AuditDocument> = rows
            .into_iter()
            .take(limit)
            .map(AuditRow::document)
            .collect();
        let last = actions.last().filter(|_| more);
        let page = AuditPage {
            next_cursor: last.map(|last| last.audit_id.clone()),
            actions,
        };
        let mut answer = Answer::json(200, &serde_json::to_value(&page).unwrap_or_default());
        answer.headers.push("cache-control", "no-store");
        answer
    }
}

/// Keeps what could be read; says what was wanted if nothing could.
fn keep<T>(place: &mut Option<T>, read: Option<T>, wanted: &'static str) -> Option<&'static str> {
    *place = read;
    place.is_none().then_some(wanted)
}

fn cause(name: &str, detail: &str) -> Cause {
    Cause {
        detail: detail.to_owned(),
        pointer: name.to_owned(),
    }
}

/// A name of ours: lower case, digits, `_` and `-`.
fn word(text: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    (!text.is_empty() && text.len() <= 64 && text.bytes().all(plain)).then(|| text.to_owned())
}

/// A cursor is the id of a row: twelve hexadecimal digits, a dot, and what is random.
fn cursor(text: &str) -> Option<String> {
    let (time, random) = text.split_once('.')?;
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let is_one = time.len() == 12
        && time.bytes().all(hex)
        && (1..=64).contains(&random.len())
        && random.bytes().all(plain);
    is_one.then(|| text.to_owned())
}
