//! The list of tasks: what every filter finds, in which order, over several databases.

use crate::list_world::{NOW, World};
use onceward::types::{TaskKey, TaskKind};
use proptest::prelude::*;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const STATES: [&str; 7] = [
    "pending",
    "running",
    "suspended",
    "compensating",
    "succeeded",
    "failed",
    "cancelled",
];

/// A row, as far as filters look at it.
#[derive(Clone, Debug)]
pub struct Row {
    pub id: String,
    pub state: String,
    pub is_source: bool,
    pub name: String,
    pub tenant: String,
    pub key: String,
    pub function: String,
    pub created_ms: u64,
    pub updated_ms: u64,
    pub expired: bool,
    pub error: Option<String>,
    pub labels: Vec<(String, String)>,
    pub trace: Option<String>,
    pub resumable: bool,
    pub undone: Option<String>,
}

impl Row {
    pub fn plain(key: &str, created_ms: u64) -> Self {
        Self {
            id: TaskKey::new(TaskKind::Source, "a", "", key)
                .task_id()
                .to_string(),
            state: "succeeded".into(),
            is_source: true,
            name: "a".into(),
            tenant: String::new(),
            key: key.into(),
            function: "f".into(),
            created_ms,
            updated_ms: created_ms,
            expired: false,
            error: None,
            labels: Vec::new(),
            trace: None,
            resumable: false,
            undone: None,
        }
    }

    pub fn insert(&self, db: &Connection) {
        let labels: serde_json::Map<String, Value> = self
            .labels
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        let labels = (!labels.is_empty()).then(|| Value::Object(labels).to_string());
        let expires = if self.expired { NOW } else { NOW + 3_600_000 };
        let sql = "INSERT INTO tasks (task_id, epoch, n, generation, state, kind, name, tenant, key, function,
            created_ms, updated_ms, expires_ms, due_ms, error_code, labels, trace_id, resumable, undone)
            VALUES (?1, 1, 2, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 5, ?11, ?12, ?13, ?14, ?15)";
        let kind = if self.is_source { "source" } else { "function" };
        let ms = |at: u64| i64::try_from(at).expect("small");
        db.execute(
            sql,
            params![
                self.id,
                self.state,
                kind,
                self.name,
                self.tenant,
                self.key,
                self.function,
                ms(self.created_ms),
                ms(self.updated_ms),
                ms(expires),
                self.error,
                labels,
                self.trace,
                self.resumable,
                self.undone
            ],
        )
        .expect("a row");
    }

    /// What a filter means, said once more.
    fn matches(&self, query: &[(&str, String)]) -> bool {
        let ended = ["succeeded", "failed", "cancelled"].contains(&self.state.as_str());
        let at = |value: &String| value.parse::<u64>().expect("ms");
        let asked: Vec<&str> = query
            .iter()
            .filter(|(name, _)| *name == "state")
            .flat_map(|(_, value)| value.split(','))
            .collect();
        if self.expired && ended || !asked.is_empty() && !asked.contains(&self.state.as_str()) {
            return false;
        }
        query.iter().all(|(name, value)| match *name {
            "state" => true,
            "source" => self.is_source && self.name == *value,
            "function" => self.function == *value,
            "tenant" => self.tenant == *value,
            "key" => self.key == *value,
            "key_prefix" => self.key.starts_with(value),
            "error_code" => self.error.as_ref() == Some(value),
            "label" => {
                let (name, value) = value.split_once(':').expect("a label");
                self.labels.iter().any(|(n, v)| n == name && v == value)
            }
            "trace_id" => self.trace.as_ref() == Some(value),
            "created_after" => self.created_ms >= at(value),
            "created_before" => self.created_ms < at(value),
            "updated_after" => self.updated_ms >= at(value),
            "updated_before" => self.updated_ms < at(value),
            "resumable" => self.state == "failed" && self.resumable.to_string() == *value,
            "undone" => self.undone.as_ref() == Some(value),
            _ => unreachable!("{name}"),
        })
    }
}

fn ids(page: &Value) -> Vec<String> {
    let tasks = page["tasks"].as_array().expect("tasks");
    let id = |task: &Value| task["task_id"].as_str().expect("an id").to_owned();
    tasks.iter().map(id).collect()
}

/// All pages, one after the other, and how many there were.
fn walk(world: &World, query: &str, limit: usize) -> (Vec<String>, usize) {
    let (mut found, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let page = world.json(&format!("/v1/tasks?{query}&limit={limit}{cursor}"));
        let some = ids(&page);
        assert!(some.len() <= limit, "{page}");
        found.extend(some);
        pages += 1;
        assert!(pages < 1_000, "it never ends");
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (found, pages),
        }
    }
}

fn newest_first(rows: &[Row], query: &[(&str, String)]) -> Vec<String> {
    let mut found: Vec<&Row> = rows.iter().filter(|row| row.matches(query)).collect();
    found.sort_by(|a, b| (b.created_ms, &b.id).cmp(&(a.created_ms, &a.id)));
    found.into_iter().map(|row| row.id.clone()).collect()
}

