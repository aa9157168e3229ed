//! What a task costs, counted on the real engine: rows and requests are most of the bill.

use crate::support::{Server, check, eventually, fresh, hook, program};
use serde_json::{Value, json};

fn counters(server: &Server) -> Value {
    let request = crate::support::Request::get("/lab/counters").bearer(crate::support::TOKEN);
    server.send(&request).expect(200).json()
}

fn one_step() -> Value {
    let mut program = program([json!({"do": "value", "name": "a", "value": 1})]);
    program["config"] = json!({"retention": {"succeeded": "1s", "failed": "1s"}});
    program
}

/// The budget of one step, from begin to forgotten: object 7 rows, two of them alarms, and 3 requests;
/// D1 a row and a tombstone with what they do to their indexes (four and three), the row of the
/// statistics, and the deletion of the tombstone, for which the engine reports one.
#[test]
fn a_one_step_task_costs_seven_rows_and_three_requests() {
    let mut server = Server::start();
    let id = hook(&server, &fresh("cost"), &one_step())
        .expect(200)
        .task_id();
    eventually(|| {
        let row = server.files().row(&id)?;
        check(row.is_some_and(|r| r.state == "forgotten"), || {
            "not forgotten yet".into()
        })
    });
    let count = eventually(|| {
        let count = counters(&server);
        check(count["d1_rows"] == 8 && count["object_rows"] == 7, || {
            count.to_string()
        })?;
        Ok(count)
    });
    assert_eq!(count["alarms"], 2, "{count}");
    assert_eq!(count["object_requests"], 3, "begin, finish, alarm: {count}");
    assert_eq!(
        count["d1_statements"], 5,
        "two writes, each read back, and the statistics: {count}"
    );
    assert_eq!(count["hops"], 0, "{count}");
    let shown =
        crate::support::Request::get("/v1/stats?function=lab").bearer(crate::support::TOKEN);
    let cost = server.send(&shown).expect(200).json()["total"]["cost"].clone();
    let wanted = json!([3, 7, 9]);
    let known = json!([
        cost["object_requests"],
        cost["object_rows"],
        cost["d1_rows"]
    ]);
    assert_eq!(known, wanted, "statistics know all of it: {cost}");

    // A day later. Counters begin anew with the server, so what is counted now is the deletion.
    server.kill9();
    let d1 = server.files().open_d1();
    let aged = "UPDATE tasks SET due_ms = due_ms - 2 * 86400000 WHERE task_id = ?1";
    assert_eq!(d1.execute(aged, [&id]), Ok(1));
    drop(d1);
    server.restart();
    let count = eventually(|| {
        server.cron();
        let row = server.files().row(&id)?;
        check(row.is_none(), || format!("{row:?}"))?;
        Ok(counters(&server))
    });
    // The tombstone; what the jobs remember of their run are a few more, however much they delete.
    let rows = count["d1_rows"].as_u64();
    assert!(rows >= Some(1) && rows <= Some(40), "{count}");
    assert_eq!(
        count["object_requests"], 0,
        "its object is left alone: {count}"
    );
}

#[test]
fn each_further_step_costs_one_row() {
    let server = Server::start();
    let steps = |n: u32| {
        let value = |i: u32| json!({"do": "value", "name": format!("s{i}"), "value": i});
        program((0..n).map(value))
    };
    let rows = |n: u32| {
        let before = counters(&server)["object_rows"].as_u64().expect("a count");
        hook(&server, &fresh("steps"), &steps(n)).expect(200);
        // Begin, finish and acknowledged flush write the task, begin and the flush an alarm.
        let wanted = before + 5 + u64::from(n);
        eventually(|| {
            let now = counters(&server)["object_rows"].as_u64().expect("a count");
            check(now == wanted, || {
                format!("{n} steps: {now}, wanted {wanted}")
            })
        });
    };
    for n in [0, 1, 2, 10] {
        rows(n);
    }
}

#[test]
fn a_duplicate_costs_one_request_and_no_row() {
    let server = Server::start();
    let (key, body) = (
        fresh("dup"),
        program([json!({"do": "value", "name": "a", "value": 1})]),
    );
    hook(&server, &key, &body).expect(200);
    let before = eventually(|| {
        let count = counters(&server);
        check(count["object_rows"] == 6, || count.to_string())?;
        Ok(count)
    });
    for _ in 0..5 {
        assert!(hook(&server, &key, &body).expect(200).is_replay());
    }
    let after = counters(&server);
    for same in ["object_rows", "alarms", "d1_statements", "d1_rows"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    let requests = |count: &Value| count["object_requests"].as_u64().expect("a count");
    assert_eq!(requests(&after) - requests(&before), 5);
}
