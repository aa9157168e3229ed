//! Several D1 databases: rows are spread, the list merges them, and their number can grow.

use crate::support::files::read;
use crate::support::tasks::signal_request;
use crate::support::{
    Mode, Request, Server, TOKEN, at_once, check, eventually, fail, fresh, hook, program, signal,
};
use onceward::types::{Database, TaskId};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

const TASKS: usize = 60;

/// State of every task that each file has.
fn rows(server: &Server) -> BTreeMap<PathBuf, HashMap<String, String>> {
    let mut all = BTreeMap::new();
    for path in server.files().d1_paths() {
        let rows = eventually(|| {
            let copy = read(&path)?;
            let sql = "SELECT task_id, state FROM tasks";
            let mut select = copy.db.prepare(sql).map_err(|e| e.to_string())?;
            let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
            let rows: Result<HashMap<_, _>, _> = rows.map_err(|e| e.to_string())?.collect();
            rows.map_err(|e| e.to_string())
        });
        all.insert(path, rows);
    }
    all
}

/// The file that has this task, and in which state.
fn place(server: &Server, id: &str) -> Result<(PathBuf, String), String> {
    let mut found = rows(server)
        .into_iter()
        .filter_map(|(path, rows)| rows.get(id).map(|state| (path, state.clone())));
    let first = found.next().ok_or("no row")?;
    check(found.next().is_none(), || format!("{id} has two rows"))?;
    Ok(first)
}

/// Runs tasks, each with a key of its own, and waits for their rows. Every third one fails.
fn run(server: &Server, prefix: &str) -> Vec<String> {
    let requests: Vec<Request> = (0..TASKS)
        .map(|n| {
            let body = match n % 3 {
                0 => program([fail("terminal")]),
                _ => program([]),
            };
            Mode::Webhook.request(&fresh(&format!("{prefix}-{n}")), &body)
        })
        .collect();
    let ids: Vec<String> = requests
        .chunks(12)
        .flat_map(|some| at_once(server, some))
        .map(|answer| answer.expect(200).task_id())
        .collect();
    eventually(|| {
        let known: BTreeSet<String> = rows(server)
            .into_values()
            .flat_map(HashMap::into_keys)
            .collect();
        let missing = ids.iter().filter(|id| !known.contains(*id)).count();
        check(missing == 0, || format!("{missing} have no row"))
    });
    ids
}

/// All pages of the list.
fn walk(server: &Server, query: &str) -> Vec<Value> {
    let (mut tasks, mut cursor) = (Vec::new(), String::new());
    loop {
        let target = format!("/v1/tasks?limit=7{query}{cursor}");
        let page = server.send(&Request::get(&target).bearer(TOKEN));
        let page = page.expect(200).json();
        tasks.extend(page["tasks"].as_array().expect("tasks").iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return tasks,
        }
    }
}

fn ids(tasks: &[Value]) -> Vec<String> {
    let id = |task: &Value| task["task_id"].as_str().expect("an id").to_owned();
    tasks.iter().map(id).collect()
}

fn home(id: &str, databases: u16) -> Database {
    Database::of(TaskId::parse(id).expect("an id"), databases)
}

#[test]
fn the_list_merges_three_databases_in_whole_pages() {
    let server = Server::with_databases(3);
    let made = run(&server, "spread");
    let files = rows(&server);
    assert_eq!(files.len(), 3);
    for (path, rows) in &files {
        let homes: BTreeSet<Database> = rows.keys().map(|id| home(id, 3)).collect();
        assert_eq!(homes.len(), 1, "{}: {homes:?}", path.display());
    }
    assert_eq!(files.values().map(HashMap::len).sum::<usize>(), TASKS);

    let tasks = walk(&server, "");
    let distinct: BTreeSet<String> = ids(&tasks).into_iter().collect();
    assert_eq!((tasks.len(), distinct.len()), (TASKS, TASKS));
    assert_eq!(distinct, made.into_iter().collect());
    let times: Vec<&str> = tasks
        .iter()
        .map(|task| task["created_at"].as_str().expect("a time"))
        .collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "newest first: {times:?}");

    let failed = walk(&server, "&state=failed");
    assert_eq!(failed.len(), TASKS / 3);
    assert!(failed.iter().all(|task| task["state"] == "failed"));
    assert_eq!(walk(&server, "&error_code=lab_fail"), failed);
    assert_eq!(walk(&server, "&key_prefix=spread-").len(), TASKS);
    let one = &tasks[31];
    let key = one["key"].as_str().expect("a key");
    let found = walk(&server, &format!("&key={key}"));
    assert_eq!(found.as_slice(), std::slice::from_ref(one));

    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    let list = Request::get("/v1/tasks").bearer(TOKEN);
    server.send(&list).expect_problem(503, "unavailable");
}

#[test]
fn with_one_more_database_old_tasks_stay_where_they_are_and_new_ones_use_it() {
    let mut server = Server::with_databases(2);
    let old = run(&server, "old");
    // Waits in its database, though with three it would have the new one.
    let (key, waits) = (0..)
        .map(|n| format!("waits-{n}"))
        .find_map(|key| {
            let id =
                onceward::types::TaskKey::new(onceward::types::TaskKind::Source, "lab", "", &key)
                    .task_id();
            (Database::of(id, 3) == Database(2)).then(|| (key, id.to_string()))
        })
        .expect("one of them");
    hook(&server, &key, &program([signal("go")])).expect(202);
    server.wait_waiting(&waits, "signal");
    let (before, _) = eventually(|| place(&server, &waits));

    server.restart_with_databases(3);
    let listed: BTreeSet<String> = ids(&walk(&server, "")).into_iter().collect();
    assert!(
        old.iter().all(|id| listed.contains(id)),
        "old ones are listed"
    );
    assert!(listed.contains(&waits));

    let send = signal_request(&waits, "go").key("g").json(&json!(1));
    server.send(&send).expect(202);
    assert_eq!(server.end_of(&waits)["state"], "succeeded");
    eventually(|| {
        let at = place(&server, &waits)?;
        check(at == (before.clone(), "succeeded".into()), || {
            format!("{at:?}")
        })
    });

    let new = run(&server, "new");
    let files = rows(&server);
    assert_eq!(files.len(), 3);
    let of = |databases, wanted: Database, ids: &[String]| {
        ids.iter()
            .filter(|id| home(id, databases) == wanted)
            .cloned()
            .collect::<BTreeSet<String>>()
    };
    let third = of(3, Database(2), &new);
    assert!(!third.is_empty());
    let has_third = files
        .values()
        .any(|rows| rows.keys().cloned().collect::<BTreeSet<_>>() == third);
    assert!(has_third, "new ones use it, and nobody else does");
    assert_eq!(walk(&server, "").len(), 2 * TASKS + 1);

    for id in [&waits, &old[1], &new[1]] {
        let (path, _) = place(&server, id).expect("a row");
        let delete = Request::new("DELETE", &format!("/v1/tasks/{id}")).bearer(TOKEN);
        server.send(&delete).expect(204);
        eventually(|| {
            let at = place(&server, id)?;
            check(at == (path.clone(), "forgotten".into()), || {
                format!("{at:?}")
            })
        });
    }
    assert_eq!(walk(&server, "").len(), 2 * TASKS - 2);
}
