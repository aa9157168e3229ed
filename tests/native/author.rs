//! What the tests of the author's API share.

use onceward::function::{Input, OutRequest};
use onceward::testing::{Bench, Reaction, Sent};

/// A body of JSON.
pub fn input(json: &str) -> Input {
    Input {
        body: json.as_bytes().to_vec(),
        ..Input::default()
    }
}

/// A request to one path of the outside.
pub fn post(path: &str) -> OutRequest {
    OutRequest {
        method: "POST".into(),
        url: format!("https://example.com/{path}"),
        headers: std::iter::empty::<(&str, &str)>().collect(),
        body: Vec::new(),
    }
}

/// Delivers `null` under the key `k`.
pub fn started(mut bench: Bench) -> Bench {
    bench.deliver("k", input("null")).expect("null is taken");
    bench
}

/// Delivers and runs to the end.
pub fn run(bench: Bench) -> Bench {
    let mut bench = started(bench);
    bench.run_until_idle();
    bench
}

/// Last segments of the addresses that were called, in order.
pub fn urls(bench: &Bench) -> Vec<String> {
    let last = |sent: &Sent| sent.request.url.rsplit('/').next().unwrap_or("").to_owned();
    bench.requests().iter().map(last).collect()
}

/// The body of the stored answer.
pub fn body(bench: &Bench) -> String {
    let task = bench.task("k").expect("a task");
    let answer = bench.answer("k");
    let answer =
        answer.unwrap_or_else(|| panic!("no answer: {:?}, {:?}", task.state, task.failure));
    String::from_utf8(answer.body).expect("text")
}

/// An outside that answers one path with this status, everything else with 200.
pub fn by_path(path: &'static str, status: u16) -> impl Fn(&Sent) -> Reaction {
    move |sent| {
        let this = sent.request.url.ends_with(path);
        Reaction::json(if this { status } else { 200 }, "{}")
    }
}