fn some_row() -> impl Strategy<Value = Row> {
    let who = (0..40_u32, 0..2_u32, 0..2_u32, 0..3_u32, any::<bool>());
    let what = (0..7_usize, 0..6_u64, 0..4_u64, 0..5_u32, 0..3_u32);
    let more = (0..4_u32, any::<bool>(), 0..3_u32, 0..8_u32);
    (who, what, more).prop_map(|(who, what, more)| {
        let (key, name, tenant, function, is_source) = who;
        let (state, created, later, error, trace) = what;
        let (labels, resumable, undone, expired) = more;
        let state = STATES[state];
        let is_success = state == "succeeded";
        let label = |n: u32, name: &str, value: &str| {
            (labels & n > 0).then(|| (name.to_owned(), value.to_owned()))
        };
        Row {
            state: state.into(),
            is_source,
            name: ["a", "b"][name as usize].into(),
            tenant: ["", "acme"][tenant as usize].into(),
            key: format!("k{key}"),
            function: format!("f{function}"),
            updated_ms: NOW - 100 + created * 10 + later * 10,
            expired: expired == 0,
            error: (error < 2 && !is_success).then(|| format!("e{error}")),
            labels: [label(1, "shop", "eu:1"), label(2, "a\"b", "it's")]
                .into_iter()
                .flatten()
                .collect(),
            trace: (trace < 2).then(|| format!("{trace:032x}")),
            resumable,
            undone: [None, Some("complete"), Some("partial")][undone as usize].map(str::to_owned),
            // Few times, so that many are equal.
            ..Row::plain("", NOW - 100 + created * 10)
        }
    })
}

fn some_query() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let states = prop::sample::subsequence(STATES.to_vec(), 1..=3);
    let one = prop_oneof![
        3 => states.prop_map(|states| ("state", states.join(","))),
        1 => (0..2_usize).prop_map(|n| ("source", ["a", "b"][n].into())),
        1 => (0..3_u32).prop_map(|n| ("function", format!("f{n}"))),
        1 => (0..2_usize).prop_map(|n| ("tenant", ["", "acme"][n].into())),
        1 => (0..40_u32).prop_map(|n| ("key", format!("k{n}"))),
        1 => (0..5_u32).prop_map(|n| ("key_prefix", format!("k{n}"))),
        1 => (0..2_u32).prop_map(|n| ("error_code", format!("e{n}"))),
        1 => (0..2_usize).prop_map(|n| ("label", ["shop:eu:1", "a\"b:it's"][n].into())),
        1 => (0..2_u32).prop_map(|n| ("trace_id", format!("{n:032x}"))),
        1 => (0..12_u64).prop_map(|n| ("created_after", (NOW - 100 + n * 5).to_string())),
        1 => (0..12_u64).prop_map(|n| ("created_before", (NOW - 100 + n * 5).to_string())),
        1 => (0..20_u64).prop_map(|n| ("updated_after", (NOW - 100 + n * 5).to_string())),
        1 => (0..20_u64).prop_map(|n| ("updated_before", (NOW - 100 + n * 5).to_string())),
        1 => any::<bool>().prop_map(|is| ("resumable", is.to_string())),
        1 => (0..2_usize).prop_map(|n| ("undone", ["complete", "partial"][n].into())),
    ];
    prop::collection::vec(one, 0..=3).prop_map(|mut all| {
        // Those that may come once come once.
        let mut seen = BTreeSet::new();
        all.retain(|(name, _)| ["state", "label"].contains(name) || seen.insert(*name));
        all
    })
}

fn encoded(query: &[(&str, String)]) -> String {
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(query);
    text.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_filter_finds_what_it_means_newest_first_in_whole_pages(
        mut rows in prop::collection::vec(some_row(), 0..60),
        query in some_query(),
        databases in 1..=3_usize,
        limit in 1..=9_usize,
    ) {
        let world = World::of(databases);
        for (n, row) in rows.iter_mut().enumerate() {
            let id = TaskKey::new(TaskKind::Source, "x", "", &n.to_string()).task_id();
            row.id = id.to_string();
            row.insert(&world.0.all[n % databases]);
        }
        let want = newest_first(&rows, &query);
        let (found, pages) = walk(&world, &encoded(&query), limit);
        prop_assert_eq!(&found, &want);
        // Nothing here is beyond a window.
        prop_assert_eq!(pages, want.len().div_ceil(limit).max(1));
    }
}

/// F105.
#[test]
fn pages_of_equal_times_neither_skip_nor_double_while_new_tasks_come_in() {
    let world = World::of(2);
    for n in 0..25 {
        Row::plain(&format!("k{n}"), NOW).insert(&world.0.all[n % 2]);
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.json(&format!("/v1/tasks?limit=10{cursor}"));
        seen.extend(ids(&page));
        Row::plain(&format!("new{}", seen.len()), NOW + 1).insert(&world.0.all[0]);
        let Some(next) = page["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
    }
    let distinct: BTreeSet<_> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (25, 25));
}

