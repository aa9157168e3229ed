//! Live events on a clock that moves when somebody sleeps: when a stream says something, and when it ends.

use crate::list::Row;
use crate::list_world::{NOW, World};
use crate::sql::{begun, succeeded, waiting};
use futures::stream::LocalBoxStream;
use futures::{FutureExt as _, StreamExt as _};
use onceward::limits;
use onceward::protocol::Task;

type Stream = LocalBoxStream<'static, Vec<u8>>;

fn next(stream: &mut Stream) -> Option<String> {
    let bytes = stream.next().now_or_never().expect("nothing takes time");
    bytes.map(|bytes| String::from_utf8(bytes).expect("text"))
}

/// What comes until the end.
fn rest(mut stream: Stream) -> Vec<String> {
    std::iter::from_fn(|| next(&mut stream)).collect()
}

fn names(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines.filter_map(|l| l.strip_prefix("event: ")).collect()
}

fn path(task: &Task) -> String {
    format!("/v1/tasks/{}/events", task.id())
}

fn insert(world: &World, row: &Row) {
    row.insert(&world.0.all[0]);
}

fn forget(world: &World, row: &Row) {
    let sql = "DELETE FROM tasks WHERE task_id = ?1";
    world.0.all[0].execute(sql, [&row.id]).expect("deleted");
}

#[test]
fn a_task_that_only_waits_is_looked_at_seldom_and_left_after_five_minutes() {
    let world = World::of(1);
    let task = waiting("k", Vec::new(), None);
    let mut sleeper = task.clone();
    sleeper.state = onceward::protocol::State::Failed { resumable: true };
    let target = path(&task);
    *world.0.task.borrow_mut() = Ok(Some(sleeper));
    let mut stream = world.stream(&target, &[]);
    let first = next(&mut stream).expect("where it stands");
    assert!(first.starts_with("retry: 1000\n\nid: "), "{first}");
    assert_eq!(names(&first), ["task"]);
    let came = rest(stream);
    assert!(came.iter().all(|text| text == ":\n\n"), "{came:?}");
    let beats = limits::EVENTS_MS / limits::EVENTS_HEARTBEAT_MS;
    assert_eq!(came.len() as u64, beats);
    let looks = limits::EVENTS_MS / limits::EVENTS_IDLE_MS;
    assert!((looks..=looks + 2).contains(&(world.0.looks.get() as u64)));
}

/// No records would say that it did nothing.
#[test]
fn the_journal_of_what_was_dropped_is_gone() {
    let world = World::of(1);
    let mut task = waiting("k", Vec::new(), None);
    task.stripped = true;
    let path = format!("/v1/tasks/{}/journal", task.id());
    *world.0.task.borrow_mut() = Ok(Some(task));
    let answer = world.get(&path);
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, 410, "{text}");
    assert!(text.contains("\"payload_dropped\""), "{text}");
}

#[test]
fn a_task_that_moves_is_looked_at_each_second_and_its_end_ends_the_stream() {
    let world = World::of(1);
    let task = begun("k", NOW);
    *world.0.task.borrow_mut() = Ok(Some(task.clone()));
    let mut stream = world.stream(&path(&task), &[]);
    assert_eq!(names(&next(&mut stream).expect("it runs")), ["task"]);
    assert_eq!(next(&mut stream).expect("alive"), ":\n\n");
    let looked = world.0.looks.get() as u64;
    assert!((15..=17).contains(&looked), "{looked}");
    *world.0.task.borrow_mut() = Ok(Some(succeeded("k", NOW)));
    assert_eq!(names(&next(&mut stream).expect("its end")), ["task", "end"]);
    assert_eq!(next(&mut stream), None);
}

