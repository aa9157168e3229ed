//! The Worker under test, on bare workerd.

use super::eventually::{check, eventually};
use super::files::Files;
use super::http::{Answer, Connection, Request, exchange};
use super::process::Process;
use super::{SECRET, TOKEN, root};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A server with data of its own. Ends with its owner, and with the test process in any case.
pub struct Server {
    process: Option<Process>,
    vars: Value,
    limiters: Value,
    databases: u16,
    state: PathBuf,
    own_state: Option<TempDir>,
    address: SocketAddr,
    cron: (SocketAddr, String),
}

/// The server that tests share which neither kill it nor set faults; each uses fresh keys.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| {
        // Statics are never dropped: whoever watches over the process removes the folder.
        let state = tempfile::tempdir().expect("a folder").keep();
        Server::launch(state, None, default_vars())
    })
}

pub fn default_vars() -> Value {
    json!({ "ONCEWARD_TOKEN": TOKEN, "GITHUB_WEBHOOK_SECRET": SECRET })
}

impl Server {
    pub fn start() -> Self {
        Self::with_vars(default_vars())
    }

    /// With other variables and secrets.
    pub fn with_vars(vars: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::launch(folder.path().to_owned(), Some(folder), vars)
    }

    /// With rate limiters as well: `{"NAME": {"limit": 5, "period": 60}}`.
    pub fn with_limiters(vars: Value, limiters: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().to_owned();
        Self::launch_with(state, Some(folder), vars, limiters.clone())
    }

    /// With so many databases.
    pub fn with_databases(databases: u16) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut server = Self::stopped(folder.path().to_owned(), default_vars(), json!({}));
        server.own_state = Some(folder);
        server.databases = databases;
        server.run();
        server
    }

    fn launch(state: PathBuf, own_state: Option<TempDir>, vars: Value) -> Self {
        Self::launch_with(state, own_state, vars, json!({}))
    }

    fn launch_with(
        state: PathBuf,
        own_state: Option<TempDir>,
        vars: Value,
        limiters: Value,
    ) -> Self {
        let mut server = Self::stopped(state, vars, limiters);
        server.own_state = own_state;
        server.run();
        server
    }

    fn stopped(state: PathBuf, vars: Value, limiters: Value) -> Self {
        Self {
            process: None,
            vars,
            limiters,
            databases: 1,
            state,
            own_state: None,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            cron: (SocketAddr::from(([127, 0, 0, 1], 0)), String::new()),
        }
    }

    /// Starts on the same data and, from the second time on, on the same port.
    fn run(&mut self) {
        let node = root().join("node_modules/.bin/node");
        let script = root().join("scripts/serve.mjs");
        let build = std::env::var("ONCEWARD_BUILD")
            .map_or_else(|_| root().join("build-lab"), PathBuf::from);
        let (port, vars) = (self.address.port().to_string(), self.vars.to_string());
        let limiters = self.limiters.to_string();
        let databases = self.databases.to_string();
        let command = [
            text(&node),
            text(&script),
            "--state",
            text(&self.state),
            "--port",
            &port,
            "--build",
            text(&build),
            "--vars",
            &vars,
            "--limiters",
            &limiters,
            "--databases",
            &databases,
            "--verbose",
            "1",
        ];
        // A killed Miniflare leaves its temporary folder behind; here it goes with the state.
        let temporary = self.state.join("tmp");
        std::fs::create_dir_all(&temporary).expect("a folder");
        let env = [("TMPDIR", text(&temporary))];
        let remove = self.own_state.is_none().then_some(self.state.as_path());
        let process = Process::start(&command, &env, remove);
        self.cron = split_url(&process.line("cron "));
        self.address = split_url(&process.line("ready ")).0;
        self.process = Some(process);
        eventually(|| match self.try_send(&Request::get("/healthz")) {
            // One that is closed on purpose answers too, and says so.
            Ok(answer) => check(
                answer.status == 200 || answer.code() == "misconfigured",
                || answer.shown(),
            ),
            Err(error) => Err(error.to_string()),
        });
    }

    /// Ends Node and workerd at once, as a power cut would.
    pub fn kill9(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill9();
        }
    }

    /// Starts again on the same data and port, after a kill.
    pub fn restart(&mut self) {
        self.kill9();
        self.run();
    }

    /// The same with another number of databases.
    pub fn restart_with_databases(&mut self, databases: u16) {
        self.databases = databases;
        self.restart();
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn files(&self) -> Files {
        Files::new(&self.state)
    }

    /// Everything that the server has printed since its last start.
    pub fn output(&self) -> String {
        self.process
            .as_ref()
            .map(Process::output)
            .unwrap_or_default()
    }

    pub fn try_send(&self, request: &Request) -> io::Result<Answer> {
        exchange(self.address, request)
    }

    #[track_caller]
    pub fn send(&self, request: &Request) -> Answer {
        self.try_send(request).expect("an answer")
    }

    /// A connection to send odd bytes on, or several requests.
    #[track_caller]
    pub fn connect(&self) -> Connection {
        Connection::open(self.address).expect("a connection")
    }

    /// Runs the scheduled handler as cron does each minute.
    #[track_caller]
    pub fn cron(&self) -> Answer {
        let (address, target) = &self.cron;
        exchange(*address, &Request::get(target))
            .expect("an answer of cron")
            .expect(200)
    }

    /// Where a run of the scheduled handler is asked for.
    pub fn cron_address(&self) -> (SocketAddr, String) {
        self.cron.clone()
    }

    /// Sets the fault switch.
    #[track_caller]
    pub fn fault(&self, fault: &Value) {
        let request = Request::post("/lab/faults").bearer(TOKEN).json(fault);
        let answer = self.send(&request);
        assert!(matches!(answer.status, 200 | 204), "{}", answer.shown());
    }

    /// What is set and how often it struck.
    #[track_caller]
    pub fn faults(&self) -> Value {
        self.send(&Request::get("/lab/faults").bearer(TOKEN))
            .expect(200)
            .json()
    }

    /// The document of a task.
    #[track_caller]
    pub fn task(&self, id: &str) -> Value {
        self.look(id).expect(200).json()
    }

    /// Asks for a task, which may be gone.
    #[track_caller]
    pub fn look(&self, id: &str) -> Answer {
        self.send(&Request::get(&format!("/v1/tasks/{id}")).bearer(TOKEN))
    }

    /// Waits until a task is in this state, and gives its document.
    #[track_caller]
    pub fn wait_state(&self, id: &str, state: &str) -> Value {
        eventually(|| {
            let answer = self.look(id);
            let document = answer.json();
            check(document["state"] == state, || {
                format!("not {state}: {}", answer.shown())
            })?;
            Ok(document)
        })
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Address and target of an `http` URL with an IP address.
fn split_url(url: &str) -> (SocketAddr, String) {
    let rest = url.strip_prefix("http://").expect("an http URL");
    let (host, target) = rest.split_once('/').unwrap_or((rest, ""));
    (
        host.parse().expect("an IP address and port"),
        format!("/{target}"),
    )
}
