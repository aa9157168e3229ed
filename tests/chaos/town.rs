//! What is known of a run while it goes on: keys, what was sent, what was seen.

use crate::history::{Delivery, Effect, History, KeyHistory, Look, Reply, Verdict, Wish};
use crate::programs::{Made, make};
use crate::support::chance::Chance;
use crate::support::http::{Answer, exchange};
use crate::support::sink::Call;
use crate::support::{Mode, Request, Server, Sink, TOKEN};
use crate::weather::Weather;
use onceward::types::{TaskKey, TaskKind};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A key and everything about it so far.
pub struct Resident {
    pub mode: Mode,
    pub body: Value,
    pub children: Vec<(String, String)>,
    known: Mutex<KeyHistory>,
}

pub struct Town {
    pub sink: Sink,
    address: SocketAddr,
    began: Instant,
    closed: AtomicBool,
    down: AtomicBool,
    residents: Mutex<Vec<Arc<Resident>>>,
    calm_from: AtomicUsize,
    pub malformed: AtomicUsize,
    pub hung_up: AtomicUsize,
    /// Answers to malformed requests that were not refusals.
    pub odd: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Resident {
    pub fn known(&self) -> MutexGuard<'_, KeyHistory> {
        lock(&self.known)
    }

    pub fn request(&self) -> Request {
        self.mode.request(&self.known().key, &self.body)
    }

    pub fn task_id(&self) -> String {
        self.known().task_id.clone()
    }
}

impl Town {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            sink: Sink::start(),
            address,
            began: Instant::now(),
            closed: AtomicBool::new(false),
            down: AtomicBool::new(false),
            residents: Mutex::default(),
            calm_from: AtomicUsize::new(usize::MAX),
            malformed: AtomicUsize::new(0),
            hung_up: AtomicUsize::new(0),
            odd: Mutex::default(),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn ms(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.began);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    pub fn now(&self) -> u64 {
        self.ms(Instant::now())
    }

    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Says whether anybody listens.
    pub fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    pub fn is_down(&self) -> bool {
        self.down.load(Ordering::SeqCst)
    }

    pub fn is_calm_from_now(&self) {
        let now = usize::try_from(self.now()).unwrap_or(usize::MAX);
        self.calm_from.store(now, Ordering::SeqCst);
    }

    pub fn residents(&self) -> Vec<Arc<Resident>> {
        lock(&self.residents).clone()
    }

    /// Somebody who is there already; the latest ones more often.
    pub fn anybody(&self, chance: &mut Chance) -> Option<Arc<Resident>> {
        let all = lock(&self.residents);
        let count = all.len() as u64;
        if count == 0 {
            return None;
        }
        let back = if chance.next().is_multiple_of(3) {
            count
        } else {
            count.min(40)
        };
        let index = count - 1 - chance.next() % back;
        usize::try_from(index)
            .ok()
            .and_then(|i| all.get(i).cloned())
    }

    /// A new key with a program of its own.
    pub fn newcomer(&self, chance: &mut Chance) -> Arc<Resident> {
        let mode = Mode::BOTH[usize::from(chance.next().is_multiple_of(2))];
        let mut all = lock(&self.residents);
        let key = format!("k{}", all.len());
        let Made {
            body,
            plan,
            children,
        } = make(&|target| self.sink.url(target), &key, chance);
        let kind = match mode {
            Mode::Webhook => TaskKind::Source,
            Mode::Call => TaskKind::Function,
        };
        let task_id = TaskKey::new(kind, "lab", "", &key).task_id().to_string();
        let resident = Arc::new(Resident {
            mode,
            body,
            children,
            known: Mutex::new(KeyHistory {
                key,
                task_id,
                plan,
                ..KeyHistory::default()
            }),
        });
        all.push(Arc::clone(&resident));
        resident
    }

    pub fn send(&self, request: &Request) -> Option<Answer> {
        exchange(self.address, request).ok()
    }

    /// Delivers a body of a key and notes what came of it.
    pub fn deliver(&self, to: &Resident, body: u32, request: &Request) {
        let sent = self.now();
        let reply = self.send(request).map(|answer| Reply {
            status: answer.status,
            headers: answer.fields,
            body: answer.body,
        });
        to.known().deliveries.push(Delivery {
            sent,
            done: self.now(),
            body,
            reply,
        });
    }

    /// Looks at the task; what is not 200 says nothing. Gives the document.
    pub fn look(&self, at: &Resident) -> Option<Value> {
        let sent = self.now();
        let id = at.task_id();
        let answer = self.send(&Request::get(&format!("/v1/tasks/{id}")).bearer(TOKEN))?;
        let document = answer.json();
        if answer.status == 200 {
            at.known().looks.push(Look {
                sent,
                done: self.now(),
                document: document.clone(),
            });
        }
        Some(document)
    }

    /// Reads the first page of its journal.
    pub fn read_journal(&self, of: &Resident) {
        let target = format!("/v1/tasks/{}/journal", of.task_id());
        let answer = self.send(&Request::get(&target).bearer(TOKEN));
        if let Some(answer) = answer.filter(|answer| answer.status == 200) {
            of.known().journals.push(answer.json());
        }
    }

    /// Sends the next signal of a key, or the last one once more.
    pub fn signal(&self, to: &Resident, again: bool) {
        let (id, n) = {
            let mut known = to.known();
            if !again || known.signals.is_empty() {
                let n = known.signals.len();
                known.signals.push(json!({ "n": n }));
            }
            (known.task_id.clone(), known.signals.len() - 1)
        };
        let request = crate::support::tasks::signal_request(&id, crate::programs::SIGNAL)
            .key(&format!("signal-{n}"))
            .json(&json!({ "n": n }));
        self.send(&request);
    }

