//! Those who send and look, each by its own seeded plan, and the history that comes of it.

use crate::history::{Delivery, End, History, KeyHistory, Look, Reply, Row, Wish};
use crate::objects::shelf;
use crate::outside;
use crate::programs::{self, Made, SIGNAL};
use crate::support::chance::Chance;
use crate::workers::{self, Request};
use crate::world::{TOKEN, World};
use onceward::types::{Answer, Headers, TaskId, TaskKey, TaskKind};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

/// A key and everything about it so far.
pub struct Resident {
    is_hook: bool,
    body: Value,
    children: Vec<(String, String)>,
    pub known: RefCell<KeyHistory>,
}

fn pairs(headers: &Headers) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect()
}

fn request(
    method: &'static str,
    target: String,
    fields: &[(&str, &str)],
    body: Option<&Value>,
) -> Request {
    let mut headers = Headers::default();
    for (name, value) in fields {
        headers.push(name, *value);
    }
    if body.is_some() {
        headers.push("content-type", "application/json");
    }
    Request {
        method,
        target,
        headers,
        body: body.map(|b| b.to_string().into_bytes()).unwrap_or_default(),
    }
}

/// A delivery to the lab's source.
pub fn hook(key: &str, body: &Value) -> Request {
    let fields = [("idempotency-key", key)];
    request("POST", "/hooks/lab".into(), &fields, Some(body))
}

/// Whether a target belongs to a key.
pub fn is_of(target: &str, key: &str) -> bool {
    target.split('/').nth(3) == Some(key)
}

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

