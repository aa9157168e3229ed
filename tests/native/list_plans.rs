//! The plans of the list, on a million rows: which index they read, and how little of it.

use crate::sql::{Bound, database};
use onceward::http::document::TaskState;
use onceward::http::filter::Filter;
use onceward::limits;
use onceward::store::d1::{Index, Look, Plan, Statement};
use onceward::store::rows::Cursor;
use onceward::types::TaskId;
use rusqlite::{Connection, StatementStatus, params_from_iter};

const ROWS: u64 = 1_000_000;
const FIRST_MS: u64 = 1_795_989_751_097;
const NOW_MS: u64 = FIRST_MS + ROWS;
/// Most steps of the virtual machine that a page may need. Looking at all rows takes more than ten times as
/// many; a test looks.
const STEPS: i32 = 500_000;

/// One task a millisecond. Of a thousand, 990 have succeeded, and the others are spread over all states.
fn million() -> Connection {
    let db = database();
    let sql = format!(
        "INSERT INTO tasks (task_id, epoch, n, generation, state, kind, name, tenant, key, function,
           created_ms, updated_ms, expires_ms, due_ms, error_code, labels, trace_id)
         WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < {ROWS} - 1)
         SELECT printf('%08x-0000-5000-8000-%012x', n, n), 1, 2, 1,
           CASE n % 1000 WHEN 0 THEN 'running' WHEN 1 THEN 'suspended' WHEN 2 THEN 'pending'
             WHEN 3 THEN 'compensating' WHEN 4 THEN 'cancelled' WHEN 5 THEN 'forgotten'
             WHEN 6 THEN 'failed' WHEN 7 THEN 'failed' WHEN 8 THEN 'failed' WHEN 9 THEN 'failed'
             ELSE 'succeeded' END,
           'source', 's' || (n % 7), '',
           CASE n % 1000 WHEN 5 THEN NULL ELSE 'order-' || (n % 500000) END, 'f' || (n % 5),
           {FIRST_MS} + n, {FIRST_MS} + n, {NOW_MS} + 1000000, {NOW_MS} + n,
           CASE n % 1000 WHEN 6 THEN 'boom' END,
           CASE n % 100000 WHEN 777 THEN '{{\"shop\":\"eu\"}}' END, NULL
         FROM n"
    );
    db.execute_batch("BEGIN").expect("begin");
    db.execute(&sql, []).expect("rows");
    db.execute_batch("COMMIT").expect("commit");
    db
}

struct Ran {
    rows: usize,
    steps: i32,
    plan: String,
}

fn run(db: &Connection, statement: &Statement) -> Ran {
    let values = || params_from_iter(statement.values.iter().map(Bound));
    let explained = format!("EXPLAIN QUERY PLAN {}", statement.sql);
    let mut explained = db.prepare(&explained).expect("plan");
    let lines = explained.query_map(values(), |row| row.get(3));
    let lines: Vec<String> = lines
        .expect("plan")
        .map(|line| line.expect("line"))
        .collect();
    let mut prepared = db.prepare(statement.sql).expect("statement");
    let mut rows = prepared.query(values()).expect("query");
    let mut count = 0;
    while rows.next().expect("row").is_some() {
        count += 1;
    }
    drop(rows);
    Ran {
        rows: count,
        steps: prepared.get_status(StatementStatus::VmStep),
        plan: lines.join("\n"),
    }
}

/// Fails unless the statement searches this index, scans no table, and sorts nothing.
fn require(ran: &Ran, what: &str, index: &str) {
    let Ran { plan, steps, .. } = ran;
    assert!(plan.contains(&format!("INDEX {index} ")), "{what}: {plan}");
    assert!(!plan.contains("SCAN tasks"), "{what}: {plan}");
    assert!(!plan.contains("B-TREE"), "{what}: {plan}");
    assert!(*steps < STEPS, "{what}: {steps} steps");
}

fn filter(parameters: &[(&str, &str)]) -> Filter {
    let mut filter = Filter::default();
    for (name, value) in parameters {
        filter.take(name, value).expect(name).expect(value);
    }
    filter
}

fn look(filter: &Filter, before: Option<Cursor>) -> Look<'_> {
    Look {
        filter,
        before,
        rows: 51,
        window: limits::LIST_SCAN_ROWS,
        now_ms: NOW_MS,
    }
}

