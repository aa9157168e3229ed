//! F105: pages of the task list.

use crate::support::{
    Answer, Mode, Request, Server, TOKEN, at_once, check, eventually, fail, fresh, hook, program,
};
use serde_json::Value;
use std::collections::HashSet;

const TASKS: usize = 25;

fn page(server: &Server, query: &str) -> Answer {
    server.send(&Request::get(&format!("/v1/tasks{query}")).bearer(TOKEN))
}

fn ids(document: &Value) -> Vec<String> {
    let tasks = document["tasks"].as_array().expect("a list of tasks");
    tasks
        .iter()
        .map(|t| t["task_id"].as_str().expect("an id").to_owned())
        .collect()
}

/// Tasks that were all created in the same millisecond.
fn server_with_equal_times() -> (Server, HashSet<String>) {
    let mut server = Server::start();
    let requests: Vec<Request> = (0..TASKS)
        .map(|n| Mode::Webhook.request(&fresh(&format!("list-{n}")), &program([])))
        .collect();
    let answers = at_once(&server, &requests);
    let made: HashSet<String> = answers
        .into_iter()
        .map(|a| a.expect(200).task_id())
        .collect();
    for id in &made {
        eventually(|| {
            check(server.files().row(id)?.is_some(), || {
                "no row yet".to_owned()
            })
        });
    }
    server.kill9();
    let sql = "UPDATE tasks SET created_ms = (SELECT max(created_ms) FROM tasks)";
    assert_eq!(server.files().open_d1().execute(sql, []), Ok(TASKS));
    server.restart();
    (server, made)
}

#[test]
fn pages_show_every_task_once_though_their_times_are_equal_and_new_ones_come_in() {
    let (server, made) = server_with_equal_times();
    for new_ones in [false, true] {
        let (mut seen, mut query, mut pages) = (Vec::new(), "?limit=10".to_owned(), 0);
        loop {
            let document = page(&server, &query).expect(200).json();
            let shown = ids(&document);
            assert!(shown.len() <= 10, "{document}");
            seen.extend(shown);
            pages += 1;
            let Some(next) = document["next_cursor"].as_str() else {
                break;
            };
            query = format!("?limit=10&cursor={next}");
            if new_ones {
                hook(&server, &fresh("newcomer"), &program([])).expect(200);
            }
        }
        let unique: HashSet<String> = seen.iter().cloned().collect();
        assert_eq!(unique.len(), seen.len(), "none twice");
        assert_eq!(unique, made, "all of them, and no newcomer shifts a page");
        assert_eq!(pages, 3);
    }
}

#[test]
fn the_list_is_newest_first_and_shows_what_became_of_each_task() {
    let server = Server::start();
    let old = hook(&server, &fresh("old"), &program([]))
        .expect(200)
        .task_id();
    let new = hook(&server, &fresh("new"), &program([fail("terminal")]))
        .expect(200)
        .task_id();
    let document = eventually(|| {
        let document = page(&server, "").expect(200).json();
        check(ids(&document).len() == 2, || document.to_string())?;
        Ok(document)
    });
    assert_eq!(ids(&document), [new, old], "{document}");
    assert_eq!(document["tasks"][0]["state"], "failed");
    assert_eq!(
        document["tasks"][0]["error"]["code"], "lab_fail",
        "{document}"
    );
    assert_eq!(document["tasks"][1]["state"], "succeeded");
    assert!(document["next_cursor"].is_null(), "{document}");
}

#[test]
fn a_page_that_makes_no_sense_is_a_400_that_says_why() {
    let server = crate::support::shared();
    for query in [
        "?limit=0",
        "?limit=-1",
        "?limit=ten",
        "?limit=201",
        "?limit=99999999999999999999",
        "?cursor=x",
        "?cursor=",
        "?what=1",
    ] {
        let answer = page(server, query).expect_problem(400, "input_invalid");
        assert!(
            answer.json()["errors"][0]["detail"].is_string(),
            "{query}: {}",
            answer.shown()
        );
    }
}
