//! What the tests stand on: the server, a sink for its calls, a plain HTTP client, a reader of its files.

pub mod chance;
pub mod events;
pub mod eventually;
pub mod files;
pub mod http;
pub mod process;
pub mod program;
pub mod server;
pub mod sink;
pub mod tasks;

pub use eventually::{check, eventually, throughout};
pub use http::{Answer, Request};
pub use program::{
    Settings, call, child, child_id, fail, parallel, program, repeat, signal, sleep, value,
};
pub use server::{Server, shared};
pub use sink::Sink;
pub use tasks::time_ms;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The API token of the servers under test.
pub const TOKEN: &str = "dev-token";
/// Their GitHub webhook secret.
pub const SECRET: &str = "e2e-github-secret";

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Milliseconds since 1970.
pub fn unix_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.expect("after 1970").as_millis()).expect("a date")
}

/// A key that no other test uses.
pub fn fresh(name: &str) -> String {
    format!("{name}-{}", uuid::Uuid::new_v4())
}

/// The two ways in, which share most of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Webhook,
    Call,
}

impl Mode {
    pub const BOTH: [Self; 2] = [Self::Webhook, Self::Call];

    /// A delivery of a program to the lab function.
    pub fn request(self, key: &str, program: &Value) -> Request {
        match self {
            Self::Webhook => Request::post("/hooks/lab"),
            Self::Call => Request::post("/v1/functions/lab").bearer(TOKEN),
        }
        .key(key)
        .json(program)
    }

    #[track_caller]
    pub fn deliver(self, server: &Server, key: &str, program: &Value) -> Answer {
        server.send(&self.request(key, program))
    }
}

/// Delivers to the lab source.
#[track_caller]
pub fn hook(server: &Server, key: &str, program: &Value) -> Answer {
    Mode::Webhook.deliver(server, key, program)
}

/// Sends all requests at the same time; the answers come in their order.
#[track_caller]
pub fn at_once(server: &Server, requests: &[Request]) -> Vec<Answer> {
    std::thread::scope(|scope| {
        let sent: Vec<_> = requests
            .iter()
            .map(|request| scope.spawn(|| server.send(request)))
            .collect();
        sent.into_iter()
            .map(|one| one.join().expect("an answer"))
            .collect()
    })
}

/// GitHub's signature of a body.
pub fn github_signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key");
    mac.update(body);
    let mut signature = "sha256=".to_owned();
    for byte in mac.finalize().into_bytes() {
        let _ = write!(signature, "{byte:02x}");
    }
    signature
}

/// A signed delivery of GitHub's.
pub fn github(delivery: &str, body: &[u8]) -> Request {
    github_signed_with(SECRET, delivery, body)
}

/// The same with another secret.
pub fn github_signed_with(secret: &str, delivery: &str, body: &[u8]) -> Request {
    Request::post("/hooks/github")
        .field("X-GitHub-Event", "push")
        .field("X-GitHub-Delivery", delivery)
        .field("X-Hub-Signature-256", github_signature(secret, body))
        .field("Content-Type", "application/json")
        .body(body)
}

/// A sample of `tests/samples`.
pub fn sample(name: &str) -> Vec<u8> {
    let path = root().join("tests/samples").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
