//! Operators try a failed task again: from what failed, from a step, or with another input.

use crate::support::tasks::steer;
use crate::support::{
    Mode, Request, Settings as _, Sink, call, fail, fresh, hook, program, shared, sleep,
};
use serde_json::{Value, json};

fn once(steps: impl IntoIterator<Item = Value>) -> Value {
    program(steps)
        .set("respond_within", "50ms")
        .set("max_attempts", 1)
}

/// Three steps of which the last one fails the first time; failed.
struct Failed {
    sink: Sink,
    id: String,
    request: Request,
}

const TARGETS: [&str; 3] = ["/a", "/b", "/seq/500,200"];

impl Failed {
    fn begin() -> Self {
        let sink = Sink::start();
        let steps = ["a", "b", "c"].iter().zip(TARGETS);
        let body = once(steps.map(|(name, target)| call(name, sink.url(target))));
        let request = Mode::Webhook.request(&fresh("steer"), &body);
        let id = shared().send(&request).task_id();
        shared().wait_state(&id, "failed");
        Self { sink, id, request }
    }

    fn counts(&self) -> [usize; 3] {
        TARGETS.map(|t| self.sink.count(t))
    }

    /// Whether the second call of a target has carried another key than the first one.
    fn has_new_key(&self, target: &str) -> bool {
        let keys = self.sink.keys(target);
        assert_eq!(keys.len(), 2, "{target}");
        keys[0] != keys[1]
    }

    #[track_caller]
    fn succeeds(&self) {
        shared().wait_state(&self.id, "succeeded");
        assert!(shared().send(&self.request).expect(200).is_replay());
    }
}

#[track_caller]
fn assert_plan(plan: &Value, kept: &[&str], again: &[&str], is_new: bool, new_keys: bool) {
    assert_eq!(plan["kept"], json!(kept), "{plan}");
    assert_eq!(plan["again"], json!(again), "{plan}");
    assert_eq!(plan["new_generation"], is_new, "{plan}");
    assert_eq!(plan["new_keys"], new_keys, "{plan}");
}

#[test]
fn a_retry_goes_on_with_what_failed() {
    let failed = Failed::begin();
    let request = steer(&failed.id, "retry");
    let before = shared().task(&failed.id);
    let document = shared().send(&request).expect(202).json();
    assert_eq!(document["task_id"], failed.id, "{document}");
    assert_plan(&document["retry"], &["a", "b"], &["c"], false, false);
    failed.succeeds();
    assert_eq!(failed.counts(), [1, 1, 2]);
    assert!(!failed.has_new_key(TARGETS[2]), "the same generation");
    let after = shared().task(&failed.id);
    assert_eq!(after["generation"], before["generation"], "{after}");
}

#[test]
fn a_retry_from_a_step_keeps_what_came_before_it() {
    for (wish, new_keys) in [
        (json!({ "from": "b" }), true),
        (json!({ "from": "b", "keys": "new" }), true),
        (json!({ "from": "b", "keys": "same" }), false),
    ] {
        let failed = Failed::begin();
        let before = shared().task(&failed.id);
        let document = shared().retry(&failed.id, &wish).expect(202).json();
        let plan = &document["retry"];
        assert_plan(plan, &["a"], &["b", "c"], true, new_keys);
        failed.succeeds();
        assert_eq!(failed.counts(), [1, 2, 2], "{wish}");
        for target in &TARGETS[1..] {
            assert_eq!(failed.has_new_key(target), new_keys, "{wish} {target}");
        }
        let after = shared().task(&failed.id);
        let generation = |d: &Value| d["generation"].as_u64();
        assert!(generation(&after) > generation(&before), "{after}");
    }
}

