//! Transitions in few words, for people.

use onceward::protocol::{
    Debt, Effect, Next, Outcome, Plan, Reply, Standing, State, StepRecord, Summary, Task,
    Transition, Wait, WaitFor, Waiting,
};
use std::fmt::Write as _;

/// `next | effects | reply`
pub fn line(before: Option<&Task>, out: &Transition, now_ms: u64) -> String {
    let next = match &out.next {
        Next::Unchanged => "unchanged".to_owned(),
        Next::Gone => "gone".to_owned(),
        Next::Put(task) => put(before, task, now_ms),
    };
    let expiry = match &out.next {
        Next::Put(task) => task.expires_ms,
        Next::Unchanged | Next::Gone => before.and_then(|task| task.expires_ms),
    };
    let effects: Vec<String> = out
        .effects
        .iter()
        .map(|e| match e {
            Effect::SetAlarm { at_ms } if Some(*at_ms) == expiry => "alarm at expiry".to_owned(),
            other => effect(other, now_ms),
        })
        .collect();
    let effects = if effects.is_empty() {
        "–".to_owned()
    } else {
        effects.join(", ")
    };
    format!("{next} | {effects} | {}", reply(&out.reply, now_ms))
}

/// A time relative to now, in the largest unit that fits.
fn when(at_ms: u64, now_ms: u64) -> String {
    if at_ms < now_ms {
        return format!("{} ms ago", now_ms - at_ms);
    }
    let ms = at_ms - now_ms;
    match ms {
        0 => "now".to_owned(),
        _ if ms.is_multiple_of(86_400_000) => format!("+{} d", ms / 86_400_000),
        _ if ms.is_multiple_of(1_000) => format!("+{} s", ms / 1_000),
        _ => format!("+{ms} ms"),
    }
}

pub fn state(state: &State, now_ms: u64) -> String {
    match state {
        State::Running => "running".to_owned(),
        State::Suspended(Waiting::Ready) => "ready".to_owned(),
        State::Suspended(Waiting::BackingOff { due_ms }) => {
            format!("backing off until {}", when(*due_ms, now_ms))
        }
        State::Suspended(Waiting::For(waits)) => {
            let waits: Vec<String> = waits.iter().map(|w| wait(w, now_ms)).collect();
            format!("waiting for {}", waits.join(" and "))
        }
        State::Suspended(Waiting::CodeChanged(_)) => "parked: code changed".to_owned(),
        State::Succeeded => "succeeded".to_owned(),
        State::Cancelled => "cancelled".to_owned(),
        State::Failed { resumable: true } => "failed (resumable)".to_owned(),
        State::Failed { resumable: false } => "failed for good".to_owned(),
        State::Forgotten => "forgotten".to_owned(),
    }
}

fn wait(wait: &Wait, now_ms: u64) -> String {
    match &wait.what {
        WaitFor::Sleep { due_ms } => format!("time {}", when(*due_ms, now_ms)),
        WaitFor::Retry { due_ms } => format!("next try {}", when(*due_ms, now_ms)),
        WaitFor::Child { due_ms, .. } => format!("child, look {}", when(*due_ms, now_ms)),
        WaitFor::Signal { name, due_ms: None } => format!("signal {name}"),
        WaitFor::Signal {
            name,
            due_ms: Some(due),
        } => format!("signal {name} until {}", when(*due, now_ms)),
    }
}

/// What is besides the state.
fn besides(summary: &Summary) -> String {
    let mut words = String::new();
    if let Some(ending) = &summary.ending {
        let _ = write!(words, ", undoing, then {:?}", ending.to);
    }
    if let Some(undone) = &summary.undone {
        words += if undone.is_complete() {
            ", undone"
        } else {
            ", undone in part"
        };
    }
    if let Some(cancel) = &summary.cancel {
        words += if cancel.too_late {
            ", cancel too late"
        } else {
            ", cancel wanted"
        };
    }
    if summary.unread > 0 {
        let _ = write!(words, ", {} unread", summary.unread);
    }
    words
}

/// The state, and what else is new of it.
fn put(before: Option<&Task>, task: &Task, now_ms: u64) -> String {
    let at = state(&task.state, now_ms);
    let mut words = vec![at + &besides(&Summary::of(task))];
    let old = |read: fn(&Task) -> u64| before.map(read);
    let mut told = |name: &str, was: Option<u64>, is: u64| {
        if was.unwrap_or(0) != is {
            words.push(format!("{name} {is}"));
        }
    };
    told("attempts", old(|t| t.attempts.into()), task.attempts.into());
    told("fence", old(|t| t.fence), task.fence);
    told("revivals", old(|t| t.revivals.into()), task.revivals.into());
    told(
        "flush tries",
        old(|t| t.outbox.tries.into()),
        task.outbox.tries.into(),
    );
    if before.is_some_and(|t| t.generation != task.generation) {
        words.push("new generation".to_owned());
        if before.is_some_and(|t| t.key_generation == task.key_generation) {
            words.push("same keys".to_owned());
        }
    }
    let debts = |t: &Task| t.debts.list.len() as u64;
    if before.map_or(0, debts) != debts(task) {
        let debts: Vec<&str> = task.debts.list.iter().map(debt).collect();
        words.push(format!("owes [{}]", debts.join(", ")));
    }
    if let Some(before) = before {
        if before.version.epoch != task.version.epoch {
            words.push("new epoch".to_owned());
        }
        if before.outbox.is_owing() && !task.outbox.is_owing() {
            words.push("nothing owed".to_owned());
        }
    }
    if before.and_then(|t| t.expires_ms) != task.expires_ms {
        words.push(match task.expires_ms {
            Some(at_ms) => format!("expires {}", when(at_ms, now_ms)),
            None => "expires no more".to_owned(),
        });
    }
    words.join(", ")
}

