//! A child with everything below it, which ends with this test process in any case.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Starts the command in a process group of its own and says which. It holds the read end of a pipe
/// whose write end is ours, even after a `kill -9` of the tests the group is killed then, and the
/// folder in `REMOVE`, if any, goes as well.
const SUPERVISE: &str = r#"
set -m
ulimit -n "$(ulimit -Hn)" 2>/dev/null
"$@" </dev/null &
echo "group $!"
exec >/dev/null 2>&1
cat
for group in $(jobs -pr); do kill -9 -- "-$group"; done
wait
if [ -n "$REMOVE" ]; then rm -rf -- "$REMOVE"; fi
"#;

/// A running child and what it has printed so far.
pub struct Process {
    supervisor: Child,
    /// Closing it ends everything.
    leash: Option<ChildStdin>,
    group: u32,
    output: Arc<Mutex<Output>>,
}

#[derive(Default)]
struct Output {
    lines: Vec<String>,
    open: usize,
}

impl Process {
    /// Starts a command. `remove` is a folder to delete when the process has ended.
    pub fn start(command: &[&str], env: &[(&str, &str)], remove: Option<&Path>) -> Self {
        let mut supervisor = Command::new("bash");
        supervisor
            .args(["-c", SUPERVISE, "supervise"])
            .args(command)
            .envs(env.iter().copied())
            .env("REMOVE", remove.unwrap_or(Path::new("")))
            .current_dir(super::root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut supervisor = supervisor.spawn().expect("bash starts");
        let output = Arc::new(Mutex::new(Output {
            lines: Vec::new(),
            open: 2,
        }));
        collect(supervisor.stdout.take().expect("a pipe"), &output);
        collect(supervisor.stderr.take().expect("a pipe"), &output);
        let mut process = Self {
            leash: supervisor.stdin.take(),
            supervisor,
            group: 0,
            output,
        };
        let group = process.line("group ");
        process.group = group.parse().expect("a process group");
        process
    }

    /// Waits for a line that begins so, and gives the rest of it. Fails with all output if the process
    /// ends before.
    #[track_caller]
    pub fn line(&self, prefix: &str) -> String {
        self.line_within(super::eventually::GIVE_UP, prefix)
    }

    /// The same for a process that may have to compile something first.
    #[track_caller]
    pub fn line_within(&self, limit: Duration, prefix: &str) -> String {
        super::eventually::eventually_within(limit, || {
            let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(rest) = output.lines.iter().find_map(|l| l.strip_prefix(prefix)) {
                return Ok(rest.to_owned());
            }
            assert!(output.open > 0, "it ended:\n{}", output.lines.join("\n"));
            Err(format!("no {prefix:?} in\n{}", output.lines.join("\n")))
        })
    }

    /// Everything that was printed so far.
    pub fn output(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.lines.join("\n")
    }

    /// `kill -9` of the whole group; comes back when all of it is gone.
    pub fn kill9(&mut self) {
        let target = format!("-{}", self.group);
        let _ = Command::new("bash")
            .args(["-c", "kill -9 -- \"$1\"", "kill", &target])
            .stderr(Stdio::null())
            .status();
        self.end();
        super::eventually(|| {
            let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            super::check(output.open == 0, || "its output is still open".to_owned())
        });
    }

    fn end(&mut self) {
        drop(self.leash.take());
        let _ = self.supervisor.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn collect(pipe: impl std::io::Read + Send + 'static, output: &Arc<Mutex<Output>>) {
    let output = Arc::clone(output);
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.lines.push(line);
        }
        output.lock().unwrap_or_else(PoisonError::into_inner).open -= 1;
    });
}
