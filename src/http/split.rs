//! One delivery that carries many events: each becomes a task of its own, under the event's own key.

use super::code::Code;
use super::problem::Problem;
use crate::limits::MAX_SPLIT_ITEMS;
use crate::types::{Answer, Headers, TaskId};
use crate::webhook::{Document, DocumentFault, KeyRule, KeySource, Split, hex, key};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// One event of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its key.
    pub key: String,
    /// Its JSON. White space is not kept; the digits of numbers are.
    pub body: Vec<u8>,
}

/// The items of a delivery; `None` if it has no list where one is looked for, so that it is one event.
///
/// An item without a key of its own, or with none that can be one, is named by its content: equal items are then one event.
///
/// # Errors
/// More items than one delivery may have; JSON that can't be read; no list where the body should be one.
pub fn items(split: &Split, document: &Document<'_>) -> Result<Option<Vec<Item>>, Problem> {
    let unreadable =
        |fault: DocumentFault| Problem::new(Code::InputInvalid, format!("Body: {fault}."));
    let Some(Value::Array(list)) = document.find(&split.list).map_err(unreadable)? else {
        // Where the whole body is the list there is nothing else that it could be.
        if split.list.tokens().is_empty() {
            let wanted = "The body is no JSON list; this source takes lists of events.";
            return Err(Problem::new(Code::InputInvalid, wanted));
        }
        return Ok(None);
    };
    if list.len() > MAX_SPLIT_ITEMS {
        return Err(Problem::new(
            Code::BodyTooLarge,
            format!(
                "The delivery has {} items; one may have {MAX_SPLIT_ITEMS}.",
                list.len()
            ),
        ));
    }
    Ok(Some(list.iter().map(|item| one(split, item)).collect()))
}

fn one(split: &Split, item: &Value) -> Item {
    // A value that was read can be written.
    let body = serde_json::to_vec(item).unwrap_or_default();
    let document = Document::new(Some("application/json"), &body);
    let from = KeySource {
        headers: &Headers::default(),
        target: "",
        document: &document,
        material: None,
    };
    let rule = [KeyRule::Body(split.key.clone())];
    // One odd event must not keep the others out: it is named by what it says.
    let key = key::extract(&rule, &from)
        .unwrap_or_else(|_| format!("item-{}", hex(&Sha256::digest(&body))));
    Item { key, body }
}

/// What became of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its task.
    pub task_id: TaskId,
    /// Its task has ended, as an earlier delivery's.
    pub ended: bool,
    /// Its task was there before.
    pub repeated: bool,
}

/// The answer to a delivery whose items all have their tasks: 202, or 200 if all have ended.
pub fn answer(outcomes: &[Outcome]) -> Answer {
    let ended = outcomes.iter().all(|outcome| outcome.ended);
    let repeated = outcomes.iter().filter(|outcome| outcome.repeated).count();
    let ids: Vec<String> = outcomes.iter().map(|o| o.task_id.to_string()).collect();
    let document = json!({ "items": ids.len(), "repeated": repeated, "task_ids": ids });
    let mut answer = Answer::json(if ended { 200 } else { 202 }, &document);
    answer.headers.push("cache-control", "no-store");
    if !outcomes.is_empty() && repeated == outcomes.len() {
        answer.headers.push("idempotent-replayed", "true");
    }
    answer
}
