//! Messages between Worker and object: a frame, or the JSON of its head on one line and a blob behind it.

use super::input::{is_json, is_whole, line};
use onceward::http::object_call::{Ask, Call, Frame, Reply, Told};
use onceward::http::problem::Problem;
use onceward::http::{signal, steer};
use onceward::types::{Answer, TaskKey, TaskKind};

pub fn check(data: &[u8]) {
    if let Some(frame) = Frame::decode(data) {
        assert_eq!(frame.encode(), data, "one frame has one form");
        message(&frame);
    }
    let (head, blob) = line(data);
    let frame = Frame {
        head: head.to_vec(),
        blobs: vec![blob.to_vec(), Vec::new()],
    };
    assert_eq!(Frame::decode(&frame.encode()).as_ref(), Some(&frame));
    for cut in [1, 4, 5] {
        let bytes = frame.encode();
        let cut = &bytes[..bytes.len() - cut.min(bytes.len())];
        assert_ne!(Frame::decode(cut).as_ref(), Some(&frame), "cut off");
    }
    message(&frame);
}

fn message(frame: &Frame) {
    if let Ok(call) = Call::from_frame(frame.clone()) {
        let again = Call::from_frame(as_sent(call.clone()).to_frame());
        assert_eq!(again, Ok(call));
    }
    if let Ok(reply) = Reply::from_frame(frame.clone()) {
        assert_eq!(Reply::from_frame(reply.to_frame()).as_ref(), Ok(&reply));
        answers(&reply.told);
    }
}

/// The fields of an input travel in the head; who receives it finds them beside the body.
pub fn as_sent(mut call: Call) -> Call {
    if let Ask::Begin {
        begin,
        input_headers,
        ..
    } = &mut call.ask
    {
        input_headers.clone_from(&begin.input.headers);
    }
    call
}

/// Whatever an object says, the answer to it is whole.
fn answers(told: &Told) {
    let id = TaskKey::new(TaskKind::Source, "s", "", "k").task_id();
    let judge = |answer: Option<Result<Answer, Problem>>| match answer {
        Some(Ok(answer)) => is_json(&answer),
        Some(Err(problem)) => is_whole(&problem),
        None => {}
    };
    for one_time in [false, true] {
        judge(signal::answer(told, id, one_time));
    }
    for operation in [
        steer::Operation::Cancel,
        steer::Operation::Retry,
        steer::Operation::Undo,
    ] {
        judge(steer::answer(operation, told, id));
    }
}
