//! F17: `kill -9` at seeded moments of a task with ten steps, a sleep of three seconds and a signal.

use crate::support::chance::Chance;
use crate::support::{
    Mode, Server, Settings as _, Sink, call, check, eventually, fresh, program, signal, sleep,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SERVERS: u64 = 2;
const TASKS: usize = 10;
const STEPS: usize = 10;
/// From the begin of the first task to the crash: a task without a crash is about done by then.
const UNTIL_CRASH: Duration = Duration::from_millis(4_600);
/// The new server needs longer than this to start, so calls that begin earlier are of the old one.
const RESTART: Duration = Duration::from_millis(200);

/// One task and the moment of its life at which the crash comes.
struct Run {
    name: String,
    moment: Duration,
    /// Its signal is sent only when it waits for it.
    late_signal: bool,
    id: Option<String>,
    signalled: bool,
}

fn target(name: &str, step: usize) -> String {
    format!("/d/120?{name}-{step}")
}

fn ten_steps(sink: &Sink, name: &str) -> Value {
    let step = |n: usize| call(&format!("s{n}"), sink.url(&target(name, n)));
    let mut steps: Vec<Value> = (1..=4).map(step).collect();
    steps.push(sleep("nap", "3s"));
    steps.extend((5..=7).map(step));
    steps.push(signal("go"));
    steps.extend((8..=STEPS).map(step));
    program(steps).short()
}

/// Moments among the first steps, in the sleep, and around the signal and the last steps.
fn runs(chance: &mut Chance, server: u64) -> Vec<Run> {
    (0..TASKS)
        .map(|n| Run {
            name: format!("{server}-{n}"),
            moment: match n % 5 {
                0 | 1 => chance.ms(0, 600),
                2 => chance.ms(600, 3_500),
                _ => chance.ms(3_500, 4_600),
            },
            late_signal: n >= TASKS / 2,
            id: None,
            signalled: false,
        })
        .collect()
}

impl Run {
    fn body(&self, sink: &Sink) -> Value {
        ten_steps(sink, &self.name)
    }

    fn payload(&self) -> Value {
        json!({ "for": self.name })
    }

    fn key(&self) -> String {
        format!("key-{}", self.name)
    }

    fn begin(&mut self, server: &Server, sink: &Sink) {
        let request = Mode::Webhook.request(&self.key(), &self.body(sink));
        let answer = server.send(&request.field("Prefer", "respond-async"));
        self.id = Some(answer.expect(202).task_id());
        if !self.late_signal {
            self.send_signal(server);
        }
    }

    fn send_signal(&mut self, server: &Server) {
        let id = self.id.clone().expect("it has begun");
        let answer = server.signal(&id, "go", "the-signal", &self.payload());
        answer.expect(202);
        self.signalled = true;
    }

    /// Sends the late signal if the task waits for it.
    fn look_after(&mut self, server: &Server) {
        let Some(id) = self.id.as_ref().filter(|_| !self.signalled) else {
            return;
        };
        let document = server.task(id);
        if document["waiting"]["for"] == "signal" {
            assert_eq!(document["waiting"]["name"], "go", "{document}");
            self.send_signal(server);
        }
    }

    fn is_done(&self, sink: &Sink) -> bool {
        sink.count(&target(&self.name, STEPS)) > 0
    }
}

/// Begins each task so that the crash comes at its moment.
fn until_all_have_begun(server: &Server, sink: &Sink, runs: &mut [Run]) {
    let began = Instant::now();
    while began.elapsed() < UNTIL_CRASH {
        for run in runs.iter_mut() {
            if run.id.is_none() && began.elapsed() + run.moment >= UNTIL_CRASH {
                run.begin(server, sink);
            } else if run.moment.as_millis() > 3_500 {
                run.look_after(server);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // Where the time for them was missed: their moment is the first one.
    for run in runs.iter_mut().filter(|r| r.id.is_none()) {
        run.begin(server, sink);
    }
}

/// What each step has done: once, but for the one that the crash has interrupted.
fn assert_steps(run: &Run, sink: &Sink, killed: Instant) {
    let calls: Vec<_> = (1..=STEPS)
        .map(|n| sink.calls(&target(&run.name, n)))
        .collect();
    let before = |n: usize| calls[n].iter().filter(|c| c.began <= killed + RESTART);
    let last_begun = (0..STEPS).rev().find(|n| before(*n).count() > 0);
    let mut keys = std::collections::HashSet::new();
    for (n, of_step) in calls.iter().enumerate() {
        let name = format!("{} step {} at {:?}", run.name, n + 1, run.moment);
        // Long ago: it is recorded, and the task slept or waited when the crash came.
        let ended = of_step.first().and_then(|c| c.ended);
        let settled = ended.is_some_and(|at| at + Duration::from_millis(500) < killed);
        let most = if last_begun == Some(n) && !settled {
            2
        } else {
            1
        };
        assert!(
            (1..=most).contains(&of_step.len()),
            "{name} ran {} times, at most {most} were right",
            of_step.len()
        );
        sink.assert_no_overlap(&target(&run.name, n + 1));
        let key = sink.assert_same_key(&target(&run.name, n + 1), of_step.len());
        assert!(keys.insert(key), "{name} has the key of another step");
    }
    let slept = calls[4][0].began - calls[3].last().expect("a call").began;
    assert!(
        slept >= Duration::from_millis(2_950),
        "{} slept {slept:?}",
        run.name
    );
}

fn crash_ten(server_number: u64, mut chance: Chance) {
    let (mut server, sink) = (Server::start(), Sink::start());
    let mut runs = runs(&mut chance, server_number);
    until_all_have_begun(&server, &sink, &mut runs);
    server.kill9();
    let killed = Instant::now();
    server.restart();
    // Tasks that have their signal go on by themselves: nobody asks for them before they are done.
    eventually(|| {
        for run in &mut runs {
            run.look_after(&server);
        }
        let left: Vec<_> = runs.iter().filter(|r| !r.is_done(&sink)).collect();
        let names: Vec<_> = left.iter().map(|r| (&r.name, r.moment)).collect();
        check(left.is_empty(), || format!("not done: {names:?}"))
    });
    for run in &runs {
        let id = run.id.as_ref().expect("it has begun");
        server.wait_state(id, "succeeded");
        assert_steps(run, &sink, killed);
        let answer = Mode::Webhook.deliver(&server, &run.key(), &run.body(&sink));
        let answer = answer.expect(200);
        assert!(answer.is_replay(), "{}", answer.shown());
        let outcomes = &answer.json()["steps"];
        assert_eq!(outcomes["go"], run.payload(), "{}", answer.shown());
        for n in 1..=STEPS {
            let status = &outcomes[format!("s{n}")]["status"];
            assert_eq!(status, 200, "{}", answer.shown());
        }
    }
}

#[test]
fn at_twenty_moments_a_crash_repeats_at_most_the_step_in_flight() {
    let seed = Chance::seed();
    std::thread::scope(|scope| {
        for n in 0..SERVERS {
            scope.spawn(move || crash_ten(n, Chance::new(seed.wrapping_add(n))));
        }
    });
}

/// The same without a crash, as the measure of what is right.
#[test]
fn without_a_crash_each_of_the_ten_steps_runs_once() {
    let (server, sink) = (crate::support::shared(), Sink::start());
    let name = fresh("calm");
    let id = Mode::Webhook
        .deliver(server, &name, &ten_steps(&sink, &name))
        .expect(202)
        .task_id();
    let nap = server.wait_waiting(&id, "sleep");
    assert_eq!(nap["waiting"]["name"], "nap", "{nap}");
    let waits = server.wait_waiting(&id, "signal");
    assert_eq!(waits["waiting"]["name"], "go", "{waits}");
    assert!(waits["waiting"]["until"].is_null(), "{waits}");
    server.signal(&id, "go", "s", &json!(1)).expect(202);
    server.wait_state(&id, "succeeded");
    for n in 1..=STEPS {
        assert_eq!(sink.count(&target(&name, n)), 1);
    }
}