#[test]
fn what_the_client_knows_is_not_sent_again() {
    let world = World::of(1);
    let task = succeeded("k", NOW);
    let id = format!("{}.{}", task.version.epoch, task.version.n);
    let target = path(&task);
    *world.0.task.borrow_mut() = Ok(Some(task));
    let of = |last: &str| rest(world.stream(&target, &[("Last-Event-ID", last)]));
    let sent = |last: &str| {
        of(last)
            .iter()
            .flat_map(|t| names(t))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(sent(&id), "end");
    assert_eq!(sent("1.1"), "task end");
    let end = format!("{id}.end");
    let answer = world.ask(&target, &[("Last-Event-ID", &end)]);
    assert_eq!((answer.status, answer.body.len()), (204, 0));
}

#[test]
fn an_object_that_is_not_heard_is_said_and_one_that_is_gone_is_the_end() {
    let world = World::of(1);
    let task = begun("k", NOW);
    *world.0.task.borrow_mut() = Ok(Some(task.clone()));
    let mut stream = world.stream(&path(&task), &[]);
    next(&mut stream).expect("it runs");
    *world.0.task.borrow_mut() = Err(());
    assert_eq!(next(&mut stream).as_deref(), Some(": unavailable\n\n"));
    *world.0.task.borrow_mut() = Ok(None);
    assert_eq!(names(&next(&mut stream).expect("gone")), ["gone"]);
    assert_eq!(next(&mut stream), None);
    assert_eq!(world.get(&path(&task)).status, 404);
}

#[test]
fn the_list_is_read_every_two_seconds_and_its_stream_has_an_end() {
    for (databases, lasts_ms) in [(1, limits::EVENTS_MS), (3, 120_000), (32, 10_000)] {
        let world = World::of(databases);
        let mut stream = world.stream("/v1/events", &[]);
        let first = next(&mut stream).expect("a beginning");
        assert_eq!(first, format!("retry: 1000\nid: {NOW}\n\n"));
        let came = rest(stream);
        assert!(came.iter().all(|text| text == ":\n\n"), "{came:?}");
        let slept = world.0.slept_ms.get();
        assert!(
            (lasts_ms..lasts_ms + 5_000).contains(&slept),
            "{databases}: {slept} ms"
        );
        // Newest and open ones, each in one transaction.
        let readings = slept / limits::EVENTS_READ_MS + 1;
        let statements = readings * databases as u64 * (2 + 8);
        assert_eq!(world.0.asked.get() as u64, statements);
    }
}

#[test]
fn what_is_new_changes_or_goes_is_told_once() {
    let world = World::of(1);
    let old = Row {
        state: "suspended".into(),
        ..Row::plain("old", NOW - 3_600_000)
    };
    insert(&world, &old);
    let mut stream = world.stream("/v1/events", &[]);
    let first = next(&mut stream).expect("a beginning");
    assert!(names(&first).is_empty(), "what is old is no news: {first}");

    let new = Row {
        state: "running".into(),
        ..Row::plain("new", NOW + 50)
    };
    insert(&world, &new);
    let text = next(&mut stream).expect("news");
    assert_eq!(names(&text), ["task"]);
    assert!(text.contains(&new.id), "{text}");
    assert!(text.starts_with(&format!("id: {}\n", NOW + 50)), "{text}");

    // Both end; the old one is far down by now.
    for n in 0..500 {
        insert(&world, &Row::plain(&format!("hay{n}"), NOW - 60_000 + n));
    }
    for (row, at) in [(&old, 70), (&new, 60)] {
        forget(&world, row);
        let row = Row {
            state: "succeeded".into(),
            updated_ms: NOW + at,
            ..row.clone()
        };
        insert(&world, &row);
    }
    let text = next(&mut stream).expect("news");
    assert_eq!(names(&text), ["task", "task"]);
    let ids: Vec<&str> = text.lines().filter(|l| l.starts_with("id: ")).collect();
    let want = [format!("id: {}", NOW + 60), format!("id: {}", NOW + 70)];
    assert_eq!(ids, want, "in the order of the changes");
    assert!(text.find(&new.id) < text.find(&old.id), "{text}");
    assert_eq!(next(&mut stream).as_deref(), Some(":\n\n"), "once");
}

#[test]
fn a_task_that_was_open_and_is_no_more_is_gone() {
    let world = World::of(1);
    let row = Row {
        state: "suspended".into(),
        ..Row::plain("k", NOW)
    };
    insert(&world, &row);
    let mut stream = world.stream("/v1/events?state=suspended", &[]);
    assert_eq!(names(&next(&mut stream).expect("it waits")), ["task"]);
    forget(&world, &row);
    let text = next(&mut stream).expect("news");
    assert_eq!(names(&text), ["gone"]);
    assert!(text.contains(&row.id), "{text}");

    // One that does not match any more is told of a last time.
    insert(&world, &row);
    assert_eq!(names(&next(&mut stream).expect("it waits")), ["task"]);
    forget(&world, &row);
    let ended = Row {
        state: "cancelled".into(),
        ..row
    };
    insert(&world, &ended);
    let text = next(&mut stream).expect("news");
    assert_eq!(names(&text), ["task"]);
    assert!(text.contains("\"cancelled\""), "{text}");
    assert_eq!(next(&mut stream).as_deref(), Some(":\n\n"));
}

#[test]
fn a_stream_goes_on_where_the_last_one_ended() {
    let world = World::of(1);
    let ago = |ms: u64| NOW - ms;
    for (key, at_ms) in [
        ("seen", ago(90_000)),
        ("late", ago(65_000)),
        ("new", ago(30_000)),
    ] {
        insert(&world, &Row::plain(key, at_ms));
    }
    let told = |last: Option<String>| {
        let last: Vec<(&str, &str)> = last.iter().map(|l| ("Last-Event-ID", &**l)).collect();
        let text = next(&mut world.stream("/v1/events", &last)).expect("a beginning");
        ["seen", "late", "new"].map(|key| text.contains(&format!("\"key\":\"{key}\"")))
    };
    // Rows may be ten seconds late.
    assert_eq!(told(Some(ago(60_000).to_string())), [false, true, true]);
    assert_eq!(told(Some("0".into())), [true, true, true]);
    for last in [None, Some("x".into()), Some(u64::MAX.to_string())] {
        assert_eq!(told(last), [false, false, false]);
    }
}

#[test]
fn a_database_that_is_silent_ends_no_stream() {
    let world = World::of(2);
    let mut stream = world.stream("/v1/events", &[]);
    next(&mut stream).expect("a beginning");
    world.0.out.set(Some(1));
    for _ in 0..3 {
        assert_eq!(next(&mut stream).as_deref(), Some(": unavailable\n\n"));
    }
    insert(&world, &Row::plain("meanwhile", NOW + 1));
    world.0.out.set(None);
    assert_eq!(names(&next(&mut stream).expect("news")), ["task"]);
    world.0.out.set(Some(1));
    assert_eq!(world.get("/v1/events").status, 503);
}
