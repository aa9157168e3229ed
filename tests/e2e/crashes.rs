//! `kill -9` of Node and workerd at chosen moments, and a restart on the same data.

use crate::support::{
    Answer, Mode, Server, Settings as _, Sink, call, check, eventually, fresh, hook, program,
};
use serde_json::Value;
use std::time::Duration;

/// Three steps of about a second, all in one slice; a lost lease is noticed after nine seconds.
fn three_steps(sink: &Sink, name: &str) -> Value {
    let steps = ["a", "b", "c"].map(|step| call(step, sink.url(&target(name, step))));
    program(steps)
        .set("respond_within", "100ms")
        .set("slice_budget", "6s")
        .set("slice_cut", "7s")
        .set("lease", "9s")
}

fn target(name: &str, step: &str) -> String {
    format!("/d/900?{name}{step}")
}

/// F10, the main case: nobody sends anything after the crash.
#[test]
fn after_a_crash_the_task_ends_by_lease_and_alarm_alone() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let body = three_steps(&sink, "");
    let id = hook(&server, &fresh("crash"), &body).expect(202).task_id();
    sink.wait_into(&target("", "a"), Duration::from_millis(500));
    server.restart();
    // The sink sees the run go on before anybody asks for the task.
    sink.wait_for(&target("", "c"), 1);
    server.wait_state(&id, "succeeded");
    let counts = ["a", "b", "c"].map(|step| sink.count(&target("", step)));
    assert_eq!(counts, [2, 1, 1], "only the interrupted step ran again");
    sink.assert_no_overlap(&target("", "a"));
}

/// F17: five tasks are caught by one crash, half a second apart in their work.
#[test]
fn finished_steps_are_not_repeated_whenever_the_crash_comes() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let names = ["one", "two", "three", "four", "five"];
    let mut ids = Vec::new();
    for name in names {
        let body = three_steps(&sink, name);
        ids.push(hook(&server, &fresh(name), &body).expect(202).task_id());
        sink.wait_into(&target(name, "a"), Duration::from_millis(500));
    }
    server.kill9();
    let begun = |name: &str, step: &str| sink.count(&target(name, step));
    let before: Vec<[usize; 3]> = names.map(|n| ["a", "b", "c"].map(|s| begun(n, s))).to_vec();
    server.restart();
    for (id, name) in ids.iter().zip(names) {
        sink.wait_for(&target(name, "c"), 1);
        server.wait_state(id, "succeeded");
    }
    for (name, before) in names.iter().zip(before) {
        // The last step that had begun may be repeated; those before it were recorded.
        let broken = before
            .iter()
            .rposition(|n| *n > 0)
            .expect("something had begun");
        for (index, step) in ["a", "b", "c"].iter().enumerate() {
            let count = begun(name, step);
            let most = if index == broken { 2 } else { 1 };
            assert!(
                (1..=most).contains(&count),
                "{name}: {step} ran {count} times, {before:?} before"
            );
            sink.assert_no_overlap(&target(name, step));
        }
    }
}

/// A second crash while the first one is being made good.
#[test]
fn a_second_crash_delays_the_end_and_repeats_nothing_that_is_recorded() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let id = hook(&server, &fresh("twice"), &three_steps(&sink, ""))
        .expect(202)
        .task_id();
    sink.wait_for(&target("", "b"), 1);
    server.restart();
    sink.wait_for(&target("", "b"), 2);
    server.restart();
    server.wait_state(&id, "succeeded");
    assert_eq!(sink.count(&target("", "a")), 1);
    // Each crash costs at most the step that it interrupts.
    let (b, c) = (sink.count(&target("", "b")), sink.count(&target("", "c")));
    assert!(
        b >= 2 && c >= 1 && b + c <= 4,
        "b ran {b} times, c {c} times"
    );
}

/// A crash among many short slices: tickets are on their way and nobody holds the lease.
#[test]
fn a_crash_between_two_slices_loses_no_task() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let names: Vec<String> = (0..8).map(|n| format!("s{n}")).collect();
    let target = |name: &str, step: &str| format!("/d/40?{name}{step}");
    let mut ids = Vec::new();
    for name in &names {
        let steps = ["a", "b", "c"].map(|step| call(step, sink.url(&target(name, step))));
        let body = program(steps).short().set("steps_per_slice", 1);
        let request = Mode::Webhook
            .request(&fresh(name), &body)
            .field("Prefer", "respond-async");
        ids.push(server.send(&request).expect(202).task_id());
    }
    // Some tasks are in their last slice by then, others in their first.
    eventually(|| check(sink.total() >= 12, || format!("{} calls", sink.total())));
    server.restart();
    for (name, id) in names.iter().zip(&ids) {
        server.wait_state(id, "succeeded");
        let counts = ["a", "b", "c"].map(|step| sink.count(&target(name, step)));
        let repeated = counts.iter().filter(|n| **n > 1).count();
        assert!(
            counts.iter().all(|n| (1..=2).contains(n)) && repeated <= 1,
            "{name}: {counts:?}"
        );
    }
}

