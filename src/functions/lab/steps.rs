//! The steps of a program, nested ones as well.

use super::call;
use super::instant::instant;
use super::program::{Child, Plain, Step, Time};
use super::shared;
use super::syntax;
use super::walk::{Fields, Problems, kind, quoted, text, whole};
use crate::function::Failure;
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

const KINDS: &str =
    "call, value, sleep, signal, parallel, repeat, save, child, kv, lock, wait, burn, fail, panic";
/// Levels of steps within steps.
const MAX_LEVELS: usize = 16;
/// Branches of one `parallel`.
const MAX_BRANCHES: usize = 100;
/// Turns of one `repeat`, and steps of a program with all turns.
const MAX_TURNS: u32 = 100_000;
/// What the names of the parallels around a step have at most: they are part of the name of a row.
const MAX_BRANCH_BYTES: usize = 1_000;
/// Longest burn: nothing stops it from outside on a local engine.
const MAX_BURN_MS: u64 = 60_000;

/// The steps of a program.
pub(super) fn all(problems: &mut Problems, path: &str, value: &Value) -> Vec<Step> {
    let before = problems.count();
    let top = Level {
        number: 1,
        branch_bytes: 0,
    };
    let steps = list(problems, path, value, top);
    let work = steps.iter().fold(0, |sum, step| add(sum, work(step)));
    if problems.count() == before && work > u64::from(MAX_TURNS) {
        let detail = format!("all steps with all turns are {work}, wanted at most {MAX_TURNS}");
        problems.add(path, detail);
    }
    steps
}

/// How many steps it is, with all turns. Nothing counts as less than one: it takes its time too.
fn work(step: &Step) -> u64 {
    match step {
        Step::Parallel { branches, .. } => {
            let all = branches.iter().flatten();
            all.fold(0, |sum, step| add(sum, work(step))).max(1)
        }
        Step::Locked(locked) => {
            let all = locked.steps.iter();
            all.fold(1, |sum, step| add(sum, work(step)))
        }
        Step::Repeat { times, step, .. } => work(step).saturating_mul(u64::from(*times)).max(1),
        _ => 1,
    }
}

fn add(a: u64, b: u64) -> u64 {
    a.saturating_add(b)
}

/// How deep a step stands.
#[derive(Clone, Copy)]
struct Level {
    /// 1 for the steps of the program itself.
    number: usize,
    /// Length of the path of its branch.
    branch_bytes: usize,
}

impl Level {
    fn below(self) -> Self {
        Self {
            number: self.number + 1,
            ..self
        }
    }

    /// That of the branches of a parallel of this name: two segments further, the second a number.
    fn branches(self, name: &str) -> Self {
        let encoded = name.bytes().map(|b| if b"%/".contains(&b) { 3 } else { 1 });
        Self {
            branch_bytes: self.branch_bytes + encoded.sum::<usize>() + 4,
            ..self.below()
        }
    }
}

/// A list of steps that run one after the other. A name comes once in it.
fn list(problems: &mut Problems, list_path: &str, value: &Value, level: Level) -> Vec<Step> {
    let Value::Array(list) = value else {
        problems.add(list_path, format!("got {}, wanted a list", kind(value)));
        return Vec::new();
    };
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let path = &format!("{list_path}[{index}]");
        out.extend(step(problems, path, value, level));
        let Some(name) = value.get("name").and_then(Value::as_str) else {
            continue;
        };
        if let Some(first) = names.get(name) {
            let detail = format!(
                "{} is already the name of {list_path}[{first}]",
                quoted(name)
            );
            problems.add(format!("{path}.name"), detail);
        } else {
            names.insert(name, index);
        }
    }
    out
}

fn step(problems: &mut Problems, path: &str, value: &Value, level: Level) -> Option<Step> {
    if level.number > MAX_LEVELS {
        let detail = format!("steps are nested {MAX_LEVELS} levels deep at most");
        problems.add(path, detail);
        return None;
    }
    let mut fields = Fields::of(problems, path, value)?;
    let what = fields.need(problems, "do", text)?;
    let step = match what.as_str() {
        "call" => call::call(problems, &mut fields).map(|call| Step::Call(Box::new(call))),
        "value" => self::value(problems, &mut fields),
        "sleep" => sleep(problems, &mut fields),
        "signal" => signal(problems, &mut fields),
        "parallel" => parallel(problems, &mut fields, level),
        "repeat" => repeat(problems, &mut fields, level),
        "save" => fields
            .require(problems, "cursor")
            .map(|cursor| Step::Save(Rc::new(cursor.clone()))),
        "child" => child(problems, &mut fields),
        "kv" => shared::keyed(problems, &mut fields),
        "lock" => {
            let path = fields.path("steps");
            let inner = shared::steps_of(problems, &mut fields);
            let inner = inner.map(|value| list(problems, &path, value, level.below()));
            shared::locked(problems, &mut fields, inner)
        }
        "wait" => fields
            .need(problems, "for", syntax::duration)
            .map(|ms| Step::Plain(Plain::Wait { ms })),
        "burn" => fields
            .need(problems, "for", burn_time)
            .map(|ms| Step::Plain(Plain::Burn { ms })),
        "fail" => fail(problems, &mut fields),
        "panic" => Some(Step::Plain(Plain::Panic)),
        other => {
            let detail = format!("got {}, wanted one of {KINDS}", quoted(other));
            problems.add(fields.path("do"), detail);
            return None;
        }
    };
    fields.close(problems);
    step
}

