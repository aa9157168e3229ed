//! A life of one object: a message on each line, and what its storage holds after each of them.
//!
//! A line is the JSON of what is asked, or a word for what happens by itself: `alarm`, `flushed`, `unflushed`,
//! `tombstone`, `no-tombstone`, `paid`, `unpaid`, `poke`. `+N` before it lets N milliseconds pass, `*` gives it a
//! large body. `$fence`, `$token`, `$ticket` and `$generation` stand for those of the task at that moment.

use super::frame::as_sent;
use super::input::is_json;
use onceward::http::document::TaskDocument;
use onceward::http::journal;
use onceward::http::object_call::{Ask, Call, Frame};
use onceward::limits::INLINE_BYTES;
use onceward::protocol::{Debt, Event, Moment, Summary, Task, Version, next_due_ms, own_due_ms};
use onceward::store::cells::MemoryCells;
use onceward::store::commit::{CommitError, Stored, commit};
use onceward::store::d1;
use onceward::store::journal::{Purpose, page};
use onceward::types::{Headers, TaskId, TaskKey, TaskKind};

/// Longer lives find nothing new.
const LINES: usize = 40;
const BEGAN_MS: u64 = 1_795_989_751_000;

pub fn check(data: &[u8]) {
    let id = TaskKey::new(TaskKind::Source, "lab", "", "k").task_id();
    let mut life = Life {
        id,
        cells: MemoryCells::default(),
        now_ms: BEGAN_MS,
    };
    for line in data.split(|b| *b == b'\n').take(LINES) {
        life.line(&String::from_utf8_lossy(line));
    }
}

struct Life {
    id: TaskId,
    cells: MemoryCells,
    now_ms: u64,
}

impl Life {
    fn line(&mut self, line: &str) {
        let mut rest = line;
        if let Some((ms, after)) = rest.strip_prefix('+').and_then(|rest| rest.split_once(' ')) {
            // Up to a year, so that the clock stays one.
            self.now_ms += ms.parse::<u64>().unwrap_or(1).min(31_536_000_000);
            rest = after;
        }
        self.now_ms += 1;
        let large = rest.strip_prefix('*');
        let body = large.map_or_else(|| b"{}".to_vec(), |_| vec![b'x'; INLINE_BYTES + 1]);
        let rest = large.unwrap_or(rest);
        let task = self.load().map(|stored| stored.task);
        let event = match word(rest, task.as_ref()) {
            Some(event) => event,
            None => match self.message(rest, task.as_ref(), body) {
                Some(event) => event,
                None => return,
            },
        };
        self.step(event);
    }

    fn load(&self) -> Option<Stored> {
        let loaded = Stored::load(&self.cells, self.id);
        loaded.unwrap_or_else(|why| panic!("the object cannot be read any more: {why}"))
    }

