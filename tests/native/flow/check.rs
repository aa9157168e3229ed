//! Compares what came of a case with what it says.

use super::case::{AnswerIs, Case, Expect, Refused, Request, data, json};
use super::run::Ran;
use super::world;
use onceward::testing::Sent;
use serde_json::Value;
use std::collections::BTreeMap;

/// What differs.
struct Checked {
    id: String,
    wrong: Vec<String>,
}

impl Checked {
    /// With the id of the execution in place.
    fn filled(&self, text: &str) -> String {
        text.replace("{execution.id}", &self.id)
    }

    fn filled_value(&self, value: &Value) -> Value {
        json(&self.filled(&value.to_string()))
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, found: &T, expected: &T) {
        if found != expected {
            self.wrong.push(format!("{what}: found {found:?}"));
            self.wrong.push(format!(
                "{}  expected {expected:?}",
                " ".repeat(what.len().saturating_sub(1))
            ));
        }
    }

    fn require(&mut self, holds: bool, wrong: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(wrong());
        }
    }

    /// Whether a part is in a text, in any case of letters.
    fn contains(&mut self, what: &str, text: &str, part: &str) {
        let part = self.filled(part);
        let found = text.to_lowercase().contains(&part.to_lowercase());
        self.require(found, || format!("{what}: {part:?} is not in {text:?}"));
    }
}

/// Everything that is not as the case says.
pub fn check(case: &Case, ran: &mut Ran) -> Vec<String> {
    let expect = &case.expect;
    let id = ran.last().unwrap_or_default().to_owned();
    let mut checked = Checked {
        id,
        wrong: Vec::new(),
    };
    states(&mut checked, expect, ran);
    refused(&mut checked, expect, ran);
    if ran.last().is_some() {
        runs(&mut checked, expect, ran);
        logs(&mut checked, expect, ran);
        answer(&mut checked, expect, ran);
        secrets(&mut checked, expect, ran);
    }
    requests(&mut checked, expect, &ran.bench.requests());
    keys(&mut checked, expect, ran);
    if !checked.wrong.is_empty() && ran.last().is_some() {
        checked
            .wrong
            .push(format!("execution: {}", ran.bench.execution(&checked.id)));
    }
    checked.wrong
}

fn states(checked: &mut Checked, expect: &Expect, ran: &mut Ran) {
    let ids: Vec<String> = ran
        .came
        .iter()
        .filter_map(|came| came.as_ref().ok().cloned())
        .collect();
    let found: Vec<String> = ids
        .iter()
        .map(|id| world::state(&mut ran.bench, id))
        .collect();
    if let Some(state) = &expect.state {
        checked.same(
            "state",
            &found.last().map_or("none", String::as_str),
            &state.as_str(),
        );
    }
    if let Some(states) = &expect.states {
        checked.same("states", &found, states);
    }
    if expect.same_execution {
        checked.require(ids.windows(2).all(|two| two[0] == two[1]), || {
            format!("executions {ids:?}")
        });
    }
    if let Some(executions) = expect.executions {
        let last = ran.last().map(str::to_owned);
        let found = world::executions(&mut ran.bench, last.as_deref());
        checked.same("executions", &found, &executions);
    }
}

fn refused(checked: &mut Checked, expect: &Expect, ran: &Ran) {
    let last = ran
        .came
        .last()
        .and_then(|came| came.as_ref().err())
        .map(world::refusal);
    match (&expect.refused, last) {
        (None, Some((204, _)))
            if expect
                .answer
                .as_ref()
                .is_some_and(|answer| answer.status == 204) => {}
        (None, Some(why)) => {
            // A delivery that is not meant is one that the case may leave out of its count.
            let counted = why.0 == 204 && expect.executions.is_some();
            checked.require(counted, || format!("refused: {why:?}"));
        }
        (Some(_), None) => checked
            .wrong
            .push("the delivery was not refused".to_owned()),
        (
            Some(Refused {
                status,
                contains,
                contains_not,
            }),
            Some((found, said)),
        ) => {
            checked.require(status.is_none_or(|status| status == found), || {
                format!("refused with {found}")
            });
            for part in contains {
                checked.contains("refused", &said, part);
            }
            for part in contains_not {
                checked.require(!said.contains(part.as_str()), || {
                    format!("refused: {part:?} is in {said:?}")
                });
            }
        }
        (None, None) => {}
    }
}

