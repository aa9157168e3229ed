//! Messages between Worker and object.

use super::*;
use crate::protocol::Proof;
use crate::types::{Answer, Policy, TaskKey, TaskKind};

fn key() -> TaskKey {
    TaskKey::new(TaskKind::Source, "lab", "", "k")
}

#[test]
fn begin_carries_its_body_as_bytes() {
    let body: Vec<u8> = (0..=255).collect();
    let headers: Headers = [("content-type", "image/png")].into_iter().collect();
    let call = Call {
        task_id: key().task_id(),
        ask: Ask::Begin {
            begin: Box::new(Begin {
                op: Token::new("op"),
                key: key(),
                function: "lab".into(),
                policy: Policy::default(),
                fingerprint: Some("f".into()),
                input: Input {
                    headers: headers.clone(),
                    body: body.clone(),
                },
                claims: true,
                hop: 0,
                parent: None,
            }),
            input_headers: headers.clone(),
            wait_ms: 5,
        },
    };
    let frame = Frame::decode(&call.to_frame().encode()).unwrap();
    let Ask::Begin { begin, wait_ms, .. } = Call::from_frame(frame).unwrap().ask else {
        panic!("not a begin");
    };
    assert_eq!(begin.input, Input { headers, body });
    assert_eq!(wait_ms, 5);
}

#[test]
fn finish_carries_its_answer_as_bytes() {
    let answer = Answer {
        status: 201,
        headers: Headers::default(),
        body: vec![0, 159, 146, 150],
    };
    let finish = Finish {
        op: Token::new("op"),
        proof: Proof {
            fence: 1,
            token: Token::new("t"),
        },
        steps: Vec::new(),
        known: Vec::new(),
        verdict: Verdict::Succeeded(answer),
    };
    let call = Call {
        task_id: key().task_id(),
        ask: Ask::Finish(Box::new(finish)),
    };
    let back = Call::from_frame(Frame::decode(&call.to_frame().encode()).unwrap());
    assert_eq!(back, Ok(call));
}

#[test]
fn unknown_fields_are_ignored_and_missing_ones_have_defaults() {
    let id = key().task_id();
    let text = format!(r#"{{"task_id":"{id}","ask":{{"look":{{"from_the_future":1}}}},"x":2}}"#);
    let frame = Frame {
        head: text.into_bytes(),
        blobs: Vec::new(),
    };
    assert_eq!(
        Call::from_frame(frame).unwrap().ask,
        Ask::Look { wait_ms: 0 }
    );
}
