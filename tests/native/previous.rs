//! What the previous release (schema 1) has stored and sent: `previous/*.json`, written by it. All of
//! it is read, and a task that it began is brought to its end. Old objects meet new Workers for some
//! minutes of a deploy, and stored tasks for as long as they live.

use onceward::http::object_call::{Ask, Call, Frame, Reply as Said, Told};
use onceward::protocol::{Event, Moment, Reply, SCHEMA, State, Waiting};
use onceward::store::cells::{Cells, MemoryCells};
use onceward::store::commit::{CommitError, Committed, Stored, commit};
use onceward::store::journal::{Purpose, page};
use onceward::types::TaskId;
use serde_json::{Map, Value};

/// When the samples began.
const T: u64 = 1_795_989_751_097;

fn samples(name: &str) -> Map<String, Value> {
    let text = match name {
        "objects" => include_str!("previous/objects.json"),
        "calls" => include_str!("previous/calls.json"),
        "replies" => include_str!("previous/replies.json"),
        other => panic!("no samples of {other}"),
    };
    serde_json::from_str(text).expect("JSON")
}

fn frame(sample: &Value) -> Frame {
    let blobs = sample["blobs"].as_array().expect("a list").iter();
    Frame {
        head: sample["head"].to_string().into_bytes(),
        blobs: blobs.map(|b| b.as_str().expect("text").into()).collect(),
    }
}

fn object(name: &str) -> (MemoryCells, TaskId) {
    let cells = MemoryCells::default();
    let samples = samples("objects");
    let object = samples[name].as_object().expect("cells");
    for (cell, value) in object {
        let bytes = if cell.ends_with("/head") {
            frame(value).encode()
        } else {
            value.to_string().into_bytes()
        };
        cells.put(cell, &bytes).expect("written");
    }
    let cell = object.keys().next().expect("a cell");
    let id = cell.split('/').next().and_then(TaskId::parse);
    (cells, id.expect("a task id"))
}

fn ask(name: &str) -> Ask {
    Call::from_frame(frame(&samples("calls")[name]))
        .expect(name)
        .ask
}

fn event(name: &str) -> Event {
    match ask(name) {
        Ask::Begin { begin, .. } => Event::Begin(begin),
        Ask::Claim(claim) => Event::Claim(claim),
        Ask::Record(record) => Event::Record(record),
        Ask::Suspend(suspend) => Event::Suspend(suspend),
        Ask::Finish(finish) => Event::Finish(finish),
        Ask::Delete => Event::Delete,
        other => panic!("{other:?}"),
    }
}

fn at(cells: &MemoryCells, id: TaskId, ms: u64, event: Event) -> Committed {
    commit(cells, id, event, &Moment::at(ms)).expect("committed")
}

fn stored(cells: &MemoryCells, id: TaskId) -> Stored {
    Stored::load(cells, id).expect("readable").expect("there")
}