fn debt(debt: &Debt) -> &'static str {
    match debt {
        Debt::End(_) => "end",
        Debt::Cancel(_) => "cancel",
        Debt::Notice(_) => "notice",
    }
}

fn record(step: &StepRecord) -> String {
    let outcome = match &step.outcome {
        Outcome::Value(_) => "",
        Outcome::Failed(_) => " failed",
        Outcome::Open(_) => " open",
    };
    format!("{}{outcome}", step.id)
}

fn plan(plan: &Plan) -> String {
    let ids = |ids: &[onceward::types::StepId]| {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.join(" ")
    };
    format!(
        "planned: kept [{}], again [{}]{}{}",
        ids(&plan.kept),
        ids(&plan.again),
        if plan.new_generation {
            ", new generation"
        } else {
            ""
        },
        if plan.new_keys { ", new keys" } else { "" },
    )
}

fn effect(effect: &Effect, now_ms: u64) -> String {
    match effect {
        Effect::PutInput(_) => "put input".to_owned(),
        Effect::PutAnswer(answer) => format!("put answer {}", answer.status),
        Effect::ReplaceInput(_) => "replace input".to_owned(),
        Effect::PutStep(step) => format!("put step {}", record(step)),
        Effect::PutCursor(_) => "put cursor".to_owned(),
        Effect::RewindCursor { .. } => "rewind cursor".to_owned(),
        Effect::PutLetter(letter) => format!("put letter {}", letter.name),
        Effect::NewJournal { keep_undo, .. } => {
            let kept = if *keep_undo { ", keep undo" } else { "" };
            format!("new journal{kept}")
        }
        Effect::PayDebts => "pay debts".to_owned(),
        Effect::ReopenStep(id) => format!("reopen step {id}"),
        Effect::DropPayload => "drop payload".to_owned(),
        Effect::Strip => "strip".to_owned(),
        Effect::SetAlarm { at_ms } => format!("alarm {}", when(*at_ms, now_ms)),
        Effect::Dispatch { hop, .. } => format!("dispatch at hop {hop}"),
        Effect::Flush => "flush".to_owned(),
        Effect::Forget { .. } => "forget".to_owned(),
        Effect::WakeJoined => "wake joined".to_owned(),
    }
}

fn standing(standing: &Standing, now_ms: u64) -> String {
    let at = state(&standing.summary.state, now_ms) + &besides(&standing.summary);
    match &standing.answer {
        Some(answer) => format!("{at}, answer {}", answer.status),
        None => at,
    }
}

fn reply(reply: &Reply, now_ms: u64) -> String {
    match reply {
        Reply::Claimed(claimed) => format!(
            "claimed: fence {}, attempt {}, hop {}{}{}{}",
            claimed.proof.fence,
            claimed.attempt,
            claimed.hop,
            if claimed.resumed { ", resumed" } else { "" },
            if claimed.undoing { ", undoing" } else { "" },
            if claimed.cancel { ", cancel" } else { "" },
        ),
        Reply::Stands(at) => format!("stands: {}", standing(at, now_ms)),
        Reply::KeyReused { differs } if differs.is_empty() => "key reused".to_owned(),
        Reply::KeyReused { differs } => format!("key reused, {}", differs.join(", ")),
        Reply::Expired => "expired".to_owned(),
        Reply::KeyCollision => "key collision".to_owned(),
        Reply::Refused => "refused".to_owned(),
        Reply::Recorded {
            stop,
            winners,
            cancel,
        } => format!(
            "recorded{}{}{}",
            if winners.is_empty() {
                ""
            } else {
                ", first outcome stays"
            },
            if *stop { ", stop" } else { "" },
            if *cancel { ", cancel" } else { "" },
        ),
        Reply::GoOn { records, .. } => {
            let records: Vec<String> = records.iter().map(record).collect();
            format!("go on: [{}]", records.join(", "))
        }
        Reply::Signalled { repeated: false } => "signalled".to_owned(),
        Reply::Signalled { repeated: true } => "signalled before".to_owned(),
        Reply::MailboxFull => "mailbox full".to_owned(),
        Reply::Ended(at) => format!("ended: {}", standing(at, now_ms)),
        Reply::Planned(made) => plan(made),
        Reply::NoSuchStep => "no such step".to_owned(),
        Reply::Stale(at) => format!("stale: {}", standing(at, now_ms)),
        Reply::Suspended { ticket, hop } => match ticket {
            Some(_) => format!("suspended: ticket for hop {hop}"),
            None => "suspended: the alarm goes on".to_owned(),
        },
        Reply::NotFound => "not found".to_owned(),
        Reply::InProgress(at) => format!("in progress: {}", standing(at, now_ms)),
        Reply::Done => "done".to_owned(),
    }
}
