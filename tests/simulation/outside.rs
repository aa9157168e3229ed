//! The services that functions call. What they are asked for is done when it arrives, whoever still waits.

use crate::history::Effect;
use onceward::function::{OutRequest, OutResponse};
use onceward::types::Headers;
use serde_json::{Value, json};
use std::cell::RefCell;

/// The host of every address here.
const HOST: &str = "http://outside.example";

#[derive(Default)]
pub struct Outside {
    calls: RefCell<Vec<Effect>>,
}

/// The address of a target that begins with `/`.
pub fn url(target: &str) -> String {
    format!("{HOST}{target}")
}

/// What a target answers, and after how long; `None`: the connection breaks.
pub struct Reply {
    pub index: usize,
    pub after_ms: u64,
    pub response: Option<OutResponse>,
}

fn response(status: u16, body: &Value) -> OutResponse {
    let mut headers = Headers::default();
    headers.push("content-type", "application/json");
    OutResponse {
        status,
        headers,
        body: body.to_string().into_bytes(),
    }
}

impl Outside {
    /// A request arrives.
    pub fn arrives(&self, request: &OutRequest, at: u64) -> Reply {
        let target = request.url.strip_prefix(HOST).unwrap_or(&request.url);
        let key = request.headers.get("idempotency-key").unwrap_or_default();
        let key = key.trim_matches('"').to_owned();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let undone = body["body"]["id"].as_str().map(str::to_owned);
        let undoes = target.contains("/undo-").then_some(undone).flatten();
        let mut calls = self.calls.borrow_mut();
        let earlier = calls.iter().filter(|call| call.target == target).count();
        let index = calls.len();
        calls.push(Effect {
            target: target.to_owned(),
            key: key.clone(),
            at,
            ended: None,
            hung_up: false,
            undoes: undoes.and_then(|id| id.strip_prefix("id-").map(str::to_owned)),
        });
        let mut words = target.split('/').skip(1);
        let (kind, word) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let ms = word.parse().unwrap_or(0);
        let (after_ms, response) = match kind {
            "shop" => (
                ms,
                Some(response(201, &json!({ "id": format!("id-{key}") }))),
            ),
            "seq" => (0, sequence(word, earlier)),
            _ => (ms, Some(response(200, &json!({ "ok": true })))),
        };
        Reply {
            index,
            after_ms,
            response,
        }
    }

    /// The answer was written, or nobody waited for it.
    pub fn ends(&self, index: usize, at: u64, hung_up: bool) {
        let mut calls = self.calls.borrow_mut();
        calls[index].ended = Some(at);
        calls[index].hung_up = hung_up;
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<Effect> {
        self.calls.borrow().clone()
    }
}

/// The answer to the call after `earlier` ones: a status each, or `drop`; the last one from then on.
fn sequence(words: &str, earlier: usize) -> Option<OutResponse> {
    let words: Vec<&str> = words.split(',').collect();
    let word = words[earlier.min(words.len() - 1)];
    let status = word.parse().ok()?;
    Some(response(status, &json!({ "ok": status < 300 })))
}