fn value(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<Step> {
    let name = fields.need(problems, "name", syntax::name);
    let value = fields.require(problems, "value");
    let (name, value) = (name?, Rc::new(value?.clone()));
    Some(Step::Value { name, value })
}

fn sleep(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<Step> {
    let name = fields.need(problems, "name", syntax::name);
    let (length, end) = (fields.take("for"), fields.take("until"));
    let time = match (length, end) {
        (Some(_), Some(_)) => {
            let detail = "stands beside `for`: a sleep has one of them";
            problems.add(fields.path("until"), detail);
            None
        }
        (Some(length), None) => problems
            .keep(&fields.path("for"), syntax::duration(length))
            .map(Time::For),
        (None, Some(end)) => problems
            .keep(&fields.path("until"), instant(end))
            .map(Time::Until),
        (None, None) => {
            problems.add(fields.path("for"), "is missing; wanted `for` or `until`");
            None
        }
    };
    let (name, time) = (name?, time?);
    Some(Step::Sleep { name, time })
}

fn signal(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<Step> {
    let name = fields.need(problems, "name", syntax::signal);
    let timeout_ms = fields.read(problems, "timeout", syntax::duration);
    name.map(|name| Step::Signal { name, timeout_ms })
}

fn parallel(problems: &mut Problems, fields: &mut Fields<'_>, level: Level) -> Option<Step> {
    let name = fields.need(problems, "name", syntax::name);
    let value = fields.require(problems, "branches")?;
    let path = fields.path("branches");
    let Value::Array(found) = value else {
        problems.add(path, format!("got {}, wanted a list of lists", kind(value)));
        return None;
    };
    if found.len() > MAX_BRANCHES {
        let detail = format!(
            "got {} branches, wanted at most {MAX_BRANCHES}",
            found.len()
        );
        problems.add(path, detail);
        return None;
    }
    let level = level.branches(name.as_deref().unwrap_or_default());
    if level.branch_bytes > MAX_BRANCH_BYTES {
        let got = level.branch_bytes;
        let detail = format!(
            "the names of the parallels around a step have {got} bytes here, wanted at most {MAX_BRANCH_BYTES}"
        );
        problems.add(fields.path("name"), detail);
        return None;
    }
    let mut branches = Vec::with_capacity(found.len());
    for (index, value) in found.iter().enumerate() {
        let path = format!("{path}[{index}]");
        branches.push(list(problems, &path, value, level));
    }
    name.map(|name| Step::Parallel { name, branches })
}

fn repeat(problems: &mut Problems, fields: &mut Fields<'_>, level: Level) -> Option<Step> {
    let name = fields.need(problems, "name", syntax::name);
    let times = fields.need(problems, "times", whole(0, MAX_TURNS));
    let path = fields.path("step");
    let turn = fields
        .require(problems, "step")
        .and_then(|value| step(problems, &path, value, level.below()));
    let (name, times, step) = (name?, times?, Box::new(turn?));
    Some(Step::Repeat { name, times, step })
}

fn child(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<Step> {
    let name = fields.need(problems, "name", syntax::name);
    let function = fields.need(problems, "function", syntax::function);
    let key = fields.need(problems, "key", syntax::key);
    let input = fields.require(problems, "input");
    Some(Step::Child(Box::new(Child {
        name: name?,
        function: function?,
        key: key?,
        input: input?.clone(),
    })))
}

fn burn_time(value: &Value) -> Result<u64, String> {
    match syntax::duration(value)? {
        ms if ms > MAX_BURN_MS => Err(format!(
            "got {ms} ms, wanted at most {MAX_BURN_MS} ms: nothing else runs meanwhile"
        )),
        ms => Ok(ms),
    }
}

fn fail(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<Step> {
    let retryable = fields.need(problems, "kind", |value| match value.as_str() {
        Some("retryable") => Ok(true),
        Some("terminal") => Ok(false),
        _ => Err(format!("got {}, wanted retryable or terminal", kind(value))),
    });
    let message = fields
        .read(problems, "message", text)
        .unwrap_or_else(|| "the program fails here".to_owned());
    Some(Step::Plain(Plain::Fail(if retryable? {
        Failure::retryable("lab_fail", message)
    } else {
        Failure::terminal("lab_fail", message)
    })))
}
