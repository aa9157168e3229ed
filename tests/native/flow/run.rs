//! Runs a case as it stands.

use super::case::{Case, json};
use super::{check, diagnostics, world};
use onceward::testing::{FlowBench, FlowRefusal};

/// What came of the deliveries.
pub struct Ran {
    pub bench: FlowBench,
    /// Each delivery: its execution, or why there is none.
    pub came: Vec<Result<String, FlowRefusal>>,
}

impl Ran {
    /// The last execution.
    pub fn last(&self) -> Option<&str> {
        self.came.iter().rev().find_map(|came| came.as_ref().ok()).map(String::as_str)
    }
}

/// Everything that is not as the case says.
pub fn run(case: &Case) -> Vec<String> {
    let bench = match (world::bench(case), case.is_about_loading()) {
        (Ok(bench), false) => bench,
        (Ok(_), true) => return vec!["the flow was loaded".to_owned()],
        (Err(found), true) => {
            let expect = &case.expect;
            let mut wrong = Vec::new();
            if let Some(expected) = &expect.diagnostics {
                wrong.extend(diagnostics::all(&found, expected));
            }
            if let Some(expected) = &expect.diagnostics_include {
                wrong.extend(diagnostics::some(&found, expected));
            }
            return wrong;
        }
        (Err(found), false) => {
            return found.iter().map(|problem| format!("not loaded: {problem}")).collect();
        }
    };
    let mut ran = Ran { bench, came: Vec::new() };
    for delivery in case.deliveries() {
        if delivery.after_ms > 0 {
            ran.bench.bench().run_for(delivery.after_ms);
        }
        ran.came.push(ran.bench.deliver(world::delivery(case, &delivery)));
        if !delivery.together {
            ran.bench.run_until_idle();
            signals(case, &mut ran);
        }
    }
    check::check(case, &mut ran)
}

/// Each signal when nothing goes on by itself.
fn signals(case: &Case, ran: &mut Ran) {
    let Some(id) = ran.last().map(str::to_owned) else {
        return;
    };
    for signal in &case.signal {
        let payload = json(signal.payload.as_deref().unwrap_or("{}"));
        ran.bench.signal(&id, &signal.name, &payload);
        ran.bench.run_until_idle();
    }
}