#[test]
fn a_window_that_ends_among_equal_times_neither_skips_nor_doubles() {
    let world = World::of(1);
    let mut marked = BTreeSet::new();
    for n in 0..900 {
        let mut row = Row::plain(&format!("k{n}"), NOW);
        if n % 5 == 0 {
            row.labels.push(("shop".into(), "eu".into()));
            marked.insert(row.id.clone());
        }
        row.insert(&world.0.all[0]);
    }
    for limit in [1, 60, 100, 200] {
        let (found, _) = walk(&world, "label=shop:eu", limit);
        assert_eq!(found.len(), marked.len(), "limit {limit}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), marked);
    }
}

#[test]
fn a_needle_in_a_haystack_is_found_by_pages_that_say_how_far_they_came() {
    let world = World::of(2);
    let hay: u64 = 7_000;
    for db in &world.0.all {
        db.execute_batch("BEGIN").expect("begin");
    }
    for n in 0..hay {
        let row = Row::plain(&format!("hay{n}"), NOW - n);
        row.insert(&world.0.all[usize::from(n % 3 == 0)]);
    }
    let needle = Row {
        labels: vec![("shop".into(), "eu".into())],
        ..Row::plain("needle", NOW - hay)
    };
    needle.insert(&world.0.all[0]);
    for db in &world.0.all {
        db.execute_batch("COMMIT").expect("commit");
    }
    let first = world.json("/v1/tasks?label=shop:eu&limit=3");
    // Of 4,667 and 2,333 rows one database shows all, the other one too: each looked at 5,000.
    assert_eq!(ids(&first), [needle.id.as_str()], "{first}");
    for n in 0..1_000 {
        Row::plain(&format!("more{n}"), NOW + n).insert(&world.0.all[0]);
    }
    let first = world.json("/v1/tasks?label=shop:eu&limit=3");
    assert!(ids(&first).is_empty(), "{first}");
    assert!(first["scanned_until"].is_string(), "{first}");
    assert!(first["next_cursor"].is_string(), "{first}");
    let (found, pages) = walk(&world, "label=shop:eu", 3);
    assert_eq!((found, pages), (vec![needle.id.clone()], 2));
    // What an index knows is found at once.
    for query in ["key=needle", "key_prefix=nee"] {
        assert_eq!(
            walk(&world, query, 3),
            (vec![needle.id.clone()], 1),
            "{query}"
        );
    }
    // Too many of one beginning are found by time.
    let (found, _) = walk(&world, "key_prefix=hay", 200);
    assert_eq!(found.len(), usize::try_from(hay).expect("small"));
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
}

#[test]
fn tombstones_in_any_number_do_not_hide_what_is_behind_them() {
    let world = World::of(1);
    let db = &world.0.all[0];
    db.execute_batch("BEGIN").expect("begin");
    for n in 0..6_000 {
        Row {
            state: "forgotten".into(),
            ..Row::plain(&format!("gone{n}"), NOW + n)
        }
        .insert(db);
    }
    let left = Row::plain("left", NOW);
    left.insert(db);
    db.execute_batch("COMMIT").expect("commit");
    assert_eq!(walk(&world, "", 50), (vec![left.id], 2));
}

#[test]
fn a_database_that_does_not_answer_is_a_503_and_not_a_shorter_list() {
    let world = World::of(3);
    Row::plain("k", NOW).insert(&world.0.all[0]);
    world.0.out.set(Some(2));
    let silent = |what: &str| {
        let answer = world.get("/v1/tasks");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 503, "{what}: {text}");
        assert!(text.contains("\"unavailable\""), "{what}: {text}");
        assert!(!text.contains("SEC-1"), "{what}: {text}");
        assert!(answer.headers.get("retry-after").is_some(), "{what}");
    };
    silent("it fails");
    let tries = world.0.asked.get();
    assert!(tries > 2 * 3, "reads are tried again: {tries}");
    assert!(world.0.lines.borrow().iter().any(|l| l.contains("DB_2")));
    world.0.out.set(None);
    world.0.stalls.set(Some(1));
    silent("it stalls");
    world.0.stalls.set(None);
    assert_eq!(ids(&world.json("/v1/tasks")).len(), 1);
}

#[test]
fn what_cannot_be_asks_no_database() {
    let world = World::of(2);
    Row::plain("k", NOW).insert(&world.0.all[0]);
    let page = world.json("/v1/tasks?state=running&resumable=true");
    assert_eq!(page, json!({ "tasks": [] }));
    assert_eq!(world.0.asked.get(), 0);
}

#[test]
fn a_usual_page_looks_at_few_rows() {
    let world = World::of(1);
    for n in 0..200 {
        Row::plain(&format!("k{n}"), NOW + n).insert(&world.0.all[0]);
    }
    assert_eq!(ids(&world.json("/v1/tasks?limit=50")).len(), 50);
    assert_eq!(world.0.asked.get(), 2, "one transaction of two statements");
}
