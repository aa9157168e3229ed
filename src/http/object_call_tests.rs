//! Messages between Worker and object.

use super::*;
use crate::protocol::Proof;
use crate::types::{About, Answer, Policy, TaskKey, TaskKind};

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
                parts: vec![("/a".into(), "0a1b2c3d".into())],
                input: Input {
                    headers: headers.clone(),
                    body: body.clone(),
                },
                claims: true,
                hop: 0,
                parent: None,
                lineage: Vec::new(),
                about: About::default(),
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

#[test]
fn another_input_travels_as_bytes() {
    for input in [None, Some(Vec::new()), Some(vec![0, 159, 146, 150])] {
        let call = Call {
            task_id: key().task_id(),
            ask: Ask::Retry {
                has_input: input.is_some(),
                retry: Box::new(Retry {
                    op: "op".into(),
                    from: Some("charge".into()),
                    input,
                    same_keys: true,
                    ..Retry::default()
                }),
            },
        };
        let back = Call::from_frame(Frame::decode(&call.to_frame().encode()).unwrap());
        assert_eq!(back, Ok(call));
    }
}

#[test]
fn what_an_older_worker_or_object_leaves_out_has_a_default() {
    let head = |told: &str| {
        let frame = Frame {
            head: told.as_bytes().to_vec(),
            blobs: Vec::new(),
        };
        Reply::from_frame(frame).map(|reply| reply.told)
    };
    assert_eq!(
        head(r#"{"recorded":{}}"#),
        Ok(Told::Recorded {
            stop: false,
            winners: Vec::new(),
            cancel: false,
        })
    );
    assert_eq!(
        head(r#"{"journal":{"records":[]}}"#),
        Ok(Told::Journal {
            records: Vec::new(),
            more: None,
            generation: 0,
        })
    );
    assert!(head(r#"{"from_the_future":{}}"#).is_err());
    let id = key().task_id();
    let text =
        format!(r#"{{"task_id":"{id}","ask":{{"journal":{{"after":"0000/0001a/0000000000"}}}}}}"#);
    let frame = Frame {
        head: text.into_bytes(),
        blobs: Vec::new(),
    };
    let want = Ask::Journal {
        after: "0000/0001a/0000000000".into(),
        undoing: false,
        show: false,
    };
    assert_eq!(Call::from_frame(frame).unwrap().ask, want);
}

#[test]
fn a_message_that_saves_progress_has_a_name_of_its_own() {
    let record = |cursor| {
        Ask::Record(Box::new(Record {
            proof: Proof {
                fence: 1,
                token: Token::new("t"),
            },
            steps: Vec::new(),
            known: Vec::new(),
            cursor,
            known_cursor: None,
        }))
    };
    let cursor = Cursor {
        fence: 0,
        n: 1,
        text: "1".into(),
        skips: Vec::new(),
    };
    assert_eq!(record(None).name(), "record");
    assert_eq!(record(Some(cursor)).name(), "save");
}