    /// A message goes through its form on the wire. `None`: it is no message, or changes nothing.
    fn message(&self, text: &str, task: Option<&Task>, body: Vec<u8>) -> Option<Event> {
        let text = task.map_or_else(|| text.to_owned(), |task| filled(text, task));
        let head = format!(r#"{{"task_id":"{}","ask":{text}}}"#, self.id);
        let frame = Frame {
            head: head.into_bytes(),
            blobs: vec![body],
        };
        let call = Call::from_frame(Frame::decode(&frame.encode())?).ok()?;
        let again = Call::from_frame(as_sent(call.clone()).to_frame());
        assert_eq!(again.as_ref(), Ok(&call));
        if let Ask::Journal { after, undoing, .. } = &call.ask {
            let purpose = if *undoing {
                Purpose::Undoing
            } else {
                Purpose::Replay
            };
            self.page(purpose, Some(after));
        }
        let mut event = call.ask.into_event()?;
        if let Event::Begin(begin) = &mut event {
            // The object is the key's own.
            begin.key = TaskKey::new(TaskKind::Source, "lab", "", "k");
        }
        Some(event)
    }

    /// One atomic step: what the storage holds afterwards is what was decided, or what it held before.
    fn step(&mut self, event: Event) {
        let before = self.cells.clone();
        let moment = Moment::at(self.now_ms);
        match commit(&self.cells, self.id, event, &moment) {
            Ok(committed) if committed.gone => self.cells.clear(),
            Ok(committed) => {
                let (read, written) = (self.load(), committed.stored);
                assert_eq!(self.kept(read), self.kept(written), "read back as written");
            }
            Err(CommitError::Corrupt(why)) => panic!("a message spoiled it: {why}"),
            Err(CommitError::NewerSchema(_) | CommitError::Storage(_)) => self.cells = before,
        }
        if let Some(stored) = self.load() {
            self.readable(&stored);
        }
    }

    /// Everything of a task that its object keeps. The body of its answer is kept beside it.
    fn kept(&self, stored: Option<Stored>) -> Option<(String, Headers, [Vec<u8>; 2])> {
        let stored = stored?;
        let task = serde_json::to_string(&stored.task).expect("JSON");
        let input = stored.input_body(&self.cells).expect("memory");
        let answer = stored.answer_body(&self.cells).expect("memory");
        Some((task, stored.input_headers, [input, answer]))
    }

    fn readable(&self, stored: &Stored) {
        let input = stored.input_body(&self.cells);
        let answer = stored.answer_body(&self.cells);
        assert!(input.is_ok() && answer.is_ok(), "{input:?} {answer:?}");
        let task = &stored.task;
        let _ = (next_due_ms(task), own_due_ms(task));
        is_json(&TaskDocument::of(&Summary::of(task)).to_answer(200));
        assert!(!d1::flush(task, answer.ok()).is_empty());
        assert!(!d1::tombstone(task, task.version, self.now_ms).is_empty());
        for purpose in [Purpose::Replay, Purpose::Undoing, Purpose::Show] {
            let mut after = None;
            while let Some(more) = self.page(purpose, after.as_deref()) {
                assert!(
                    after.is_none_or(|after| after < more),
                    "the next page is a later one"
                );
                after = Some(more);
            }
        }
    }

    /// A page that can be shown; where the next one begins.
    fn page(&self, purpose: Purpose, after: Option<&str>) -> Option<String> {
        let (records, more) =
            page(&self.cells, self.id, purpose, after).expect("a readable journal");
        let shown = journal::Page {
            task_id: self.id,
            generation: 1,
            records: &records,
            more: more.as_deref(),
            now_ms: self.now_ms,
        };
        let text = shown.document().to_string();
        assert!(
            serde_json::from_str::<serde_json::Value>(&text).is_ok(),
            "{text}"
        );
        more
    }
}

/// What happens to a task by itself.
fn word(word: &str, task: Option<&Task>) -> Option<Event> {
    let version = task.map_or_else(Version::default, |task| task.version);
    let above = Version {
        n: version.n.saturating_add(1),
        ..version
    };
    Some(match word {
        "alarm" => Event::AlarmFired,
        "poke" => Event::Poke,
        "flushed" => Event::Flushed {
            sent: version,
            holds: version,
        },
        "unflushed" => Event::FlushFailed { sent: version },
        "tombstone" => Event::TombstoneAcked(above),
        "no-tombstone" => Event::TombstoneFailed {
            sent: above,
            holds: None,
        },
        "paid" => {
            let debt: Option<&Debt> = task.and_then(|task| task.debts.list.first());
            Event::DebtPaid(debt?.clone())
        }
        "unpaid" => Event::DebtFailed,
        _ => return None,
    })
}

/// Puts in what only the task knows.
fn filled(text: &str, task: &Task) -> String {
    let lease = task.lease.as_ref();
    let token = lease.map_or("none", |lease| lease.token.as_str());
    let ticket = task
        .ticket
        .as_ref()
        .map_or("none", |ticket| ticket.token.as_str());
    text.replace("$fence", &task.fence.to_string())
        .replace("$token", token)
        .replace("$ticket", ticket)
        .replace("$generation", &task.generation.to_string())
}
