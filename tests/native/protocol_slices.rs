//! What senders, operators and slices of the small world say to the object.

use crate::protocol_fixture::{
    answer, begin, child_record, done, failing, id, intent, record, signal, signal_wait, sleep,
    step, suspend, token, undo_record, undoable, wait_for,
};
use crate::protocol_world::{Act, World, pick};
use onceward::protocol::{
    Begin, Claim, Cursor, Event, Finish, Mismatch, NextInput, NotUndone, Open, Outcome, Parent,
    Proof, Record, Reply, Retry, StepRecord, Suspend, Verdict, Wait, WaitFor,
};
use onceward::types::{Failure, TaskId, TaskKey, TaskKind, Token};

fn outcome(kind: u8) -> Outcome {
    match kind % 4 {
        0 | 1 => Outcome::Value(kind.to_string()),
        2 => Outcome::Failed(Failure::retryable("busy", "no")),
        _ => Outcome::Failed(Failure::terminal("declined", "no")),
    }
}

fn name(step: u8) -> String {
    format!("step-{}", step % 4)
}

/// A step that can be undone.
fn pay(step: u8) -> String {
    format!("pay-{}", step % 2)
}

fn child(n: u8) -> TaskId {
    TaskKey::new(TaskKind::Function, "child", "", &n.to_string()).task_id()
}

pub fn parent(n: u8) -> Parent {
    Parent {
        task_id: TaskKey::new(TaskKind::Function, "parent", "", &n.to_string()).task_id(),
        generation: 1,
        step: id("child"),
    }
}

impl World {
    fn op(&self) -> Token {
        token(&format!("op-{}", self.turn))
    }

    pub fn ask(&mut self, act: &Act) {
        match act {
            Act::Deliver { print } => self.deliver(*print),
            Act::Birth(n) => self.birth(*n),
            Act::BeginAgain(n) => {
                if let Some(begin) = pick(&self.begins, *n) {
                    self.apply(Event::Begin(Box::new(begin)));
                }
            }
            Act::Claim(n) => {
                if let Some(ticket) = pick(&self.tickets, *n) {
                    self.claim(ticket);
                }
            }
            Act::ClaimAgain(n) => {
                if let Some(claim) = pick(&self.claims, *n) {
                    self.apply(Event::Claim(claim));
                }
            }
            other => unreachable!("{other:?}"),
        }
    }

    /// A parent begins it: it does not run the first slice itself.
    fn birth(&mut self, n: u8) {
        let message = Begin {
            policy: self.policy.clone(),
            fingerprint: Some("print-true".to_owned()),
            parts: Vec::new(),
            claims: false,
            hop: u32::from(n),
            parent: Some(parent(n)),
            ..begin(self.op().as_str())
        };
        self.begins.push(message.clone());
        self.apply(Event::Begin(Box::new(message)));
    }

    /// What operators and other tasks do.
    pub fn steer(&mut self, act: &Act) {
        let op = self.op().as_str().to_owned();
        match act {
            Act::Signal { name, id, text } => {
                let text = format!("{name}-{id}-{text}");
                let signal = signal(&format!("go-{name}"), &id.to_string(), &text);
                self.apply(Event::Signal(Box::new(signal)));
            }
            Act::Cancel => {
                self.apply(Event::Cancel { op });
            }
            Act::Undo => {
                self.apply(Event::Undo { op });
            }
            Act::Retry { from, input } => {
                let retry = Retry {
                    op,
                    from: (*from < 4).then(|| name(*from)),
                    input: input.then(|| b"new".to_vec()),
                    same_keys: *from == 5,
                    ..Retry::default()
                };
                self.apply(Event::Retry(Box::new(retry)));
            }
            Act::DebtPaid => {
                let debt = self
                    .task
                    .as_ref()
                    .and_then(|t| t.debts.list.first().cloned());
                if let Some(debt) = debt {
                    self.apply(Event::DebtPaid(debt));
                }
            }
            Act::DebtFailed => {
                self.apply(Event::DebtFailed);
            }
            other => unreachable!("{other:?}"),
        }
    }

    pub fn deliver(&mut self, print: bool) {
        let mut message = begin(self.op().as_str());
        message.policy = self.policy.clone();
        message.fingerprint = Some(format!("print-{print}"));
        self.begins.push(message.clone());
        self.apply(Event::Begin(Box::new(message)));
    }

