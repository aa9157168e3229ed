//! Smoke tests through `make dev`, which is what people run.

use crate::support::http::exchange;
use crate::support::process::Process;
use crate::support::{Request, TOKEN, check, eventually, github_signed_with, sample};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

/// A clean checkout builds everything first.
const BUILD_AND_START: Duration = Duration::from_mins(15);

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// A real push, three times at once, through everything that `make dev` sets up.
#[test]
fn one_push_delivered_three_times_at_once_to_make_dev_runs_once() {
    let state = tempfile::tempdir().expect("a folder");
    let port = free_port().to_string();
    let folder = state.path().to_str().expect("a path in UTF-8");
    let env = [
        ("PORT", port.as_str()),
        ("STATE", folder),
        ("TOKEN", TOKEN),
        ("TMPDIR", folder),
    ];
    let mut dev = Process::start(&["make", "dev"], &env, None);
    dev.line_within(BUILD_AND_START, "Onceward is ready at ");
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().expect("an address");

    let delivery = uuid::Uuid::new_v4().to_string();
    let secret = dev_secret();
    let push = sample("github/push.json");
    let request = github_signed_with(&secret, &delivery, &push);
    let answers = std::thread::scope(|scope| {
        let sent =
            [(); 3].map(|()| scope.spawn(|| exchange(address, &request).expect("an answer")));
        sent.map(|one| one.join().expect("an answer").expect(200))
    });
    assert_eq!(
        answers.iter().filter(|a| !a.is_replay()).count(),
        1,
        "one is the first"
    );
    assert!(
        answers
            .iter()
            .all(|a| a.task_id() == answers[0].task_id() && a.body == answers[0].body)
    );
    assert_eq!(
        answers[0].json()["delivery"],
        delivery,
        "{}",
        answers[0].shown()
    );

    let get =
        |target: &str| exchange(address, &Request::get(target).bearer(TOKEN)).expect("an answer");
    let document = get(&format!("/v1/tasks/{}", answers[0].task_id()))
        .expect(200)
        .json();
    assert_eq!(document["state"], "succeeded", "{document}");
    eventually(|| {
        let list = get("/v1/tasks").expect(200);
        let rows = list.text().matches(&answers[0].task_id()).count();
        check(rows >= 1, || list.shown())
    });
    let cron = get("/cdn-cgi/local/scheduled?cron=*+*+*+*+*");
    cron.expect(200);
    dev.kill9();
}

/// The secret that `make dev` uses: the developer's own, or the public one of the example.
fn dev_secret() -> String {
    let root = crate::support::root();
    let text = [".dev.vars", ".dev.vars.example"]
        .iter()
        .find_map(|name| std::fs::read_to_string(root.join(name)).ok())
        .expect("an example of secrets");
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix("GITHUB_WEBHOOK_SECRET="));
    line.expect("a GitHub secret")
        .trim_matches(['"', '\''])
        .to_owned()
}
