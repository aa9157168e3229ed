//! A task as tests see it.

use crate::protocol::{State, Summary, Version};
use crate::types::{About, Cost, TaskKey, TaskKind};

/// What an object says of a task in this state.
pub(super) fn summary(key: TaskKey, function: &str, state: State) -> Summary {
    Summary {
        task_id: key.task_id(),
        key,
        function: function.to_owned(),
        state,
        generation: 1,
        attempts: 1,
        claims: 1,
        revivals: 0,
        created_ms: 1,
        updated_ms: 2,
        finished_ms: None,
        expires_ms: None,
        failure: None,
        answer_status: None,
        duplicates: 0,
        ending: None,
        undone: None,
        cancel: None,
        unread: 0,
        free: false,
        stripped: false,
        about: About::default(),
        cost: Cost::default(),
        version: Version::default(),
        fence: 0,
        lease_ends_ms: None,
    }
}

/// A task of a shop, without an answer.
pub(super) fn standing(state: State) -> Box<crate::protocol::Standing> {
    let key = TaskKey::new(TaskKind::Source, "shop", "", "k1");
    Box::new(crate::protocol::Standing {
        summary: summary(key, "f", state),
        answer: None,
        began: false,
    })
}