#[test]
fn a_dry_run_says_the_same_and_does_nothing() {
    let failed = Failed::begin();
    // Each look costs a little, and says so.
    let shown = || {
        let mut task = shared().task(&failed.id);
        task.as_object_mut().expect("a task").remove("cost");
        task
    };
    let before = shown();
    for (wish, kept, again, is_new, new_keys) in [
        (json!({}), &["a", "b"][..], &["c"][..], false, false),
        (json!({ "from": "c" }), &["a", "b"], &["c"], true, true),
        (json!({ "from": "a" }), &[], &["a", "b", "c"], true, true),
        (
            json!({ "from": "a", "keys": "same" }),
            &[],
            &["a", "b", "c"],
            true,
            false,
        ),
        (
            json!({ "input": program([]) }),
            &[],
            &["a", "b", "c"],
            true,
            true,
        ),
    ] {
        let wish = wish.with("dry_run", true);
        let plan = shared().retry(&failed.id, &wish).expect(200).json();
        assert_eq!(plan["task_id"], failed.id, "{plan}");
        assert_eq!(plan["dry_run"], true, "{plan}");
        assert_plan(&plan, kept, again, is_new, new_keys);
    }
    assert_eq!(shown(), before, "nothing has changed");
    assert_eq!(failed.counts(), [1, 1, 1]);
    // And it can still be done.
    shared().retry(&failed.id, &json!({})).expect(202);
    failed.succeeds();
}

#[test]
fn a_retry_with_another_input_starts_over_with_it() {
    let (server, sink) = (shared(), Sink::start());
    let body = once([call("a", sink.url("/a")), fail("terminal")]);
    let request = Mode::Webhook.request(&fresh("edited"), &body);
    let id = server.send(&request).task_id();
    server.wait_state(&id, "failed");
    let better = once([call("a", sink.url("/a")), call("b", sink.url("/b"))]);
    let wish = json!({ "input": better });
    let document = server.retry(&id, &wish).expect(202).json();
    assert_plan(&document["retry"], &[], &["a"], true, true);
    server.wait_state(&id, "succeeded");
    let keys = sink.keys("/a");
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
    assert_eq!(sink.count("/b"), 1);
    // The sender's request is what it was, and its key still names this task.
    let answer = server.send(&request).expect(200);
    assert!(answer.is_replay(), "{}", answer.shown());
    assert_eq!(answer.json()["steps"]["b"]["status"], 200);
}

/// Steps from before a named one may be kept with another input.
#[test]
fn a_retry_from_a_step_can_bring_another_input() {
    let (server, sink) = (shared(), Sink::start());
    let body = once([
        call("a", sink.url("/a")),
        call("b", sink.url("/status/500")),
    ]);
    let id = hook(server, &fresh("both"), &body).task_id();
    server.wait_state(&id, "failed");
    let better = once([call("a", sink.url("/a")), call("b", sink.url("/b"))]);
    let wish = json!({ "from": "b", "input": better });
    let document = server.retry(&id, &wish).expect(202).json();
    assert_plan(&document["retry"], &["a"], &["b"], true, true);
    server.wait_state(&id, "succeeded");
    assert_eq!((sink.count("/a"), sink.count("/b")), (1, 1));
}

#[test]
fn a_task_that_failed_for_good_can_be_retried_as_a_new_generation() {
    let (server, sink) = (shared(), Sink::start());
    let body = once([call("a", sink.url("/a")), fail("terminal")]);
    let id = hook(server, &fresh("for-good"), &body).task_id();
    let before = server.wait_state(&id, "failed");
    let document = server.retry(&id, &json!({})).expect(202).json();
    assert_plan(&document["retry"], &["a"], &[], true, true);
    let after = server.wait_state(&id, "failed");
    let generation = |d: &Value| d["generation"].as_u64();
    assert!(generation(&after) > generation(&before), "{after}");
    assert_eq!(sink.count("/a"), 1, "it was kept");
}

/// What was undone is gone: nothing of it can be kept.
#[test]
fn a_retry_after_an_undo_does_everything_again_with_new_keys() {
    let (server, sink) = (shared(), Sink::start());
    let body = once([
        call("a", sink.url("/a")).undo(sink.url("/undo")),
        call("b", sink.url("/seq/500,200")),
    ]);
    let id = hook(server, &fresh("undone"), &body).task_id();
    assert_eq!(server.wait_state(&id, "failed")["undone"], "complete");
    let document = server.retry(&id, &json!({})).expect(202).json();
    let plan = &document["retry"];
    assert_eq!(plan["kept"], json!([]), "{plan}");
    assert_eq!(plan["new_keys"], true, "{plan}");
    server.wait_state(&id, "succeeded");
    let keys = sink.keys("/a");
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
    assert_eq!(sink.count("/undo"), 1);
}