fn document(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

impl Resident {
    pub fn new(seed: u64, n: usize) -> Rc<Self> {
        let key = format!("k{n}");
        let mut chance = Chance::new(seed ^ (n as u64 + 1) << 20);
        let is_hook = chance.next().is_multiple_of(2);
        let Made {
            body,
            plan,
            children,
        } = programs::make(&outside::url, &key, &mut chance);
        let kind = if is_hook {
            TaskKind::Source
        } else {
            TaskKind::Function
        };
        let task_id = TaskKey::new(kind, "lab", "", &key).task_id().to_string();
        Rc::new(Self {
            is_hook,
            body,
            children,
            known: RefCell::new(KeyHistory {
                key,
                task_id,
                plan,
                ..KeyHistory::default()
            }),
        })
    }

    pub fn id(&self) -> String {
        self.known.borrow().task_id.clone()
    }

    /// Ids of its task and of those that it begins.
    pub fn family(&self) -> Vec<String> {
        let children = self.children.iter().map(|(_, id)| id.clone());
        std::iter::once(self.id()).chain(children).collect()
    }

    fn delivery(&self, body: &Value, prefer: bool) -> Request {
        let key = self.known.borrow().key.clone();
        let bearer = bearer();
        let mut fields = vec![("idempotency-key", key.as_str())];
        if prefer {
            fields.push(("prefer", "respond-async"));
        }
        if self.is_hook {
            return request("POST", "/hooks/lab".into(), &fields, Some(body));
        }
        fields.push(("authorization", &bearer));
        request("POST", "/v1/functions/lab".into(), &fields, Some(body))
    }

    async fn ask(
        &self,
        world: &Rc<World>,
        method: &'static str,
        what: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Option<Answer> {
        let id = self.id();
        let bearer = bearer();
        let mut fields = vec![("authorization", bearer.as_str())];
        fields.extend(key.map(|key| ("idempotency-key", key)));
        let target = format!("/v1/tasks/{id}{what}");
        workers::request(world, &id, request(method, target, &fields, body), None).await
    }

    /// Delivers a body, and notes what came of it.
    pub async fn deliver(
        &self,
        world: &Rc<World>,
        body: u32,
        prefer: bool,
        patience_ms: Option<u64>,
    ) {
        let other = json!({ "steps": [{ "do": "value", "name": "other", "value": body }] });
        let sent = world.elapsed_ms();
        let content = if body == 0 { &self.body } else { &other };
        let sending = self.delivery(content, prefer);
        let answer = workers::request(world, &self.id(), sending, patience_ms).await;
        let said = answer
            .as_ref()
            .map_or("nothing".to_owned(), |a| a.status.to_string());
        world.tell(
            "sender",
            &self.id(),
            format!("delivered body {body} at {sent} ms, gets {said}"),
        );
        self.known.borrow_mut().deliveries.push(Delivery {
            sent,
            done: world.elapsed_ms(),
            body,
            reply: answer.map(|answer| Reply {
                status: answer.status,
                headers: pairs(&answer.headers),
                body: answer.body,
            }),
        });
    }

    /// Looks at the task. Gives the document, or the problem.
    pub async fn look(&self, world: &Rc<World>) -> Option<Value> {
        let sent = world.elapsed_ms();
        let answer = self.ask(world, "GET", "", None, None).await?;
        let document = document(&answer);
        if answer.status == 200 {
            let look = Look {
                sent,
                done: world.elapsed_ms(),
                document: document.clone(),
            };
            self.known.borrow_mut().looks.push(look);
        }
        Some(document)
    }

    async fn read_journal(&self, world: &Rc<World>) {
        let answer = self.ask(world, "GET", "/journal", None, None).await;
        if let Some(answer) = answer.filter(|a| a.status == 200) {
            self.known.borrow_mut().journals.push(document(&answer));
        }
    }

    /// Sends the next signal, or the last one once more.
    pub async fn signal(&self, world: &Rc<World>, again: bool) {
        let n = {
            let mut known = self.known.borrow_mut();
            if !again || known.signals.is_empty() {
                let n = known.signals.len();
                known.signals.push(json!({ "n": n }));
            }
            known.signals.len() - 1
        };
        let (what, key) = (format!("/signals/{SIGNAL}"), format!("signal-{n}"));
        self.ask(world, "POST", &what, Some(&key), Some(&json!({ "n": n })))
            .await;
    }

    async fn wish(&self, world: &Rc<World>, what: &'static str) {
        let sent = world.elapsed_ms();
        let answer = self
            .ask(world, "POST", &format!("/{what}"), None, None)
            .await;
        let status = answer.as_ref().map_or(0, |a| a.status);
        let said = answer.map_or(Value::Null, |a| {
            document(&a)["retry"]["new_generation"].clone()
        });
        let unclear = matches!(status, 0 | 503);
        // A message that had to be sent twice is answered without the plan.
        let granted = status < 300 && said != false;
        self.known.borrow_mut().wishes.push(Wish {
            sent,
            what,
            status,
            new_generation: what == "retry" && (unclear || granted),
        });
    }

    /// One of several who have to do with this key: acts now and then until the faults stop.
    pub async fn lives(self: Rc<Self>, world: Rc<World>, who: u32, until_ms: u64) {
        let name = format!("{} sender {who}", self.id());
        let dice = |what: &str, n: u64| world.fate.below(&name, what, n);
        if who > 0 {
            world.exec.sleep(dice("first", 4_000)).await;
        }
        self.deliver(&world, 0, dice("prefer", 3) == 0, None).await;
        while world.elapsed_ms() < until_ms {
            let gap = [5, 60, 1_500, 12_000][usize::try_from(dice("pace", 4)).unwrap_or(0)];
            world.exec.sleep(1 + dice("gap", gap)).await;
            if world.elapsed_ms() < until_ms {
                self.acts(&world, dice("act", 100), &dice).await;
            }
        }
    }

    async fn acts(&self, world: &Rc<World>, act: u64, dice: &impl Fn(&str, u64) -> u64) {
        let accepted = self.known.borrow().is_accepted();
        match act {
            0..=54 => self.deliver(world, 0, dice("prefer", 3) == 0, None).await,
            55..=64 if accepted => {
                let body = 1 + u32::try_from(dice("other", 3)).unwrap_or(0);
                self.deliver(world, body, false, None).await;
            }
            65..=71 => {
                self.deliver(world, 0, false, Some(dice("patience", 400)))
                    .await;
            }
            72..=81 => drop(self.look(world).await),
            82..=86 => self.read_journal(world).await,
            87..=96 => {
                let (signal, waits) = {
                    let known = self.known.borrow();
                    (known.plan.signal.is_some(), known.plan.waits)
                };
                if signal && !waits {
                    self.signal(world, dice("again", 2) == 0).await;
                }
            }
            97 => self.wish(world, "cancel").await,
            98 => self.wish(world, "retry").await,
            _ => {}
        }
    }

    /// Looks until it is at rest or time is up, and sends the signals that it still waits for.
    pub async fn rests(self: Rc<Self>, world: Rc<World>, until_ms: u64) {
        while world.elapsed_ms() < until_ms {
            let Some(document) = self.look(&world).await else {
                continue;
            };
            let signal = document["waiting"]["for"] == "signal";
            let rests = {
                let mut known = self.known.borrow_mut();
                known.end.document = document["state"].is_string().then_some(document);
                known.end.document.is_none() || known.is_at_rest()
            };
            if rests {
                break;
            }
            if signal {
                self.signal(&world, false).await;
            }
            world.exec.sleep(2_000).await;
        }
        // Whoever asks a child also has it look after its alarm, should that be lost.
        for (_, child) in &self.children {
            let bearer = bearer();
            let fields = [("authorization", bearer.as_str())];
            let look = request("GET", format!("/v1/tasks/{child}"), &fields, None);
            workers::request(&world, child, look, None).await;
        }
    }

    pub fn is_resumable(&self) -> bool {
        let known = self.known.borrow();
        let document = known.end.document.as_ref();
        document.is_some_and(|d| d["state"] == "failed" && d["resumable"] == true)
    }

    /// Reads all pages of the journal, D1's row and the children.
    pub async fn looks_closely(self: Rc<Self>, world: Rc<World>) {
        let (mut records, mut query) = (Vec::new(), "/journal".to_owned());
        while let Some(answer) = self
            .ask(&world, "GET", &query, None, None)
            .await
            .filter(|a| a.status == 200)
        {
            let page = document(&answer);
            records.extend(page["records"].as_array().cloned().unwrap_or_default());
            match page["next"].as_str() {
                Some(next) => query = format!("/journal?after={next}"),
                None => break,
            }
        }
        let children = self.children.iter().filter_map(|(step, child)| {
            let shown = records
                .iter()
                .find(|r| r["step"] == *step && r["state"] == "succeeded")?;
            let answer = world.database.row(child).and_then(|row| row.answer);
            let own = serde_json::from_slice(&answer.unwrap_or_default()).unwrap_or_default();
            Some((shown["value"]["body"].clone(), own))
        });
        let children = children.collect();
        let row = world.database.row(&self.id()).map(|row| Row {
            state: row.state,
            generation: row.generation,
            answer: row.answer,
        });
        let mut known = self.known.borrow_mut();
        let document = known.end.document.take();
        known.end = End {
            document,
            journal: records,
            row,
            children,
        };
    }

    /// Whether the object, looked at from inside, holds a task.
    pub fn is_kept(&self, world: &Rc<World>) -> bool {
        let kept = |id: &String| {
            TaskId::parse(id).is_some_and(|id| !shelf(world, id).cells.names().is_empty())
        };
        self.family().iter().any(kept)
    }
}

/// All that was seen, with what the outside was asked for.
pub fn history(world: &World, residents: &[Rc<Resident>], calm_from: u64) -> History {
    let calls = world.outside.calls();
    let deaths = world.deaths.borrow();
    let keys = residents.iter().map(|resident| {
        let mut known = resident.known.borrow().clone();
        let own = |target: &str| is_of(target, &known.key);
        known.effects = calls
            .iter()
            .filter(|call| own(&call.target))
            .cloned()
            .collect();
        let family = resident.family();
        known.kills = family
            .iter()
            .filter_map(|id| deaths.get(id))
            .flatten()
            .copied()
            .collect();
        known
    });
    History {
        kills: Vec::new(),
        calm_from,
        keys: keys.collect(),
    }
}

/// What happened to a key and its children, a line each: time, who, what.
pub fn story(world: &World, key: &str, family: &[String]) -> String {
    let story = world.story.borrow();
    let mut lines: Vec<(u64, String)> = story
        .iter()
        .filter(|line| line.subject.is_empty() || family.contains(&line.subject))
        .map(|line| {
            let is_child = family[1..].contains(&line.subject);
            let child = if is_child { "(child) " } else { "" };
            (
                line.at_ms,
                format!("{:<10} {child}{}", line.actor, line.what),
            )
        })
        .collect();
    for call in world.outside.calls() {
        if is_of(&call.target, key) {
            let text = format!("outside    {} with {}", call.target, call.key);
            lines.push((call.at, text));
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    let mut text = format!("key {key}, task {}\n", family[0]);
    for (at, line) in lines {
        let _ = writeln!(text, "{at:>10} ms  {line}");
    }
    text
}
