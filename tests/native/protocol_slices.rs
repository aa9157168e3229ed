//! What senders and slices of the small world say to the object.

use crate::protocol_fixture::{answer, begin, failing, record, step, suspend, token};
use crate::protocol_world::{Act, World, pick, policy};
use onceward::protocol::{Claim, Event, Finish, Outcome, Proof, Reply, Suspend, Verdict};
use onceward::types::{Failure, Token};

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

impl World {
    fn op(&self) -> Token {
        token(&format!("op-{}", self.turn))
    }

    pub fn ask(&mut self, act: &Act) {
        match act {
            Act::Deliver { print } => self.deliver(*print),
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

    pub fn deliver(&mut self, print: bool) {
        let mut message = begin(self.op().as_str());
        message.policy = policy();
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

    pub fn record(&mut self, slice: usize, number: u8, kind: u8) {
        let Some(slot) = self.slot(slice) else { return };
        let step = step(&name(number), outcome(kind));
        let is_new = !self.journal.contains_key(&step.id.cell());
        let is_value = matches!(step.outcome, Outcome::Value(_));
        let reply = self.apply(Event::Record(Box::new(record(
            &self.proof(slot),
            vec![step],
        ))));
        self.progressed[slot] |= is_new && is_value && matches!(reply, Reply::Recorded { .. });
    }

    /// Step 4 and above: without a last outcome.
    pub fn suspend(&mut self, slice: usize, number: u8) {
        let Some(slot) = self.slot(slice) else { return };
        let steps = if number < 4 {
            vec![step(&name(number), outcome(0))]
        } else {
            Vec::new()
        };
        let suspend = Suspend {
            steps,
            ..suspend(
                self.op().as_str(),
                &self.slices[slot],
                self.progressed[slot],
            )
        };
        self.suspends.push(suspend.clone());
        self.apply(Event::Suspend(Box::new(suspend)));
    }

    pub fn finish(&mut self, slice: usize, number: u8, kind: u8) {
        let Some(slot) = self.slot(slice) else { return };
        let verdict = match kind % 4 {
            0 => Verdict::Succeeded(answer(200)),
            1 => Verdict::Failed(failing(&name(number))),
            2 => Verdict::Failed(Failure::retryable("busy", "no").with_answer(answer(503))),
            _ => Verdict::Failed(Failure::terminal("declined", "no").with_answer(answer(402))),
        };
        let steps = if number < 4 {
            vec![step(&name(number), outcome(kind + number))]
        } else {
            Vec::new()
        };
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