#[test]
fn wishes_that_make_no_sense_are_refused_and_change_nothing() {
    let failed = Failed::begin();
    for wish in [
        json!({ "from": "nobody" }),
        json!({ "from": "" }),
        json!({ "from": "a#1" }),
        json!({ "from": 1 }),
        json!({ "keys": "other" }),
        json!({ "dry_run": "yes" }),
        json!({ "form": "a" }),
        // Not a program: the function would refuse it.
        json!({ "input": {} }),
        json!({ "from": "b", "input": { "steps": [{ "do": "x" }] } }),
        json!([]),
        json!("b"),
    ] {
        let answer = shared().retry(&failed.id, &wish);
        answer.expect_problem(400, "input_invalid");
    }
    let named = shared().retry(&failed.id, &json!({ "from": "nobody" }));
    let detail = named.json()["errors"][0]["detail"].clone();
    let list = detail.as_str().unwrap_or_default();
    assert!(list.contains("a, b"), "it names them: {}", named.shown());
    let broken = steer(&failed.id, "retry").body("{");
    shared().send(&broken).expect_problem(400, "input_invalid");
    assert_eq!(shared().task(&failed.id)["state"], "failed");
    assert_eq!(failed.counts(), [1, 1, 1]);
}

#[test]
fn only_what_has_failed_can_be_retried() {
    let (server, sink) = (shared(), Sink::start());
    let begin = |steps: Vec<Value>| hook(server, &fresh("state"), &once(steps)).task_id();
    let retry = |id: &str| server.retry(id, &json!({}));
    let done = begin(Vec::new());
    server.wait_state(&done, "succeeded");
    retry(&done).expect_problem(409, "task_ended");
    let running = begin(vec![call("slow", sink.url("/d/700"))]);
    sink.wait_for("/d/700", 1);
    retry(&running).expect_problem(409, "task_in_progress");
    let asleep = begin(vec![sleep("nap", "30d")]);
    server.wait_waiting(&asleep, "sleep");
    retry(&asleep).expect_problem(409, "task_in_progress");
    server.cancel(&asleep).expect(200);
    retry(&asleep).expect_problem(409, "task_ended");
    let nobody = uuid::Uuid::new_v4().to_string();
    retry(&nobody).expect_problem(404, "task_not_found");
    for what in ["retry", "undo", "cancel"] {
        let open = Request::post(&format!("/v1/tasks/{done}/{what}"));
        server.send(&open).expect(401);
        let wrong = open.bearer("wrong");
        server.send(&wrong).expect(401);
    }
    server.wait_state(&running, "succeeded");
    assert_eq!(sink.total(), 1);
}

/// An operator's request that comes twice is carried out once.
#[test]
fn a_retry_that_is_sent_again_under_its_key_is_one_retry() {
    let sink = Sink::start();
    let body = once([call("a", sink.url("/status/500"))]);
    let id = hook(shared(), &fresh("twice"), &body).task_id();
    shared().wait_state(&id, "failed");
    let request = steer(&id, "retry").key("op-1");
    shared().send(&request).expect(202);
    crate::support::eventually(|| {
        let n = sink.count("/status/500");
        crate::support::check(n == 2, || format!("{n} calls"))
    });
    shared().wait_state(&id, "failed");
    let again = shared().send(&request);
    assert!(matches!(again.status, 200 | 202), "{}", again.shown());
    shared().wait_state(&id, "failed");
    assert_eq!(sink.count("/status/500"), 2, "no third time");
    shared().send(&steer(&id, "retry").key("op-2")).expect(202);
    sink.wait_for("/status/500", 3);
}

/// Nobody needs to wait for the next attempt.
#[test]
fn a_task_that_backs_off_can_be_sent_on_at_once() {
    let (server, sink) = (shared(), Sink::start());
    let step = call("a", sink.url("/seq/500,500,500,200"));
    let body = program([step]).set("respond_within", "50ms");
    let id = hook(server, &fresh("backs-off"), &body).task_id();
    for failures in 1..=3 {
        sink.wait_for("/seq/500,500,500,200", failures);
        let document = server.wait_waiting(&id, "backoff");
        assert!(document["waiting"]["until"].is_string(), "{document}");
        let answer = server.retry(&id, &json!({}));
        // It may have gone on by itself meanwhile.
        assert!(matches!(answer.status, 202 | 409), "{}", answer.shown());
    }
    server.wait_state(&id, "succeeded");
    sink.assert_same_key("/seq/500,500,500,200", 4);
}
