//! The whole table of the machine: what every event does in every state. The snapshot
//! `snapshots/native__protocol_table__table.snap` is its documentation; a change of behaviour is a
//! change of that file.

use crate::protocol_fixture::Object;
use crate::protocol_table_events::events;
use crate::protocol_table_states::{Case, NOW, running, states};
use crate::protocol_words::line;
use std::fmt::Write as _;

#[test]
fn table() {
    let (_, nobody) = running(0);
    let mut cases = vec![Case::new("nothing", Object::default(), &nobody)];
    cases.extend(states());
    let mut text = String::new();
    for case in &cases {
        for (name, event) in events(case) {
            let before = case.object.task.as_ref();
            let out = case.object.clone().at(NOW, event);
            let told = line(before, &out, NOW);
            writeln!(text, "{} × {name} → {told}", case.name).expect("a string");
        }
        text.push('\n');
    }
    insta::assert_snapshot!("table", text);
}