#[test]
fn every_message_is_read() {
    for (name, sample) in samples("calls") {
        let call = Call::from_frame(frame(&sample)).expect(&name);
        assert!(name.starts_with(call.ask.name()), "{name}");
    }
    for (name, sample) in samples("replies") {
        let reply = Said::from_frame(frame(&sample)).expect(&name);
        assert_eq!(name, reply.told.name());
        if let Told::Claimed {
            claimed,
            journal,
            cursor,
            ..
        } = &reply.told
        {
            assert!(!claimed.undoing && !claimed.cancel && cursor.is_none());
            assert_eq!(journal.len(), 3);
        }
    }
    // It did not know that a delivery need not claim, and had no waits.
    let Event::Begin(begin) = event("begin") else {
        panic!("a begin");
    };
    assert!(begin.claims && begin.parent.is_none());
    assert_eq!(begin.input.body, br#"{"n":1}"#);
    let Event::Suspend(suspend) = event("suspend") else {
        panic!("a suspension");
    };
    assert!(suspend.waits.is_empty() && suspend.n == 0);
}

#[test]
fn every_stored_task_is_read() {
    let states = [
        ("running", State::Running),
        ("suspended", State::Suspended(Waiting::Ready)),
        ("succeeded", State::Succeeded),
        ("failed", State::Failed { resumable: false }),
    ];
    for (name, state) in states {
        let (cells, id) = object(name);
        let stored = stored(&cells, id);
        assert_eq!((stored.task.schema, &stored.task.state), (1, &state));
        assert_eq!(stored.task.id(), id);
        assert_eq!(stored.input_body(&cells), Ok(br#"{"n":1}"#.to_vec()));
        let (records, more) = page(&cells, id, Purpose::Replay, None).expect("readable");
        assert!(records.len() >= 3 && more.is_none());
        let shown = page(&cells, id, Purpose::Show, None).expect("readable");
        assert_eq!(shown.0, records);
        assert!(
            page(&cells, id, Purpose::Undoing, None)
                .expect("readable")
                .0
                .is_empty()
        );
    }
    let (cells, id) = object("backing_off");
    let task = stored(&cells, id).task;
    assert!(matches!(
        task.state,
        State::Suspended(Waiting::BackingOff { .. })
    ));
}

#[test]
fn a_page_is_continued_from_where_the_previous_release_stopped() {
    let (cells, id) = object("running");
    let Ask::Journal { after, .. } = ask("journal") else {
        panic!("a page");
    };
    let (rest, _) = page(&cells, id, Purpose::Replay, Some(&after)).expect("readable");
    let names: Vec<String> = rest.iter().map(|r| r.id.to_string()).collect();
    assert_eq!(names, ["charge"]);
}

#[test]
fn a_task_that_runs_is_recorded_suspended_claimed_and_finished() {
    let (cells, id) = object("running");
    let again = at(&cells, id, T + 10, event("begin"));
    let Reply::Claimed(claimed) = again.reply else {
        panic!("{:?}", again.reply);
    };
    assert_eq!(
        (claimed.attempt, claimed.resumed),
        (1, false),
        "its reply was lost"
    );
    let known = at(&cells, id, T + 11, event("record"));
    let Reply::Recorded {
        winners,
        stop,
        cancel,
    } = known.reply
    else {
        panic!("{:?}", known.reply);
    };
    assert_eq!(
        (winners.len(), stop, cancel, known.rows),
        (3, false, false, 0)
    );
    let suspended = at(&cells, id, T + 12, event("suspend"));
    let Reply::Suspended {
        ticket: Some(ticket),
        hop: 1,
    } = suspended.reply
    else {
        panic!("{:?}", suspended.reply);
    };
    assert_eq!(
        stored(&cells, id).task.schema,
        SCHEMA,
        "it is rewritten in the new form"
    );
    let Event::Claim(mut claim) = event("claim") else {
        panic!("a claim");
    };
    claim.ticket = ticket;
    let second = at(&cells, id, T + 13, Event::Claim(claim));
    let Reply::Claimed(second) = second.reply else {
        panic!("{:?}", second.reply);
    };
    assert_eq!(
        (second.attempt, second.resumed, second.undoing),
        (1, true, false)
    );
    let Event::Finish(mut finish) = event("finish_succeeded") else {
        panic!("a finish");
    };
    finish.proof = second.proof;
    let done = at(&cells, id, T + 14, Event::Finish(finish));
    assert!(matches!(done.reply, Reply::Stands(_)));
    let stored = stored(&cells, id);
    assert_eq!(
        (&stored.task.state, stored.task.schema),
        (&State::Succeeded, SCHEMA)
    );
    assert_eq!(stored.answer_body(&cells), Ok(br#"{"ok":true}"#.to_vec()));
    let (records, _) = page(&cells, id, Purpose::Show, None).expect("readable");
    assert_eq!(records.len(), 5);
}

#[test]
fn each_end_is_taken_of_a_slice_of_the_previous_release() {
    for (name, resumable) in [("finish_failed", Some(false)), ("finish_retryable", None)] {
        let (cells, id) = object("running");
        at(&cells, id, T + 10, event(name));
        let task = stored(&cells, id).task;
        assert_eq!(task.schema, SCHEMA);
        match resumable {
            Some(resumable) => assert_eq!(task.state, State::Failed { resumable }),
            None => assert!(matches!(
                task.state,
                State::Suspended(Waiting::BackingOff { .. })
            )),
        }
    }
}

#[test]
fn a_suspended_task_is_claimed_with_its_ticket_or_by_the_alarm() {
    let (cells, id) = object("suspended");
    let out = at(&cells, id, T + 20, event("claim"));
    assert!(matches!(out.reply, Reply::Claimed(_)), "{:?}", out.reply);
    let (cells, id) = object("suspended");
    let out = at(&cells, id, T + 60_000, Event::AlarmFired);
    assert!(out.put && !out.after.is_empty());
    let (cells, id) = object("backing_off");
    let out = at(&cells, id, T + 60_000, Event::AlarmFired);
    assert!(out.put, "its time has come");
    // New operations on old tasks.
    for name in ["running", "suspended", "backing_off"] {
        let (cells, id) = object(name);
        let op = "op".to_owned();
        let out = at(&cells, id, T + 30, Event::Cancel { op });
        assert!(matches!(out.reply, Reply::Stands(_)));
    }
}

#[test]
fn what_has_ended_gives_its_answer_expires_and_is_deleted() {
    for (name, status) in [("succeeded", 201), ("failed", 402)] {
        let (cells, id) = object(name);
        let Event::Begin(mut begin) = event("begin") else {
            panic!("a begin");
        };
        begin.op = onceward::types::Token::new("another");
        let out = at(&cells, id, T + 1_000, Event::Begin(begin));
        let Reply::Stands(standing) = &out.reply else {
            panic!("{:?}", out.reply);
        };
        assert_eq!(standing.answer.as_ref().map(|a| a.status), Some(status));
        assert_eq!(out.rows, 0);
        let out = at(&cells, id, T + 2_000, event("delete"));
        assert_eq!(out.reply, Reply::Done);
        assert_eq!(stored(&cells, id).task.state, State::Forgotten);
    }
}

#[test]
fn an_object_of_a_newer_release_refuses_every_message_without_a_write() {
    let (cells, id) = object("running");
    let cell = format!("{id}/head");
    let bytes = cells.get(&cell).expect("readable").expect("there");
    let mut head = Frame::decode(&bytes).expect("a frame");
    let text = String::from_utf8(head.head).expect("JSON");
    let newer = format!("\"schema\":{}", SCHEMA + 1);
    head.head = text.replacen("\"schema\":1", &newer, 1).into_bytes();
    cells.put(&cell, &head.encode()).expect("written");
    let before = cells.clone();
    for name in [
        "begin",
        "claim",
        "record",
        "suspend",
        "finish_succeeded",
        "delete",
    ] {
        let out = commit(&cells, id, event(name), &Moment::at(T + 10));
        assert_eq!(
            out.err(),
            Some(CommitError::NewerSchema(SCHEMA + 1)),
            "{name}"
        );
        assert_eq!(cells, before);
    }
}

/// A message of this release may meet an object of the previous one, which ignores what it does not
/// know: nothing that it needs has another name now.
#[test]
fn the_previous_release_finds_what_it_needs_in_our_messages() {
    for (name, sample) in samples("calls") {
        let mut call = Call::from_frame(frame(&sample)).expect(&name);
        if let Ask::Begin {
            begin,
            input_headers,
            ..
        } = &mut call.ask
        {
            input_headers.clone_from(&begin.input.headers);
        }
        let ours: Value = serde_json::from_slice(&call.to_frame().head).expect("JSON");
        covers(&name, &sample["head"], &ours);
    }
    for (name, sample) in samples("replies") {
        let reply = Said::from_frame(frame(&sample)).expect(&name);
        let ours: Value = serde_json::from_slice(&reply.to_frame().head).expect("JSON");
        covers(&name, &sample["head"], &ours);
    }
}

fn covers(at: &str, old: &Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                let path = format!("{at}.{name}");
                covers(&path, value, new.get(name).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            assert_eq!(old.len(), new.len(), "{at}");
            for (old, new) in old.iter().zip(new) {
                covers(at, old, new);
            }
        }
        _ => assert_eq!(old, new, "{at}"),
    }
}