fn lines(ran: &Ran, id: &str) -> Vec<String> {
    let execution = ran.bench.execution(id);
    let runs = execution["taskRunList"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let line = |run: &Value| {
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let value = run.get("value").map(|value| format!("[{}]", text(value)));
        let (id, state) = (text(&run["taskId"]), text(&run["state"]["current"]));
        format!("{id}{} {state}", value.unwrap_or_default())
    };
    runs.iter().map(line).collect()
}

fn runs(checked: &mut Checked, expect: &Expect, ran: &mut Ran) {
    let id = checked.id.clone();
    let found = lines(ran, &id);
    if let Some(expected) = &expect.task_runs {
        checked.same("task runs", &found, expected);
    }
    if let Some(expected) = &expect.task_runs_any {
        checked.same("task runs in any order", &sorted(&found), &sorted(expected));
    }
    let execution = ran.bench.execution(&id);
    if let Some(expected) = &expect.outputs {
        let expected = checked.filled_value(&data(expected));
        checked.same("outputs", &execution["outputs"], &expected);
    }
    if let Some(expected) = &expect.task_outputs {
        for (task, expected) in data(expected).as_object().into_iter().flatten() {
            let expected = checked.filled_value(expected);
            let runs = execution["taskRunList"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let run = runs.iter().find(|run| run["taskId"] == task.as_str());
            let found = run.map(|run| run["outputs"].clone()).unwrap_or_default();
            checked.require(is_part(&expected, &found), || {
                format!("outputs of {task}: {found} instead of {expected}")
            });
        }
    }
    let labels: BTreeMap<String, String> = execution["labels"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|label| {
            let text = |name: &str| label[name].as_str().unwrap_or_default().to_owned();
            (text("key"), text("value"))
        })
        .collect();
    for (name, expected) in &expect.labels {
        checked.same(&format!("label {name}"), &labels.get(name), &Some(expected));
    }
    let journal = world::journal(&mut ran.bench, &id);
    for (task, expected) in &expect.attempts {
        let record = journal
            .iter()
            .filter(|record| record.id.name == *task)
            .max_by_key(|record| record.tries);
        checked.same(
            &format!("tries of {task}"),
            &record.map(|record| record.tries),
            &Some(*expected),
        );
    }
    let failure = world::task(&mut ran.bench, &id).and_then(|task| task.failure);
    let said = failure
        .map(|failure| format!("{}: {}", failure.code, failure.message))
        .unwrap_or_default();
    let said = format!("{said}\n{}", execution["error"]);
    for part in &expect.error_contains {
        checked.contains("error", &said, part);
    }
}

fn logs(checked: &mut Checked, expect: &Expect, ran: &mut Ran) {
    let found = ran.bench.logs(&checked.id);
    if let Some(expected) = &expect.logs {
        checked.same("logs", &found, expected);
    }
    for line in &expect.logs_include {
        checked.require(found.contains(line), || {
            format!("no line {line:?} in {found:?}")
        });
    }
    for line in &expect.no_logs {
        checked.require(!found.contains(line), || {
            format!("line {line:?} in {found:?}")
        });
    }
    if let Some(expected) = &expect.all_logs {
        let mut all = Vec::new();
        for id in ran.came.iter().flatten() {
            all.extend(ran.bench.logs(id));
        }
        checked.same("logs of all", &sorted(&all), &sorted(expected));
    }
}

fn answer(checked: &mut Checked, expect: &Expect, ran: &mut Ran) {
    let task = world::task(&mut ran.bench, &checked.id);
    let failed = task
        .and_then(|task| task.failure?.answer)
        .map(|answer| *answer);
    let found = ran.bench.answer(&checked.id).or(failed);
    for name in &expect.no_header {
        let has = found
            .as_ref()
            .is_some_and(|answer| answer.headers.get(name).is_some());
        checked.require(!has, || format!("the answer has a field {name}"));
    }
    let Some(AnswerIs {
        status,
        headers,
        content_type,
        body,
        body_json,
        body_contains,
    }) = &expect.answer
    else {
        return;
    };
    if *status == 204 && ran.came.last().is_some_and(Result::is_err) {
        return;
    }
    let Some(found) = found else {
        checked.wrong.push("no answer is stored".to_owned());
        return;
    };
    checked.same("status", &found.status, status);
    for (name, value) in headers {
        checked.same(name, &found.headers.get(name), &Some(value.as_str()));
    }
    if let Some(expected) = content_type {
        let found = found
            .headers
            .get("content-type")
            .unwrap_or_default()
            .to_owned();
        checked.require(found.starts_with(expected.as_str()), || {
            format!("content-type {found:?}")
        });
    }
    let text = String::from_utf8_lossy(&found.body).into_owned();
    if let Some(expected) = body {
        let expected = checked.filled(expected);
        checked.same("body", &text, &expected);
    }
    if let Some(expected) = body_json {
        let expected = json(&checked.filled(expected));
        checked.same("body", &serde_json::from_str(&text).ok(), &Some(expected));
    }
    for part in body_contains {
        checked.contains("body", &text, part);
    }
}

/// Neither records nor answers nor logs hold a secret.
fn secrets(checked: &mut Checked, expect: &Expect, ran: &mut Ran) {
    let id = checked.id.clone();
    let journal = serde_json::to_string(&world::journal(&mut ran.bench, &id)).expect("JSON");
    let task = format!("{:?}", world::task(&mut ran.bench, &id));
    let answer = ran.bench.answer(&id).map(|answer| {
        format!(
            "{:?} {}",
            answer.headers,
            String::from_utf8_lossy(&answer.body)
        )
    });
    let places = [
        ("records", journal),
        ("the task", task),
        ("the answer", answer.unwrap_or_default()),
        ("the document", ran.bench.execution(&id).to_string()),
        ("logs", ran.bench.logs(&id).join("\n")),
    ];
    for secret in &expect.nowhere {
        for (place, text) in &places {
            checked.require(!text.contains(secret.as_str()), || {
                format!("{secret:?} is in {place}: {text}")
            });
        }
    }
}

fn requests(checked: &mut Checked, expect: &Expect, sent: &[Sent]) {
    if let Some(expected) = &expect.requests {
        in_order(checked, expected, sent);
    }
    if let Some(expected) = &expect.requests_any {
        let found: Vec<String> = sent.iter().map(line).collect();
        let expected: Vec<String> = expected.iter().map(expected_line).collect();
        checked.same("requests in any order", &sorted(&found), &sorted(&expected));
    }
    if let Some(expected) = expect.at_once {
        let open = |at: u64| {
            sent.iter()
                .filter(|s| s.at_ms <= at && at < s.answered_ms)
                .count()
        };
        let most = sent.iter().map(|s| open(s.at_ms)).max().unwrap_or(0);
        checked.same("requests at once", &most, &expected);
    }
    if let Some(expected) = &expect.derived_keys {
        let mut known: Vec<&str> = Vec::new();
        let mut found = Vec::new();
        for s in sent {
            let at = known.iter().position(|key| *key == s.key());
            found.push(at.unwrap_or(known.len()));
            if at.is_none() {
                known.push(s.key());
            }
        }
        checked.same("derived keys", &found, expected);
    }
    if let Some(expected) = &expect.gaps_ms {
        let found: Vec<u64> = sent
            .windows(2)
            .map(|two| two[1].at_ms - two[0].answered_ms)
            .collect();
        // A wait that suspends the task costs some messages.
        let near =
            |(found, wanted): (&u64, &u64)| (*wanted..=wanted + wanted / 10 + 500).contains(found);
        let fits = found.len() == expected.len() && found.iter().zip(expected).all(near);
        checked.require(fits, || {
            format!("pauses {found:?}, expected about {expected:?}")
        });
    }
}

fn in_order(checked: &mut Checked, expected: &[Request], sent: &[Sent]) {
    let found: Vec<String> = sent.iter().map(line).collect();
    let wanted: Vec<String> = expected
        .iter()
        .map(|request| checked.filled(&expected_line(request)))
        .collect();
    checked.same("requests", &found, &wanted);
    for (request, sent) in expected.iter().zip(sent) {
        let Request::Whole(whole) = request else {
            continue;
        };
        let what = line(sent);
        for (name, value) in &whole.headers {
            checked.same(
                &format!("{name} of {what}"),
                &sent.request.headers.get(name),
                &Some(value.as_str()),
            );
        }
        let body = String::from_utf8_lossy(&sent.request.body).into_owned();
        if let Some(expected) = &whole.body {
            let expected = checked.filled(expected);
            checked.same(&format!("body of {what}"), &body, &expected);
        }
        if let Some(expected) = &whole.body_json {
            let expected = json(&checked.filled(expected));
            checked.same(
                &format!("body of {what}"),
                &serde_json::from_str(&body).ok(),
                &Some(expected),
            );
        }
    }
}

fn line(sent: &Sent) -> String {
    format!("{} {}", sent.request.method, sent.request.url)
}

fn expected_line(request: &Request) -> String {
    match request {
        Request::Line(line) => line.clone(),
        Request::Whole(whole) => format!("{} {}", whole.method, whole.url),
    }
}

fn keys(checked: &mut Checked, expect: &Expect, ran: &Ran) {
    for key in &expect.kv {
        let expected = checked.filled_value(&key.value);
        let found = ran.bench.kv_get(&key.namespace, &key.key);
        checked.same(
            &format!("key {} {}", key.namespace, key.key),
            &found,
            &Some(expected),
        );
    }
    for key in &expect.kv_contains {
        let found = ran
            .bench
            .kv_get(&key.namespace, &key.key)
            .unwrap_or_default()
            .to_string();
        checked.contains(
            &key.key,
            &found,
            key.contains.as_deref().unwrap_or_default(),
        );
    }
    for key in &expect.kv_missing {
        let found = ran.bench.kv_get(&key.namespace, &key.key);
        checked.require(found.is_none(), || format!("key {} is {found:?}", key.key));
    }
}

/// Whether everything that is expected is there: of maps only the named parts.
fn is_part(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => expected
            .iter()
            .all(|(name, value)| is_part(value, found.get(name).unwrap_or(&Value::Null))),
        _ => expected == found,
    }
}

fn sorted(list: &[String]) -> Vec<String> {
    let mut list = list.to_vec();
    list.sort();
    list
}
