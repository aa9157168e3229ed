//! Many deliveries at the moments when a key changes hands: revived, expired, deleted, claimed by two bodies.

use crate::support::{
    Answer, Mode, Request, Server, Settings as _, Sink, TOKEN, at_once, call, check, eventually,
    fresh, program,
};
use serde_json::json;

const AT_ONCE: usize = 20;

/// All of them name one task, and none is a fault.
#[track_caller]
fn assert_one_task(answers: &[Answer], statuses: &[u16]) {
    for answer in answers {
        assert!(statuses.contains(&answer.status), "{}", answer.shown());
        assert_eq!(answer.task_id(), answers[0].task_id());
    }
}

#[test]
fn twenty_deliveries_of_a_failed_task_revive_it_once() {
    let (server, sink) = (Server::start(), Sink::start());
    for mode in Mode::BOTH {
        let (done, flaky) = (
            format!("/done?{mode:?}"),
            format!("/fail-then-ok/1?{mode:?}"),
        );
        let steps = [
            call("done", sink.url(&done)),
            call("flaky", sink.url(&flaky)),
        ];
        let slow = call("slow", sink.url(&format!("/d/300?{mode:?}")));
        let body = program(steps.into_iter().chain([slow]));
        let request = mode.request(
            &fresh("revived"),
            &body.set("max_attempts", 1).set("respond_within", "5s"),
        );
        let failed = server.send(&request);
        assert_eq!(
            server.task(&failed.task_id())["resumable"],
            true,
            "{}",
            failed.shown()
        );
        let answers = at_once(&server, &vec![request; AT_ONCE]);
        assert_one_task(&answers, &[200, 202, 409]);
        server.wait_state(&failed.task_id(), "succeeded");
        assert_eq!((sink.count(&done), sink.count(&flaky)), (1, 2));
        assert_eq!(sink.count(&format!("/d/300?{mode:?}")), 1);
    }
}

#[test]
fn twenty_deliveries_of_an_expired_key_run_once_more() {
    let (server, sink) = (Server::start(), Sink::start());
    for mode in Mode::BOTH {
        let target = format!("/d/200?{mode:?}");
        let retention = json!({ "succeeded": "5s", "failed": "5s" });
        let body = program([call("run", sink.url(&target))])
            .set("retention", retention)
            .set("respond_within", "5s");
        let request = mode.request(&fresh("expired"), &body);
        let expires = server.send(&request).expect(200).expires_ms();
        eventually(|| {
            check(crate::support::unix_ms() >= expires, || {
                "not yet".to_owned()
            })
        });
        // Object and D1 forget it at this very moment.
        let answers = at_once(&server, &vec![request; AT_ONCE]);
        assert_one_task(&answers, &[200, 202, 409]);
        let firsts = answers.iter().filter(|a| a.status == 200 && !a.is_replay());
        assert!(firsts.count() <= 1, "one of them is the first");
        assert_eq!(sink.count(&target), 2);
    }
}

#[test]
fn of_many_bodies_under_one_new_key_one_wins_and_the_others_are_refused() {
    let (server, sink) = (Server::start(), Sink::start());
    for mode in Mode::BOTH {
        let key = fresh("contested");
        let target = |n: usize| format!("/d/200?{mode:?}{n}");
        let requests: Vec<Request> = (0..AT_ONCE)
            .map(|n| {
                let body = program([call("run", sink.url(&target(n)))]).set("respond_within", "5s");
                mode.request(&key, &body)
            })
            .collect();
        let answers = at_once(&server, &requests);
        assert_one_task(&answers, &[200, 202, 422]);
        let refused = answers.iter().filter(|a| a.status == 422).count();
        assert_eq!(refused, AT_ONCE - 1, "all but the winner");
        let runs: usize = (0..AT_ONCE).map(|n| sink.count(&target(n))).sum();
        assert_eq!(runs, 1);
    }
}

/// The tombstone of the old task is on its way while the new one begins, runs and ends.
#[test]
fn a_key_used_again_right_after_its_deletion_keeps_its_new_task() {
    const ROUNDS: usize = 10;
    let (server, sink) = (Server::start(), Sink::start());
    for mode in Mode::BOTH {
        let target = format!("/run?{mode:?}");
        let request = mode.request(&fresh("again"), &program([call("run", sink.url(&target))]));
        let id = server.send(&request).expect(200).task_id();
        let delete = Request::new("DELETE", &format!("/v1/tasks/{id}")).bearer(TOKEN);
        for round in 1..=ROUNDS {
            server.send(&delete).expect(204);
            let answer = server.send(&request).expect(200);
            assert!(!answer.is_replay(), "round {round}: {}", answer.shown());
            assert_eq!(sink.count(&target), round + 1);
        }
        assert!(server.send(&request).expect(200).is_replay());
        let generation = server.task(&id)["generation"].as_i64();
        let row = eventually(|| {
            let row = server.files().row(&id)?.ok_or("no row")?;
            check(
                Some(row.generation) == generation && row.state == "succeeded",
                || format!("{row:?}"),
            )?;
            Ok(row)
        });
        assert!(row.answer_body.is_some(), "{row:?}");
        assert!(
            server.send(&request).expect(200).is_replay(),
            "it is still there"
        );
    }
}

/// Deletion and deliveries at the same moment: each delivery is a replay of the old task or part of one new run.
#[test]
fn deletion_among_deliveries_loses_none_and_doubles_none() {
    let (server, sink) = (Server::start(), Sink::start());
    for mode in Mode::BOTH {
        let target = format!("/run?{mode:?}");
        let body = program([call("run", sink.url(&target))]).set("respond_within", "5s");
        let request = mode.request(&fresh("among"), &body);
        let id = server.send(&request).expect(200).task_id();
        let mut requests = vec![request.clone(); AT_ONCE];
        requests.insert(
            AT_ONCE / 2,
            Request::new("DELETE", &format!("/v1/tasks/{id}")).bearer(TOKEN),
        );
        let mut answers = at_once(&server, &requests);
        let deleted = answers.remove(AT_ONCE / 2);
        // It may have met the new run.
        assert!(matches!(deleted.status, 204 | 409), "{}", deleted.shown());
        assert_one_task(&answers, &[200, 202, 409]);
        let firsts = answers.iter().filter(|a| a.status == 200 && !a.is_replay());
        assert!(firsts.count() <= 1);
        server.send(&request).expect(200);
        assert!(sink.count(&target) <= 2, "{}", sink.count(&target));
    }
}
