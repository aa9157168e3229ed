//! Watching and steering tasks over HTTP, as an operator does.

use super::eventually::{check, eventually};
use super::http::{Answer, Request};
use super::{Server, TOKEN};
use serde_json::Value;

impl Server {
    /// Sends a signal with the API token.
    #[track_caller]
    pub fn signal(&self, id: &str, name: &str, key: &str, payload: &Value) -> Answer {
        self.send(&signal_request(id, name).key(key).json(payload))
    }

    /// Has a task cancelled.
    #[track_caller]
    pub fn cancel(&self, id: &str) -> Answer {
        self.send(&steer(id, "cancel"))
    }

    /// Has undone what a task did.
    #[track_caller]
    pub fn undo(&self, id: &str) -> Answer {
        self.send(&steer(id, "undo"))
    }

    /// Has a task tried again.
    #[track_caller]
    pub fn retry(&self, id: &str, wish: &Value) -> Answer {
        self.send(&steer(id, "retry").json(wish))
    }

    /// All records of a task, from all pages.
    #[track_caller]
    pub fn journal(&self, id: &str) -> Vec<Value> {
        let (mut records, mut query) = (Vec::new(), String::new());
        loop {
            let target = format!("/v1/tasks/{id}/journal{query}");
            let page = self
                .send(&Request::get(&target).bearer(TOKEN))
                .expect(200)
                .json();
            let some = page["records"].as_array().expect("a list of records");
            records.extend(some.iter().cloned());
            match page["next"].as_str() {
                Some(next) => query = format!("?after={next}"),
                None => return records,
            }
        }
    }

    /// What the runtime has counted since the server started.
    #[track_caller]
    pub fn counters(&self) -> Value {
        let request = Request::get("/lab/counters").bearer(TOKEN);
        self.send(&request).expect(200).json()
    }

    /// Waits until a task is suspended for this, and gives its document.
    #[track_caller]
    pub fn wait_waiting(&self, id: &str, what: &str) -> Value {
        eventually(|| {
            let answer = self.look(id);
            let document = answer.json();
            let waits = document["state"] == "suspended" && document["waiting"]["for"] == what;
            check(waits, || {
                format!("not waiting for {what}: {}", answer.shown())
            })?;
            Ok(document)
        })
    }

    /// Waits until a task has ended, in whatever way, and gives its document. Asks seldom.
    #[track_caller]
    pub fn end_of(&self, id: &str) -> Value {
        let target = format!("/v1/tasks/{id}?wait=20");
        eventually(|| {
            let answer = self.send(&Request::get(&target).bearer(TOKEN));
            let document = answer.json();
            let state = document["state"].as_str().unwrap_or_default();
            let ended = matches!(state, "succeeded" | "failed" | "cancelled");
            check(ended, || answer.shown())?;
            Ok(document)
        })
    }
}

/// A signal with the API token; key and payload are for the caller to add.
pub fn signal_request(id: &str, name: &str) -> Request {
    Request::post(&format!("/v1/tasks/{id}/signals/{name}")).bearer(TOKEN)
}

/// `cancel`, `retry` or `undo`.
pub fn steer(id: &str, what: &str) -> Request {
    Request::post(&format!("/v1/tasks/{id}/{what}")).bearer(TOKEN)
}

/// A time of a document in milliseconds since 1970.
#[track_caller]
pub fn time_ms(time: &Value) -> i64 {
    let text = time.as_str();
    let at: Option<jiff::Timestamp> = text.and_then(|t| t.parse().ok());
    at.unwrap_or_else(|| panic!("no time: {time}"))
        .as_millisecond()
}