/// No answer leaves before what it says is durable.
#[test]
fn an_answer_that_arrived_before_the_crash_is_given_again_after_it() {
    const KEYS: usize = 12;
    let (mut server, sink) = (Server::start(), Sink::start());
    for mode in Mode::BOTH {
        let keys: Vec<String> = (0..KEYS).map(|n| fresh(&format!("durable-{n}"))).collect();
        let target = |n: usize| format!("/d/{}?{mode:?}{n}", n * 40);
        let body = |n: usize| program([call("once", sink.url(&target(n)))]).short();
        let (send, arrived) = std::sync::mpsc::channel::<(usize, Answer)>();
        // The crash comes while some answers have arrived and others have not.
        let seen = std::thread::scope(|scope| {
            for (n, key) in keys.iter().enumerate() {
                let (request, send) = (mode.request(key, &body(n)), send.clone());
                let address = server.address();
                scope.spawn(move || {
                    if let Ok(answer) = crate::support::http::exchange(address, &request) {
                        let _ = send.send((n, answer));
                    }
                });
            }
            drop(send);
            let mut seen: Vec<_> = arrived.iter().take(KEYS / 2).collect();
            server.kill9();
            seen.extend(arrived.iter());
            seen
        });
        assert!(seen.len() >= KEYS / 2, "{} answers", seen.len());
        server.restart();
        for (n, first) in &seen {
            if first.status == 202 {
                continue; // The machine is slow; its end is awaited below.
            }
            let first = first.clone().expect(200);
            let again = mode.deliver(&server, &keys[*n], &body(*n)).expect(200);
            assert!(again.is_replay(), "{}", again.shown());
            assert_eq!(again.body, first.body);
            assert_eq!(sink.count(&target(*n)), 1, "no second run");
        }
        // The others end as well, without being lost.
        for (n, key) in keys.iter().enumerate() {
            let request = mode.request(key, &body(n));
            eventually(|| {
                let answer = server.send(&request);
                check(answer.status == 200, || answer.shown())
            });
            assert!(sink.count(&target(n)) <= 2);
        }
    }
}

/// A 202 is a promise as well.
#[test]
fn what_was_accepted_with_202_before_the_crash_runs_after_it() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let body = program([call("once", sink.url("/d/500"))]).short();
    let request = Mode::Webhook
        .request(&fresh("promise"), &body)
        .field("Prefer", "respond-async");
    let id = server.send(&request).expect(202).task_id();
    server.restart();
    server.wait_state(&id, "succeeded");
    assert!((1..=2).contains(&sink.count("/d/500")));
}

/// F10, with a sender that repeats its delivery all the time.
#[test]
fn repeated_deliveries_meet_a_lost_lease_and_are_never_locked_out() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let requests = Mode::BOTH.map(|mode| {
        let body = program([call("slow", sink.url(&format!("/d/500?{mode:?}")))]).short();
        mode.request(&fresh("repeats"), &body)
    });
    let ids = requests
        .each_ref()
        .map(|request| server.send(request).expect(202).task_id());
    for mode in Mode::BOTH {
        sink.wait_for(&format!("/d/500?{mode:?}"), 1);
    }
    server.restart();
    for ((request, id), mode) in requests.iter().zip(&ids).zip(Mode::BOTH) {
        let last = eventually(|| {
            let answer = server.send(request);
            assert!(
                matches!(answer.status, 200 | 202 | 409),
                "{}",
                answer.shown()
            );
            assert_eq!(&answer.task_id(), id);
            check(answer.status == 200, || answer.shown())?;
            Ok(answer)
        });
        assert!(last.is_replay(), "{}", last.shown());
        assert!((1..=2).contains(&sink.count(&format!("/d/500?{mode:?}"))));
        sink.assert_no_overlap(&format!("/d/500?{mode:?}"));
    }
}