fn ordered(db: &Connection, parameters: &[(&str, &str)], name: &str, rows: usize) {
    let filter = filter(parameters);
    let Plan::Ordered(indexes) = Plan::of(&filter) else {
        panic!("{parameters:?}")
    };
    let middle = Cursor {
        created_ms: FIRST_MS + ROWS / 2,
        task_id: TaskId::parse("0007a120-0000-5000-8000-00000007a120").expect("an id"),
    };
    for before in [None, Some(middle)] {
        let mut found = 0;
        for index in &indexes {
            let what = format!("{parameters:?} {index:?} from {before:?}");
            let [edge, page] = look(&filter, before).ordered(index);
            require(&run(db, &edge), &format!("{what}, edge"), name);
            let page = run(db, &page);
            require(&page, &what, name);
            found += page.rows;
        }
        assert_eq!(found, rows, "{parameters:?} from {before:?}");
    }
}

#[test]
fn every_plan_reads_its_index_and_little_of_it() {
    let db = million();
    let nobody = filter(&[("tenant", "nobody")]);
    let all = Look {
        window: u32::MAX,
        ..look(&nobody, None)
    };
    let [_, all] = all.ordered(&Index::Created);
    let all = run(&db, &all);
    assert!(all.steps > 10 * STEPS, "{}", all.steps);

    ordered(&db, &[], "tasks_by_created", 51);
    ordered(&db, &[("function", "f1")], "tasks_by_created", 51);
    ordered(
        &db,
        &[("state", "succeeded,failed")],
        "tasks_by_created",
        51,
    );
    // Nothing like it in the newest 5,000.
    ordered(&db, &[("tenant", "nobody")], "tasks_by_created", 0);
    ordered(&db, &[("trace_id", &"0".repeat(32))], "tasks_by_created", 0);
    ordered(
        &db,
        &[("label", "shop:us"), ("label", "a:b")],
        "tasks_by_created",
        0,
    );
    ordered(&db, &[("state", "failed")], "tasks_by_state", 51);
    ordered(
        &db,
        &[("state", "running,suspended")],
        "tasks_by_state",
        102,
    );
    ordered(
        &db,
        &[("resumable", "true"), ("source", "s0")],
        "tasks_by_state",
        0,
    );
    let from = (FIRST_MS + 1_000).to_string();
    let to = (FIRST_MS + 11_000).to_string();
    let old = [
        ("created_after", from.as_str()),
        ("created_before", to.as_str()),
    ];
    ordered(
        &db,
        &[old[0], old[1], ("state", "running")],
        "tasks_by_state",
        10,
    );
    ordered(
        &db,
        &[old[0], old[1], ("source", "nobody")],
        "tasks_by_created",
        0,
    );
    // 5 of 6 states have no such row: they are looked through as far as the window goes.
    ordered(&db, &[("error_code", "boom")], "tasks_by_state", 51);
}

#[test]
fn keys_are_found_among_a_million() {
    let db = million();
    let by_key = filter(&[("key", "order-123456")]);
    let index = Index::Key("order-123456".into());
    assert_eq!(Plan::of(&by_key), Plan::Ordered(vec![index.clone()]));
    let [edge, page] = look(&by_key, None).ordered(&index);
    require(&run(&db, &edge), "edge", "tasks_by_key");
    let page = run(&db, &page);
    require(&page, "page", "tasks_by_key");
    assert_eq!(page.rows, 2);
    assert!(page.steps < 1_000, "{}", page.steps);

    for (prefix, rows) in [("order-12345", 22), ("order-123456", 2), ("nothing", 0)] {
        let by_prefix = filter(&[("key_prefix", prefix)]);
        assert_eq!(Plan::of(&by_prefix), Plan::Prefix);
        let [count, page] = look(&by_prefix, None).prefixed();
        require(&run(&db, &count), prefix, "tasks_by_key");
        let page = run(&db, &page);
        assert!(page.plan.contains("INDEX tasks_by_key"), "{}", page.plan);
        assert!(!page.plan.contains("SCAN tasks"), "{}", page.plan);
        assert!(page.steps < STEPS, "{prefix}: {}", page.steps);
        assert_eq!(page.rows, rows, "{prefix}");
    }
    // Too many are counted no further than they are sorted.
    let many = filter(&[("key_prefix", "order-")]);
    let [count, page] = look(&many, None).prefixed();
    for statement in [count, page] {
        let ran = run(&db, &statement);
        assert!(ran.steps < STEPS, "{}", ran.steps);
        assert!(!ran.plan.contains("SCAN tasks"), "{}", ran.plan);
    }
}

#[test]
fn only_successes_lack_in_the_index_by_state() {
    for state in TaskState::ALL {
        let alone = filter(&[("state", state.as_str())]);
        let indexed = Plan::of(&alone) == Plan::Ordered(vec![Index::State(*state)]);
        assert_eq!(indexed, *state != TaskState::Succeeded, "{state:?}");
    }
}
