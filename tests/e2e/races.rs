//! Deliveries, continuations and cron at the same time.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, at_once, call, check, eventually, fresh, hook,
    program, shared, throughout,
};
use serde_json::json;
use std::collections::HashSet;
use std::time::Duration;

/// F01.
#[test]
fn fifty_deliveries_of_one_key_run_once() {
    let (server, sink) = (Server::start(), Sink::start());
    let key = fresh("storm");
    let body = program([call("slow", sink.url("/d/2000"))]);
    let requests = vec![Mode::Webhook.request(&key, &body); 50];
    let answers = at_once(&server, &requests);

    let ids: HashSet<String> = answers.iter().map(|a| a.task_id()).collect();
    assert_eq!(ids.len(), 1, "one task: {ids:?}");
    let id = ids.into_iter().next().expect("an id");
    server.wait_state(&id, "succeeded");
    let late = hook(&server, &key, &body).expect(200);
    assert!(late.is_replay(), "{}", late.shown());
    for answer in &answers {
        match answer.status {
            200 => assert_eq!(answer.body, late.body, "{}", answer.shown()),
            202 => assert_eq!(answer.json()["task_id"], id, "{}", answer.shown()),
            _ => panic!("{}", answer.shown()),
        }
    }
    let firsts = answers.iter().filter(|a| a.status == 200 && !a.is_replay());
    assert!(firsts.count() <= 1, "only one of them is the first");
    assert_eq!(sink.count("/d/2000"), 1);
}

/// F01 for a function that takes longer than senders wait: everybody gets the same handle.
#[test]
fn fifty_deliveries_of_one_slow_key_get_one_handle() {
    let (server, sink) = (Server::start(), Sink::start());
    let key = fresh("slow-storm");
    let body = program([call("slow", sink.url("/d/600"))]).set("respond_within", "100ms");
    let requests = vec![Mode::Webhook.request(&key, &body); 50];
    let answers = at_once(&server, &requests);
    let ids: HashSet<String> = answers.iter().map(|a| a.task_id()).collect();
    assert_eq!(ids.len(), 1, "one task: {ids:?}");
    for answer in &answers {
        assert!(matches!(answer.status, 200 | 202), "{}", answer.shown());
    }
    for id in &ids {
        server.wait_state(id, "succeeded");
    }
    assert!(hook(&server, &key, &body).expect(200).is_replay());
    assert_eq!(sink.count("/d/600"), 1);
}

/// F126: the id is there from the first answer on, and it can be asked for at once.
#[test]
fn every_answer_names_a_task_that_can_be_found_at_once() {
    let (server, sink) = (shared(), Sink::start());
    for mode in Mode::BOTH {
        let key = fresh("handle");
        let target = format!("/d/600?{mode:?}");
        let body = program([call("slow", sink.url(&target))]).set("respond_within", "100ms");
        let send = || {
            let answer = mode.deliver(server, &key, &body);
            let id = answer.task_id();
            assert_eq!(server.task(&id)["task_id"], id, "found at once");
            (answer, id)
        };
        let (first, id) = send();
        first.expect(202);
        let (during, same) = send();
        assert!(
            matches!(during.status, 200 | 202 | 409),
            "{}",
            during.shown()
        );
        assert_eq!(during.json()["task_id"].as_str().unwrap_or(&id), id);
        assert_eq!(same, id);
        server.wait_state(&id, "succeeded");
        let (after, same) = send();
        after.expect(200);
        assert_eq!(same, id);
        assert_eq!(sink.count(&target), 1);
    }
}

/// F126 for failures.
#[test]
fn a_failed_task_keeps_its_id() {
    let server = shared();
    for mode in Mode::BOTH {
        let key = fresh("failed-handle");
        let body = program([crate::support::fail("terminal")]);
        let first = mode.deliver(server, &key, &body).task_id();
        let again = mode.deliver(server, &key, &body).task_id();
        assert_eq!(first, again);
        assert_eq!(server.task(&first)["state"], "failed");
    }
}

/// F08: cron looks at a task that has only begun, and leaves it alone.
#[test]
fn cron_leaves_a_running_task_alone() {
    let (server, sink) = (Server::start(), Sink::start());
    let key = fresh("cron");
    let body = program([call("slow", sink.url("/d/1500"))]).set("respond_within", "100ms");
    let id = hook(&server, &key, &body).expect(202).task_id();
    for after in [0, 50, 100] {
        sink.wait_into("/d/1500", Duration::from_millis(after));
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| server.cron());
            }
        });
    }
    server.wait_state(&id, "succeeded");
    assert_eq!(sink.count("/d/1500"), 1);
}

/// F04: a duplicate, the continuation and cron fall on one task at random moments.
#[test]
fn duplicates_continuations_and_cron_together_run_each_step_once() {
    const LANES: usize = 4;
    const ROUNDS: usize = 25;
    let (server, sink) = (Server::start(), Sink::start());
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let (server, sink) = (&server, &sink);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    one_round(server, sink, &format!("{lane}-{round}"));
                }
            });
        }
    });
}

fn one_round(server: &Server, sink: &Sink, name: &str) {
    let key = fresh("round");
    let targets: Vec<String> = ["a", "b", "c"].map(|s| format!("/{s}?{name}")).into();
    let steps = ["a", "b", "c"].iter().zip(&targets);
    let steps = steps.map(|(step, target)| call(step, sink.url(target)));
    // Each step is a slice of its own, so two continuations follow the delivery.
    let body = program(steps)
        .set("respond_within", "20ms")
        .set("steps_per_slice", 1);
    let offsets: [u64; 3] = uuid::Uuid::new_v4().into_bytes()[..3]
        .iter()
        .map(|b| u64::from(*b) % 21)
        .collect::<Vec<_>>()
        .try_into()
        .expect("three of them");
    let id = hook(server, &key, &body).task_id();
    let later = |ms: u64| throughout(Duration::from_millis(ms), || Ok(()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            later(offsets[0]);
            let answer = hook(server, &key, &body);
            assert!(
                matches!(answer.status, 200 | 202),
                "{offsets:?} {}",
                answer.shown()
            );
        });
        scope.spawn(|| {
            later(offsets[1]);
            server.cron();
        });
        scope.spawn(|| {
            later(offsets[2]);
            hook(server, &key, &body);
        });
    });
    let mut seen_final = false;
    eventually(|| {
        let state = server.task(&id)["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(
            !seen_final || state == "succeeded",
            "{state} after the end, {offsets:?}"
        );
        seen_final |= state == "succeeded";
        check(seen_final, || format!("{state}, {offsets:?}"))
    });
    assert!(hook(server, &key, &body).expect(200).is_replay());
    for target in &targets {
        assert_eq!(sink.count(target), 1, "{target}, {offsets:?}");
    }
}

/// Keys that differ only in a character are different; nothing is shared between them.
#[test]
fn many_keys_at_once_each_get_their_own_answer() {
    let server = Server::start();
    let keys: Vec<String> = (0..40).map(|n| fresh(&format!("own-{n}"))).collect();
    let requests: Vec<Request> = keys
        .iter()
        .map(|key| {
            let body = program([])
                .set("respond_within", "5s")
                .answer(json!({ "status": 200, "body": key }));
            Mode::Webhook.request(key, &body)
        })
        .collect();
    let answers = at_once(&server, &requests);
    let mut ids = HashSet::new();
    for (key, answer) in keys.iter().zip(&answers) {
        assert_eq!(answer.json(), json!(key), "{}", answer.shown());
        assert!(ids.insert(answer.task_id()), "an id of its own");
    }
}
