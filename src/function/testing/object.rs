//! An object in memory: loads, lets the task machine decide, writes, as the real one does.

use crate::protocol::{
    Effect, Event, Moment, Next, Outcome, Reply, Standing, StepRecord, Task, handle,
};
use crate::types::{Input, StepId, Token};
use std::collections::BTreeMap;

/// Something to do after a transition is written.
pub(super) enum After {
    Dispatch(Token),
    /// D1 is told at once, and always answers.
    Tell(Event),
}

#[derive(Default)]
pub(super) struct Object {
    /// As text, so that what is not written is not remembered.
    task: Option<String>,
    input: Input,
    answer: Vec<u8>,
    journal: BTreeMap<StepId, StepRecord>,
    alarm_ms: Option<u64>,
}

impl Object {
    pub(super) fn task(&self) -> Option<Task> {
        let text = self.task.as_ref()?;
        Some(serde_json::from_str(text).expect("a task reads what it wrote"))
    }

    pub(super) fn input(&self) -> Input {
        self.input.clone()
    }

    pub(super) fn answer_body(&self) -> Vec<u8> {
        self.answer.clone()
    }

    pub(super) fn journal(&self) -> Vec<StepRecord> {
        self.journal.values().cloned().collect()
    }

    pub(super) fn alarm_ms(&self) -> Option<u64> {
        self.alarm_ms
    }

    /// Rings the alarm: it is used up, whatever comes of it.
    pub(super) fn ring(&mut self, moment: &Moment) -> Vec<After> {
        self.alarm_ms = None;
        self.handle(Event::AlarmFired, moment).1
    }

    pub(super) fn handle(&mut self, event: Event, moment: &Moment) -> (Reply, Vec<After>) {
        let out = handle(self.task(), self.looked_up(event), moment);
        match out.next {
            Next::Unchanged => {}
            Next::Put(task) => {
                self.task = Some(serde_json::to_string(&task).expect("a task has a JSON form"));
            }
            Next::Gone => *self = Self::default(),
        }
        let mut after = Vec::new();
        for effect in out.effects {
            after.extend(self.apply(effect));
        }
        let mut reply = out.reply;
        if let Reply::Stands(Standing {
            answer: Some(answer),
            ..
        }) = &mut reply
        {
            answer.body.clone_from(&self.answer);
        }
        (reply, after)
    }

    /// Fills in what the object knows of the steps that a message names.
    fn looked_up(&self, mut event: Event) -> Event {
        let of = |steps: &[StepRecord]| -> Vec<StepRecord> {
            let known = steps.iter().filter_map(|s| self.journal.get(&s.id));
            known.cloned().collect()
        };
        match &mut event {
            Event::Record(record) => record.known = of(&record.steps),
            Event::Suspend(suspend) => suspend.known = of(&suspend.steps),
            Event::Finish(finish) => {
                finish.known = of(&finish.steps);
                if let crate::protocol::Verdict::Failed(failure) = &finish.verdict
                    && let Some(kept) = failure.step.as_ref().and_then(|s| self.journal.get(s))
                    && finish.known.iter().all(|k| k.id != kept.id)
                {
                    finish.known.push(kept.clone());
                }
            }
            _ => {}
        }
        event
    }

    fn apply(&mut self, effect: Effect) -> Option<After> {
        match effect {
            Effect::PutInput(input) => self.input = input,
            Effect::PutAnswer(answer) => self.answer = answer.body,
            Effect::PutStep(step) => {
                self.journal.insert(step.id.clone(), step);
            }
            Effect::ReopenStep(id) => {
                self.journal.remove(&id);
            }
            Effect::DropPayload => {
                self.input = Input::default();
                self.answer.clear();
                self.journal.clear();
            }
            Effect::SetAlarm { at_ms } => self.alarm_ms = Some(at_ms),
            Effect::Dispatch { ticket, .. } => return Some(After::Dispatch(ticket)),
            Effect::Flush => {
                let version = self.task()?.version;
                return Some(After::Tell(Event::Flushed {
                    sent: version,
                    holds: version,
                }));
            }
            Effect::Forget { version } => {
                return Some(After::Tell(Event::TombstoneAcked(version)));
            }
            Effect::WakeJoined
            | Effect::PutCursor(_)
            | Effect::PutLetter(_)
            | Effect::NewJournal { .. }
            | Effect::ReplaceInput(_)
            | Effect::PayDebts => {}
        }
        None
    }

    /// Every outcome, without the times and places that differ between runs.
    pub(super) fn outcomes(&self) -> BTreeMap<StepId, Outcome> {
        let records = self.journal.values();
        records.map(|r| (r.id.clone(), r.outcome.clone())).collect()
    }
}
