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
        self.came
            .iter()
            .rev()
            .find_map(|came| came.as_ref().ok())
            .map(String::as_str)
    }
}

/// Everything that is not as the case says. One that is known not to pass has to be marked so, and only then.
pub fn run(case: &Case) -> Vec<String> {
    let wrong = ran(case);
    match &case.pending {
        None => wrong,
        Some(why) if wrong.is_empty() => {
            vec![format!("it passes: it is no longer pending ({why})")]
        }
        Some(_) => Vec::new(),
    }
}

fn ran(case: &Case) -> Vec<String> {
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
            return found
                .iter()
                .map(|problem| format!("not loaded: {problem}"))
                .collect();
        }
    };
    let mut ran = Ran {
        bench,
        came: Vec::new(),
    };
    for delivery in case.deliveries() {
        if delivery.after_ms > 0 {
            ran.bench.bench().run_for(delivery.after_ms);
        }
        ran.came
            .push(ran.bench.deliver(world::delivery(case, &delivery)));
        if !delivery.together {
            signals(case, &mut ran);
        }
    }
    check::check(case, &mut ran)
}

/// Seconds within which an execution has to wait for a signal.
const PATIENCE: usize = 100_000;

/// Each signal as soon as it is waited for.
fn signals(case: &Case, ran: &mut Ran) {
    let Some(id) = ran.last().map(str::to_owned) else {
        return;
    };
    for signal in &case.signal {
        for _ in 0..PATIENCE {
            if world::waits_for(&mut ran.bench, &id, &signal.name) {
                break;
            }
            ran.bench.bench().run_for(1_000);
        }
        let payload = json(signal.payload.as_deref().unwrap_or("{}"));
        ran.bench.signal(&id, &signal.name, &payload);
    }
    ran.bench.run_until_idle();
}
