//! Live events: one task from its object, or many from D1, as a stream that ends by itself after some minutes.

use super::api::{absent, unreachable};
use super::ask::NoReply;
use super::delivery;
use super::list;
use super::ports::Edge;
use super::serve::{Body, Exchange};
use crate::http::document::{TaskDocument, TaskState};
use crate::http::filter::{self, Filter};
use crate::http::problem::Problem;
use crate::http::sse;
use crate::limits;
use crate::protocol::Standing;
use crate::types::{Answer, TaskId};
use futures::future::{ready, try_join};
use futures::stream::{LocalBoxStream, StreamExt as _, once, unfold};

/// How long an object is asked.
const PATIENCE_MS: u64 = 5_000;

/// When a stream ends, and when it last said something.
struct Course {
    edge: Edge,
    ends_ms: u64,
    spoke_ms: u64,
    /// Requests that it may still make.
    requests: u32,
}

impl Course {
    fn begin(edge: &Edge) -> Self {
        let now_ms = edge.now_ms();
        Self {
            edge: edge.clone(),
            ends_ms: now_ms + limits::EVENTS_MS,
            spoke_ms: now_ms,
            requests: limits::EVENTS_REQUESTS,
        }
    }

    /// Takes what the next reading needs; false if the stream is over.
    fn goes_on(&mut self, requests: u32) -> bool {
        let enough = self.requests >= requests;
        self.requests = self.requests.saturating_sub(requests);
        enough && self.edge.now_ms() < self.ends_ms
    }

    /// What to send, if anything: news, or a sign of life.
    fn say(&mut self, news: Vec<u8>) -> Option<Vec<u8>> {
        let now_ms = self.edge.now_ms();
        let silent_ms = now_ms.saturating_sub(self.spoke_ms);
        if news.is_empty() && silent_ms < limits::EVENTS_HEARTBEAT_MS {
            return None;
        }
        self.spoke_ms = now_ms;
        Some(if news.is_empty() {
            sse::HEARTBEAT.to_vec()
        } else {
            news
        })
    }

    async fn until(&self, at_ms: u64) {
        let left_ms = at_ms.saturating_sub(self.edge.now_ms());
        if left_ms > 0 {
            self.edge.sleep(left_ms).await;
        }
    }
}

/// The head of the answer; to `HEAD` there is nothing more.
fn answer(
    exchange: &Exchange,
    body: &mut dyn Body,
    events: LocalBoxStream<'static, Vec<u8>>,
) -> Answer {
    if exchange.method != "HEAD" {
        body.stream(events);
    }
    sse::head()
}

/// The events of one task. A client that has seen the end gets 204, which tells it not to come again.
pub(super) async fn one(
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
    id: TaskId,
) -> Result<Answer, Problem> {
    let standing = look(edge, id, 0)
        .await
        .map_err(|error| unreachable(edge, id, &error))?
        .ok_or_else(|| absent(id))?;
    let known = sse::last_seen(&exchange.headers).map(str::to_owned);
    let (_, end) = sse::task_ids(standing.summary.version);
    if known.as_deref() == Some(&*end) {
        return Ok(Answer {
            status: 204,
            ..sse::head()
        });
    }
    let mut watch = TaskWatch {
        course: Course::begin(edge),
        id,
        known,
        shown: None,
        moving: false,
        over: false,
        next_ms: 0,
    };
    let mut first = sse::beginning(None);
    first.extend(watch.news(&standing));
    if !watch.moving {
        watch.next_ms = edge.now_ms() + limits::EVENTS_IDLE_MS;
    }
    let events = once(ready(first)).chain(unfold(watch, |mut watch| async move {
        watch.next().await.map(|bytes| (bytes, watch))
    }));
    let mut answer = answer(exchange, body, events.boxed_local());
    answer.headers.push("onceward-task-id", id.to_string());
    Ok(answer)
}

async fn look(edge: &Edge, id: TaskId, wait_ms: u64) -> Result<Option<Standing>, NoReply> {
    let until_ms = edge.now_ms() + wait_ms + PATIENCE_MS;
    delivery::look(edge, id, wait_ms, until_ms).await
}

struct TaskWatch {
    course: Course,
    id: TaskId,
    /// The id that the client has seen last.
    known: Option<String>,
    shown: Option<TaskDocument>,
    moving: bool,
    over: bool,
    /// When to look again.
    next_ms: u64,
}

