//! An outside that answers by a script.

use super::action::{Reaction, Sent};
use crate::function::FetchError;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Answers to requests of one method and one address, in order; the last one again and again.
struct Line {
    method: String,
    url: String,
    answers: Vec<Reaction>,
}

/// What was answered in one run.
#[derive(Default)]
struct Given {
    /// Answers that were given out, by line.
    next: BTreeMap<usize, usize>,
    /// The last answer to a derived key, by key.
    by_key: BTreeMap<String, usize>,
}

/// The script. Cheap to clone; clones share it.
#[derive(Clone, Default)]
pub(super) struct Script {
    lines: Rc<RefCell<Vec<Line>>>,
    given: Rc<RefCell<Given>>,
}

impl Script {
    /// Adds answers; `*` in the method or the address stands for any text.
    pub(super) fn add(&self, method: &str, url: &str, answers: Vec<Reaction>) {
        let (method, url) = (method.to_owned(), url.to_owned());
        self.lines.borrow_mut().push(Line {
            method,
            url,
            answers,
        });
    }

    /// A run begins.
    pub(super) fn restart(&self) {
        self.given.take();
    }

    /// As a service answers that keeps to derived keys: a request that comes again gets the answer that it got, unless
    /// that was a failure; any other one gets the next answer. Without a script all is well.
    pub(super) fn answer(&self, sent: &Sent) -> Reaction {
        let lines = self.lines.borrow();
        if lines.is_empty() {
            return Reaction::status(200);
        }
        let (method, url) = (&sent.request.method, &sent.request.url);
        let fits = |line: &Line| matches(&line.method, method) && matches(&line.url, url);
        let Some((at, line)) = lines.iter().enumerate().find(|(_, line)| fits(line)) else {
            let message = format!("no answer is scripted for {method} {url}");
            return Reaction::error(FetchError::Refused(message));
        };
        let mut given = self.given.borrow_mut();
        let before = given
            .by_key
            .get(sent.key())
            .and_then(|nth| line.answers.get(*nth));
        if let Some(before) = before.filter(|reaction| reaction.is_success()) {
            // It is there already.
            return Reaction {
                after_ms: 0,
                ..before.clone()
            };
        }
        let next = given.next.entry(at).or_default();
        let nth = (*next).min(line.answers.len().saturating_sub(1));
        *next += 1;
        given.by_key.insert(sent.key().to_owned(), nth);
        line.answers
            .get(nth)
            .cloned()
            .unwrap_or_else(|| Reaction::status(200))
    }
}

/// Whether a text fits a pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(tail) = text.strip_prefix(head) else {
        return false;
    };
    let ends = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
    ends.into_iter().any(|at| matches(rest, &tail[at..]))
}
