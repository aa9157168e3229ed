//! Rows of D1: one row as JSON.

use super::input::is_json;
use onceward::store::rows::TaskRow;

pub fn check(data: &[u8]) {
    let Ok(row) = serde_json::from_slice::<TaskRow>(data) else {
        return;
    };
    if let Some(document) = row.document() {
        is_json(&document.to_answer(200));
        assert_eq!(
            document.location(),
            format!("/v1/tasks/{}", document.task_id)
        );
    }
}