    pub fn claim(&mut self, ticket: Token) {
        let op = self.op();
        let claim = Claim { op, ticket };
        self.claims.push(claim.clone());
        self.apply(Event::Claim(claim));
    }

    pub fn write(&mut self, act: &Act) {
        match act {
            Act::Record { slice, step, kind } => self.record(*slice, *step, *kind),
            Act::Suspend { slice, step } => self.suspend(*slice, *step),
            Act::WaitFor { slice, what, ms } => self.wait_for(*slice, *what, *ms),
            Act::Save { slice, n } => self.save(*slice, *n),
            Act::SuspendAgain(n) => {
                if let Some(suspend) = pick(&self.suspends, *n) {
                    self.apply(Event::Suspend(Box::new(suspend)));
                }
            }
            Act::Finish { slice, step, kind } => self.finish(*slice, *step, *kind),
            Act::FinishAgain(n) => {
                if let Some(finish) = pick(&self.finishes, *n) {
                    self.apply(Event::Finish(Box::new(finish)));
                }
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn slot(&self, slice: usize) -> Option<usize> {
        let last = self.slices.len().checked_sub(1)?;
        Some(last - slice % self.slices.len())
    }

    fn proof(&self, slot: usize) -> Proof {
        self.slices[slot].proof.clone()
    }

    /// The records of one step that can be undone: its intent comes first.
    fn paying(&self, number: u8, kind: u8) -> StepRecord {
        let name = pay(number);
        if kind == 4 || !self.journal.contains_key(&id(&name).cell()) {
            return intent(&name);
        }
        let no = Failure::terminal("declined", "no");
        match kind {
            2 => undoable(&name, Outcome::Failed(failing(&name).with_unknown_effect())),
            3 => undoable(&name, Outcome::Failed(no)),
            5 => undoable(&name, Outcome::Failed(no.with_unknown_effect())),
            _ => done(&name),
        }
    }

    fn record_of(&self, slot: usize, number: u8, kind: u8) -> StepRecord {
        let open = || {
            Outcome::Open(Box::new(Open {
                tries: 1,
                ..Open::default()
            }))
        };
        if self.slices[slot].undoing {
            return undo_record(&pay(number), outcome(kind));
        }
        match (number % 8, kind % 6) {
            (4 | 5, kind) => self.paying(number, kind),
            (6, 0..=2) => child_record("child", child(kind)),
            (6, kind) => StepRecord {
                outcome: outcome(kind),
                ..child_record("child", child(kind))
            },
            (number, 4) => step(&name(number), open()),
            (number, kind) => step(&name(number), outcome(kind)),
        }
    }

    pub fn record(&mut self, slice: usize, number: u8, kind: u8) {
        let Some(slot) = self.slot(slice) else { return };
        let step = self.record_of(slot, number, kind);
        let old = self.journal.get(&step.id.cell());
        let is_new = old.is_none_or(|old| !old.outcome.is_settled());
        let is_value = matches!(step.outcome, Outcome::Value(_));
        let message = record(&self.proof(slot), vec![step]);
        let reply = self.apply(Event::Record(Box::new(message)));
        self.progressed[slot] |= is_new && is_value && matches!(reply, Reply::Recorded { .. });
    }

    fn save(&mut self, slice: usize, n: u8) {
        let Some(slot) = self.slot(slice) else { return };
        if self.slices[slot].undoing {
            return;
        }
        let cursor = Cursor {
            fence: 0,
            n: n.into(),
            text: (n / 2).to_string(),
            skips: Vec::new(),
        };
        let message = Record {
            cursor: Some(cursor),
            ..record(&self.proof(slot), Vec::new())
        };
        self.apply(Event::Record(Box::new(message)));
    }

    /// Step 4 and above: without a last outcome.
    pub fn suspend(&mut self, slice: usize, number: u8) {
        let Some(slot) = self.slot(slice) else { return };
        let steps = if number < 4 {
            vec![self.record_of(slot, number, 0)]
        } else {
            Vec::new()
        };
        let mut suspend = Suspend {
            steps,
            ..suspend(
                self.op().as_str(),
                &self.slices[slot],
                self.progressed[slot],
            )
        };
        if number == 4 && !self.slices[slot].undoing {
            suspend.mismatch = Some(Box::new(Mismatch {
                index: 0,
                recorded: id("x"),
                attempted: None,
                difference: "it ended".to_owned(),
            }));
        }
        self.suspended(slot, suspend);
    }

    fn suspended(&mut self, slot: usize, mut suspend: Suspend) {
        self.asked[slot] += 1;
        suspend.n = self.asked[slot];
        self.suspends.push(suspend.clone());
        self.apply(Event::Suspend(Box::new(suspend)));
    }

    /// A wait under a name of its own, so that none is waited for twice.
    fn wait_for(&mut self, slice: usize, what: u8, ms: u64) {
        let Some(slot) = self.slot(slice) else { return };
        let due = self.now + ms;
        let named = |n: u8, timeout: Option<u64>| Wait {
            id: id(&format!("wait-{}-{n}", self.turn)),
            ..signal_wait(&format!("go-{n}"), timeout)
        };
        let nap = sleep(&format!("nap-{}", self.turn), due);
        let again = wait_for("step-0", WaitFor::Retry { due_ms: due });
        let task_id = child(0);
        let look = wait_for(
            "child",
            WaitFor::Child {
                task_id,
                due_ms: due,
            },
        );
        let waits = match what % 8 {
            _ if self.slices[slot].undoing => vec![wait_for("undo", again.what)],
            0 => vec![nap],
            1 => vec![named(0, None)],
            2 => vec![named(1, Some(due))],
            3 => vec![named(0, Some(due)), nap],
            4 => vec![named(0, None), named(0, None)],
            5 => vec![again],
            6 => vec![look],
            _ => vec![named(0, None), named(1, Some(due)), again],
        };
        let waits = waits.into_iter().enumerate();
        let waits = waits.map(|(n, wait)| Wait {
            id: onceward::types::StepId {
                occurrence: u32::try_from(n).expect("small"),
                ..wait.id
            },
            ..wait
        });
        let suspend = Suspend {
            waits: waits.collect(),
            ..suspend(
                self.op().as_str(),
                &self.slices[slot],
                self.progressed[slot],
            )
        };
        self.suspended(slot, suspend);
    }

    fn verdict(&self, number: u8, kind: u8) -> Verdict {
        let answered = |failure: Failure, status| failure.with_answer(answer(status));
        let cancel = self.task.as_ref().is_some_and(|t| t.cancel.is_some());
        match kind % 7 {
            0 => Verdict::Succeeded(answer(200)),
            1 => Verdict::Failed(failing(&name(number))),
            2 => Verdict::Failed(answered(Failure::retryable("busy", "no"), 503)),
            3 => Verdict::Failed(answered(Failure::terminal("declined", "no"), 402)),
            4 => Verdict::ContinueAs(NextInput::default()),
            5 => Verdict::Failed(failing(&pay(number)).with_unknown_effect()),
            _ if cancel => Verdict::Cancelled,
            _ => Verdict::Failed(failing(&pay(number))),
        }
    }

    fn undone(number: u8, kind: u8) -> Verdict {
        let left = NotUndone {
            step: None,
            code: "refused".to_owned(),
            message: "no".to_owned(),
        };
        match kind % 7 {
            0..=2 => Verdict::Undone(Vec::new()),
            3 => Verdict::Undone(vec![left]),
            4 | 5 => Verdict::Failed(failing(&name(number))),
            _ => Verdict::Failed(Failure::terminal("broken", "no")),
        }
    }

    pub fn finish(&mut self, slice: usize, number: u8, kind: u8) {
        let Some(slot) = self.slot(slice) else { return };
        let undoing = self.slices[slot].undoing;
        let verdict = if undoing {
            Self::undone(number, kind)
        } else {
            self.verdict(number, kind)
        };
        let mut steps = Vec::new();
        if number < 4 {
            steps.push(self.record_of(slot, number, kind + number));
        }
        if kind % 7 == 5 && !undoing && self.journal.contains_key(&id(&pay(number)).cell()) {
            steps.push(self.paying(number, 2));
        }
        let finish = Finish {
            op: self.op(),
            proof: self.proof(slot),
            steps,
            known: Vec::new(),
            verdict,
        };
        self.finishes.push(finish.clone());
        self.apply(Event::Finish(Box::new(finish)));
    }
}