    pub fn wish(&self, about: &Resident, what: &'static str) {
        let sent = self.now();
        let id = about.task_id();
        let answer = self.send(&crate::support::tasks::steer(&id, what));
        let status = answer.as_ref().map_or(0, |a| a.status);
        let said = answer.map_or(Value::Null, |a| a.json()["retry"]["new_generation"].clone());
        // Without a clear answer it may have been granted.
        let unclear = matches!(status, 0 | 503);
        // A message that had to be sent twice is answered without the plan.
        let granted = status < 300 && said != false;
        about.known().wishes.push(Wish {
            sent,
            what,
            status,
            new_generation: what == "retry" && (unclear || granted),
        });
    }

    /// All that was seen, with what the sink, the journals and D1 say in the end.
    pub fn history(&self, server: &Server, weather: &Weather) -> History {
        let mut calls: HashMap<String, Vec<Effect>> = HashMap::new();
        for call in self.sink.log() {
            let key = call.target.split('/').nth(3).unwrap_or_default().to_owned();
            calls.entry(key).or_default().push(self.effect(&call));
        }
        let rows = crate::finish::rows(server);
        let keys = self
            .residents()
            .iter()
            .map(|resident| {
                crate::finish::look_closely(server, resident, &rows);
                let mut known = resident.known().clone();
                known.effects = calls.remove(&known.key).unwrap_or_default();
                known
            })
            .collect();
        History {
            kills: weather.kills.clone(),
            calm_from: self.calm_from.load(Ordering::SeqCst) as u64,
            keys,
        }
    }

    fn effect(&self, call: &Call) -> Effect {
        let strip = |text: &str| text.trim_matches('"').to_owned();
        let undoes = call.target.contains("/undo-").then(|| {
            let id = call.json()["body"]["id"].clone();
            id.as_str()
                .and_then(|id| id.strip_prefix("id-"))
                .map(str::to_owned)
        });
        Effect {
            target: call.target.clone(),
            key: strip(call.field("Idempotency-Key").unwrap_or_default()),
            at: self.ms(call.began),
            ended: call.ended.map(|at| self.ms(at)),
            hung_up: call.hung_up,
            undoes: undoes.flatten(),
        }
    }

    /// The figures of a run, for people.
    pub fn figures(
        &self,
        history: &History,
        weather: &Weather,
        verdict: &Verdict,
        settled: Duration,
    ) -> String {
        let deliveries: Vec<&Delivery> = history.keys.iter().flat_map(|k| &k.deliveries).collect();
        let count =
            |test: &dyn Fn(&Delivery) -> bool| deliveries.iter().filter(|d| test(d)).count();
        let own = count(&|d| d.body == 0);
        let mut states: BTreeMap<&str, usize> = BTreeMap::new();
        for key in &history.keys {
            let state = match key.end_state() {
                "" => "never accepted",
                state => state,
            };
            *states.entry(state).or_default() += 1;
        }
        let (malformed, hung_up) = (&self.malformed, &self.hung_up);
        let load = |n: &AtomicUsize| n.load(Ordering::SeqCst);
        let calls: usize = history.keys.iter().map(|k| k.effects.len()).sum();
        let wishes: usize = history.keys.iter().map(|k| k.wishes.len()).sum();
        let signals: usize = history.keys.iter().map(|k| k.signals.len()).sum();
        let undos = history.keys.iter().flat_map(|k| &k.effects);
        let undos = undos.filter(|e| e.undoes.is_some()).count();
        let taken: usize = history.keys.iter().map(KeyHistory::taken_signals).sum();
        let children: usize = history.keys.iter().map(|k| k.end.children.len()).sum();
        let looks: usize = history
            .keys
            .iter()
            .map(|k| k.looks.len() + k.journals.len())
            .sum();
        let repeats = verdict.repeats;
        let mut out = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(out, "  {name:<22} {value}");
        };
        line("keys", history.keys.len().to_string());
        line(
            "deliveries",
            (deliveries.len() + load(malformed)).to_string(),
        );
        line(
            "  duplicates",
            (own - history.keys.len().min(own)).to_string(),
        );
        line("  conflicts", count(&|d| d.body != 0).to_string());
        line("  malformed", load(malformed).to_string());
        line("  hung up", load(hung_up).to_string());
        line(
            "  without an answer",
            count(&|d| d.reply.is_none()).to_string(),
        );
        line("signals, wishes", format!("{signals}, {wishes}"));
        line("kills", weather.kills.len().to_string());
        line("faults struck", format!("{:?}", weather.struck()));
        line("panics", weather.panics.to_string());
        line("calls of the outside", calls.to_string());
        line("  undos", undos.to_string());
        line("signals taken", taken.to_string());
        line("children", children.to_string());
        line("looks", looks.to_string());
        line(
            "repeats explained",
            format!(
                "by a kill {}, a failed call {}, a timeout {}, a slice that was cut off {}",
                repeats.killed, repeats.failed, repeats.timed_out, repeats.cut
            ),
        );
        line(
            "ends",
            format!(
                "{states:?} {} s after the faults stopped",
                settled.as_secs()
            ),
        );
        line("lost", verdict.lost.to_string());
        line("wrong", verdict.wrong.len().to_string());
        out
    }
}
