//! Payloads of providers: a line, fields, body. Every function that is deployed runs on them, and an answer of
//! another service is read.

use super::input::{is_json, is_sendable, written};
use onceward::function::{FetchBody, Function, Input};
use onceward::http::document::TaskDocument;
use onceward::http::headers::fit;
use onceward::protocol::Summary;
use onceward::store::d1;
use onceward::testing::Bench;

thread_local! {
    static FUNCTIONS: Vec<Function> = onceward::functions::all();
}

pub fn check(data: &[u8]) {
    let request = written(data);
    let media = request.headers.get("content-type");
    let read = FetchBody::read(media, &request.body);
    let text = read.to_string();
    assert_eq!(
        serde_json::from_str(&text).ok(),
        Some(read),
        "an outcome that can be read back"
    );
    for name in ["github-event", "inbox", "echo"] {
        let input = Input {
            headers: request.headers.clone(),
            body: request.body.clone(),
        };
        run(name, input);
    }
}

fn run(name: &str, input: Input) {
    let function = FUNCTIONS.with(|all| all.iter().find(|f| f.name() == name).cloned());
    let mut bench = Bench::new(function.expect("it is deployed"));
    if bench.deliver("k", input).is_err() {
        return;
    }
    bench.run_until_idle();
    let task = bench.task("k").expect("a task");
    assert!(task.has_ended(), "{name}: {:?}", task.state);
    let answer = bench.answer("k");
    if let Some(answer) = &answer {
        assert_eq!(
            fit(answer.clone()).as_ref(),
            Ok(answer),
            "what is stored can be sent"
        );
        is_sendable(answer);
    }
    is_json(&TaskDocument::of(&Summary::of(&task)).to_answer(200));
    assert!(!d1::flush(&task, answer.map(|a| a.body)).is_empty());
}
