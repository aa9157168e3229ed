//! The flows of a release, and what an instance has heard of the others.

use super::ConfigProblem;
use crate::flow::model::Flow;
use crate::function::flow::{digest, prepare};
use crate::http::flows::{FlowName, Pointer};
use crate::limits::{FLOW_CACHE, FLOW_CACHE_MS, LISTENERS_CACHE_MS};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A flow that belongs to the release.
#[derive(Clone, Debug)]
pub struct Bundled {
    /// Its name.
    pub name: FlowName,
    /// Hexadecimal SHA-256 of its text.
    pub digest: String,
    /// Its text.
    pub text: String,
    /// What is in it.
    pub flow: Rc<Flow>,
}

/// What was heard of a flow, and when.
#[derive(Clone, Debug)]
struct Heard {
    at_ms: u64,
    pointer: Pointer,
}

/// The flows of a release. What is heard of revisions is remembered for a moment.
#[derive(Debug, Default)]
pub struct Flows {
    bundled: BTreeMap<FlowName, Bundled>,
    heard: RefCell<BTreeMap<FlowName, Heard>>,
    listening: RefCell<Option<(u64, Vec<FlowName>)>>,
}

impl Flows {
    /// Reads texts; everything that is wrong with any of them.
    pub(super) fn read(texts: &[String]) -> (Self, Vec<ConfigProblem>) {
        let (mut flows, mut problems) = (Self::default(), Vec::new());
        for (at, text) in texts.iter().enumerate() {
            let place = |name: Option<&str>| match name {
                Some(name) => format!("flow {name}"),
                None => format!("flow number {}", at + 1),
            };
            let flow = match prepare(text) {
                Ok(flow) => flow,
                Err(diagnostics) => {
                    let own = text.lines().find_map(|line| line.strip_prefix("id:"));
                    let place = place(own.map(str::trim));
                    problems.extend(
                        diagnostics
                            .iter()
                            .map(|one| ConfigProblem::new(place.clone(), one.to_string())),
                    );
                    continue;
                }
            };
            let Some(name) = FlowName::read(&flow.namespace, &flow.id) else {
                let why = "namespace and id together are too long for an address";
                problems.push(ConfigProblem::new(place(Some(&flow.id)), why));
                continue;
            };
            let bundled = Bundled {
                name: name.clone(),
                digest: digest(text),
                text: text.clone(),
                flow,
            };
            if flows.bundled.insert(name.clone(), bundled).is_some() {
                let place = place(Some(&name.to_string()));
                problems.push(ConfigProblem::new(place, "two flows have this name"));
            }
        }
        (flows, problems)
    }

    /// All of the release, by name.
    pub fn bundled(&self) -> impl Iterator<Item = &Bundled> {
        self.bundled.values()
    }

    /// One of the release.
    pub fn of_name(&self, name: &FlowName) -> Option<&Bundled> {
        self.bundled.get(name)
    }

    /// One of the release, by the digest of its text.
    pub fn of_digest(&self, digest: &str) -> Option<&Bundled> {
        self.bundled().find(|bundled| bundled.digest == digest)
    }

    /// Flows that were deployed at run time and wait for ends of executions, if that was heard lately; without a time, if
    /// it was ever heard.
    pub fn listening(&self, now_ms: Option<u64>) -> Option<Vec<FlowName>> {
        let listening = self.listening.borrow();
        let (at_ms, names) = listening.as_ref()?;
        let fresh =
            now_ms.is_none_or(|now_ms| (*at_ms..at_ms + LISTENERS_CACHE_MS).contains(&now_ms));
        fresh.then(|| names.clone())
    }

    /// Remembers that.
    pub fn listen(&self, names: &[FlowName], now_ms: u64) {
        *self.listening.borrow_mut() = Some((now_ms, names.to_vec()));
    }

    /// What was heard of a flow, if that was just now.
    pub fn heard(&self, name: &FlowName, now_ms: u64) -> Option<Pointer> {
        let heard = self.heard.borrow();
        let fresh = heard.get(name).filter(|heard| heard.is_fresh(now_ms));
        fresh.map(|heard| heard.pointer.clone())
    }

    /// Remembers what was heard of a flow.
    pub fn hear(&self, name: &FlowName, pointer: &Pointer, now_ms: u64) {
        let mut heard = self.heard.borrow_mut();
        if heard.len() >= FLOW_CACHE {
            heard.retain(|_, heard| heard.is_fresh(now_ms));
        }
        if heard.len() >= FLOW_CACHE {
            heard.clear();
        }
        let pointer = pointer.clone();
        heard.insert(
            name.clone(),
            Heard {
                at_ms: now_ms,
                pointer,
            },
        );
    }
}

impl Heard {
    fn is_fresh(&self, now_ms: u64) -> bool {
        (self.at_ms..self.at_ms + FLOW_CACHE_MS).contains(&now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &str = "id: hello\nnamespace: team\ntasks:\n  - {id: hi, type: io.kestra.plugin.core.log.Log, message: hi}\n";

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn flows_are_found_by_name_and_by_digest() {
        let (flows, problems) = Flows::read(&texts(&[HELLO]));
        assert!(problems.is_empty(), "{problems:?}");
        let name = FlowName::read("team", "hello").expect("a name");
        let hello = flows.of_name(&name).expect("bundled");
        assert_eq!(hello.text, HELLO);
        assert_eq!(
            flows.of_digest(&digest(HELLO)).map(|b| &b.name),
            Some(&name)
        );
        assert_eq!(flows.bundled().count(), 1);
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let bad = "id: bad\nnamespace: team\ntasks:\n  - {id: a, type: io.kestra.plugin.core.log.Log, massage: hi}\n";
        let long = HELLO.replace("id: hello", &format!("id: {}", "x".repeat(195)));
        let (_, problems) = Flows::read(&texts(&[HELLO, bad, "tasks: 1", HELLO, &long]));
        let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let told = listed.join("\n");
        for part in [
            "flow bad",
            "massage",
            "flow number 3",
            "two flows have this name",
            "too long",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    #[test]
    fn what_was_heard_is_forgotten_soon() {
        let flows = Flows::default();
        let name = FlowName::read("team", "hello").expect("a name");
        let pointer = Pointer::default().with_bundled("d", 1).expect("new");
        flows.hear(&name, &pointer, 10_000);
        assert_eq!(
            flows.heard(&name, 10_000 + FLOW_CACHE_MS - 1),
            Some(pointer)
        );
        assert_eq!(flows.heard(&name, 10_000 + FLOW_CACHE_MS), None);
        assert_eq!(flows.heard(&name, 9_999), None, "a clock that stepped back");
        for n in 0..=FLOW_CACHE {
            let other = FlowName::read("team", &format!("f{n}")).expect("a name");
            flows.hear(&other, &Pointer::default(), 10_000);
        }
        assert!(flows.heard.borrow().len() <= FLOW_CACHE);
    }
}