impl TaskWatch {
    async fn next(&mut self) -> Option<Vec<u8>> {
        while !self.over && self.course.goes_on(1) {
            self.course.until(self.next_ms).await;
            // The end of a task that moves is heard of at once.
            let wait_ms = if self.moving {
                limits::EVENTS_LOOK_MS
            } else {
                0
            };
            let asked_ms = self.course.edge.now_ms();
            let news = match look(&self.course.edge, self.id, wait_ms).await {
                Ok(Some(standing)) => self.news(&standing),
                Ok(None) => {
                    self.over = true;
                    sse::gone(self.id)
                }
                Err(_) => sse::UNAVAILABLE.to_vec(),
            };
            let pause_ms = if self.moving {
                limits::EVENTS_LOOK_MS
            } else {
                limits::EVENTS_IDLE_MS
            };
            self.next_ms = asked_ms + pause_ms;
            if let Some(bytes) = self.course.say(news) {
                return Some(bytes);
            }
        }
        None
    }

    /// The task's event, unless it is the one that was seen last, and its end.
    fn news(&mut self, standing: &Standing) -> Vec<u8> {
        let task = TaskDocument::of(&standing.summary);
        let (id, end) = sse::task_ids(standing.summary.version);
        self.moving = standing.summary.is_moving(self.course.edge.now_ms());
        let essence = sse::essence(&task);
        let is_known = self.known.take().is_some_and(|known| known == id);
        let is_news = !is_known && self.shown.as_ref() != Some(&essence);
        self.shown = Some(essence);
        let mut news = Vec::new();
        if is_news {
            news.extend(sse::task(&id, &task));
        }
        if sse::is_over(&task) {
            self.over = true;
            news.extend(sse::end(&end, self.id));
        }
        news
    }
}

/// The events of all tasks that match. A caller of one tenant sees those of that tenant.
pub(super) async fn many(
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
    tenant: Option<&str>,
) -> Result<Answer, Problem> {
    let mut filter = filter::read(&exchange.target)?;
    list::confine(&mut filter, tenant)?;
    let now_ms = edge.now_ms();
    let last = sse::last_seen(&exchange.headers).and_then(|last| last.parse().ok());
    let since_ms = last.map_or(now_ms, |last: u64| last.min(now_ms));
    let mut watch = ListWatch {
        course: Course::begin(edge),
        open: open_of(&filter),
        filter,
        news: sse::News::since(since_ms),
    };
    let mut first = sse::beginning(Some(&watch.news.mark()));
    first.extend(watch.reading().await?);
    let events = once(ready(first)).chain(unfold(watch, |mut watch| async move {
        watch.next().await.map(|bytes| (bytes, watch))
    }));
    Ok(answer(exchange, body, events.boxed_local()))
}

/// The same filter for what is still to end; `None` if nothing of that can match.
fn open_of(filter: &Filter) -> Option<Filter> {
    let possible = filter.possible_states();
    let mut states = possible.unwrap_or_else(|| TaskState::ALL.to_vec());
    states.retain(|state| sse::is_open(*state));
    (!states.is_empty()).then(|| Filter {
        states,
        ..filter.clone()
    })
}

struct ListWatch {
    course: Course,
    filter: Filter,
    /// What is still to end.
    open: Option<Filter>,
    news: sse::News,
}

impl ListWatch {
    async fn next(&mut self) -> Option<Vec<u8>> {
        let databases = u32::from(self.course.edge.databases());
        while self.course.goes_on(limits::EVENTS_READING * databases) {
            let next_ms = self.course.edge.now_ms() + limits::EVENTS_READ_MS;
            self.course.until(next_ms).await;
            let news = self.reading().await;
            let news = news.unwrap_or_else(|_| sse::UNAVAILABLE.to_vec());
            if let Some(bytes) = self.course.say(news) {
                return Some(bytes);
            }
        }
        None
    }

    /// Reads the newest tasks and the open ones, and what has become of those that were open.
    async fn reading(&mut self) -> Result<Vec<u8>, Problem> {
        let edge = &self.course.edge;
        let of = |filter| {
            let (tasks, rows) = (limits::EVENTS_TASKS, limits::EVENTS_ROWS);
            list::read(edge, filter, None, tasks, rows)
        };
        let open = async {
            match &self.open {
                Some(open) => of(open).await,
                None => Ok(list::Page::default()),
            }
        };
        let (newest, open) = try_join(of(&self.filter), open).await?;
        let mut reading = newest.tasks;
        reading.extend(open.tasks);
        let missing = self.news.missing(&reading);
        let mut bytes = Vec::new();
        if !missing.is_empty() {
            let found = list::some(edge, &missing).await?;
            let lost = |id: &&TaskId| found.iter().all(|task| task.task_id != **id);
            bytes.extend(missing.iter().filter(lost).flat_map(|id| sse::gone(*id)));
            reading.extend(found);
        }
        for task in self.news.of(reading) {
            bytes.extend(self.news.event(&task));
        }
        Ok(bytes)
    }
}
