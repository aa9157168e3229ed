//! A key that belongs to another request, or did.

use super::code::Code;
use super::object_call::{Reply, Told};
use super::problem::{Cause, Problem};
use crate::types::TaskId;

impl Reply {
    /// Same key, other fingerprint; with the names of the parts that differ.
    ///
    /// ```
    /// use onceward::http::object_call::Reply;
    /// let reply = Reply::key_reused(&["/amount".to_owned()]);
    /// assert_eq!(Reply::from_frame(reply.to_frame()).unwrap().differs(), ["/amount"]);
    /// ```
    pub fn key_reused(differs: &[String]) -> Self {
        Self {
            told: Told::KeyReused,
            // Texts always have a JSON form.
            body: serde_json::to_vec(differs).unwrap_or_default(),
        }
    }

    /// The names of the parts that differ; empty if they are not known.
    pub fn differs(&self) -> Vec<String> {
        match self.told {
            Told::KeyReused => serde_json::from_slice(&self.body).unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// The same key came with another request. `differs` are the names of the parts that differ: `method`,
/// `target`, JSON pointers into the body, `…` for members beyond those that are told apart, and `bytes`
/// alone where all parts are alike.
///
/// ```
/// use onceward::http::reused::key_reused;
/// use onceward::types::{TaskKey, TaskKind};
/// let id = TaskKey::new(TaskKind::Source, "shop", "", "k1").task_id();
/// let problem = key_reused(id, &["target".to_owned(), "/amount".to_owned()]);
/// assert!(problem.detail.starts_with("This key came before with another address and other content."));
/// assert_eq!(problem.errors[0].pointer, "/amount");
/// ```
pub fn key_reused(task_id: TaskId, differs: &[String]) -> Problem {
    let has = |name: &str| differs.iter().any(|d| d == name);
    let causes: Vec<Cause> = differs.iter().filter_map(|name| cause(name)).collect();
    let parts = [
        (has("method"), "another method"),
        (has("target"), "another address"),
        (!causes.is_empty() || differs.is_empty(), "other content"),
        (
            has("bytes"),
            "the same members in other bytes (white space, their order, or how they are compared)",
        ),
    ];
    let named = parts.iter().filter(|(is, _)| *is).map(|(_, what)| *what);
    let what: Vec<&str> = named.collect();
    let detail = format!(
        "This key came before with {}. Nothing was run: use a new key for a new request.",
        what.join(" and ")
    );
    Problem::new(Code::KeyReused, detail)
        .errors(causes)
        .task(task_id)
}

fn cause(name: &str) -> Option<Cause> {
    let (detail, pointer) = match name {
        "method" | "target" | "bytes" => return None,
        "" => ("The body differs.", ""),
        "…" => ("A further member of the body differs.", ""),
        pointer => ("This differs, or is there in one of the two only.", pointer),
    };
    Some(Cause {
        detail: detail.to_owned(),
        pointer: pointer.to_owned(),
    })
}

/// The key's task has expired, and the key is not new yet.
pub fn key_expired(task_id: TaskId) -> Problem {
    Problem::new(
        Code::KeyExpired,
        "This key came before, and its answer is no longer kept. Nothing was run.",
    )
    .task(task_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::object_call::Frame;
    use crate::types::{TaskKey, TaskKind};

    fn of(differs: &[&str]) -> Problem {
        let id = TaskKey::new(TaskKind::Source, "shop", "", "k1").task_id();
        let differs: Vec<String> = differs.iter().map(ToString::to_string).collect();
        key_reused(id, &differs)
    }

    #[test]
    fn what_differs_is_named() {
        for (differs, want, pointers) in [
            (&[][..], "with other content. ", &[][..]),
            (&["method"], "with another method. ", &[]),
            (
                &["method", "target", ""],
                "with another method and another address and other content. ",
                &[""],
            ),
            (&["/a", "/b~1c"], "with other content. ", &["/a", "/b~1c"]),
            (&["bytes"], "with the same members in other bytes ", &[]),
            (&["…"], "with other content. ", &[""]),
        ] {
            let problem = of(differs);
            assert!(problem.detail.contains(want), "{}", problem.detail);
            let got: Vec<&str> = problem.errors.iter().map(|c| c.pointer.as_str()).collect();
            assert_eq!(got, pointers);
            assert_eq!(problem.to_answer().status, 422);
        }
    }

    /// An object of before sends no names; a Worker of before does not look for them.
    #[test]
    fn both_ways_through_a_deploy() {
        let old = Frame {
            head: b"\"key_reused\"".to_vec(),
            blobs: Vec::new(),
        };
        let read = Reply::from_frame(old).expect("read");
        assert_eq!((&read.told, read.differs()), (&Told::KeyReused, Vec::new()));
        let new = Reply::key_reused(&["/a".to_owned()]).to_frame();
        assert_eq!(new.head, b"\"key_reused\"");
        assert_eq!(Reply::of(Told::NotFound).differs(), Vec::<String>::new());
    }

    #[test]
    fn a_used_up_key_is_gone() {
        let id = TaskKey::new(TaskKind::Source, "shop", "", "k1").task_id();
        let answer = key_expired(id).to_answer();
        assert_eq!(answer.status, 410);
        assert_eq!(
            answer.headers.get("onceward-task-id"),
            Some(&*id.to_string())
        );
    }
}
