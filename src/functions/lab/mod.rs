//! `lab`: runs a small program that comes as the request's body, so that anybody can try the runtime
//! over HTTP. In lab builds only. `docs/lab.md` describes the language.
//!
//! | file | does |
//! |---|---|
//! | `program` | what a program is, once it is known to be right |
//! | `walk` | reads JSON and collects every problem with its path |
//! | `parse` | the whole and the answer |
//! | `steps` | the steps, nested ones as well |
//! | `call` | the step that sends a request |
//! | `syntax` | durations, URLs, headers and the like |
//! | `instant` | points in time |
//! | `config` | the policy of a program |
//! | `run` | runs it |
//! | `send` | its requests |
//! | `shared` | its keys and locks |
//! | `progress`, `outcomes` | its saves, and what came of its steps |
//! | `burn` | its use of the processor |
//! | `answer` | its answer |

mod answer;
mod burn;
mod call;
mod config;
mod instant;
mod outcomes;
mod parse;
mod program;
mod progress;
mod run;
mod send;
mod shared;
mod steps;
mod syntax;
mod walk;

use crate::function::{
    AfterExpiry, CallRules, Checked, Ctx, Failure, Function, Input, InputProblem, Keeps,
    KeyPattern, KeySyntax, Profile, Raw,
};
use program::Program;

pub(super) fn function(name: &str) -> Function {
    send::with_undo(Function::new(name, lab).checked_by(check))
}

/// Settings that no profile has: for trying each of them.
pub(super) fn strict() -> CallRules {
    CallRules {
        key: KeySyntax::Strict,
        key_pattern: KeyPattern::new("A-Za-z0-9_.:-", 16, 64).ok(),
        status_mismatch: 409,
        status_in_flight: 425,
        status_missing: 428,
        keeps: Some(Keeps::Success),
        after_expiry: Some(AfterExpiry::Gone {
            tombstone_ms: 3_600_000,
        }),
        accepts: vec!["application/json".to_owned()],
        ..Profile::Ietf.rules()
    }
}

fn check(input: &Input) -> Result<Checked, Vec<InputProblem>> {
    let Program { policy, .. } = parse::program(&input.body)?;
    Ok(Checked { policy })
}

async fn lab(ctx: Ctx, input: Input) -> Result<Raw, Failure> {
    // It was checked when the delivery came in: only another version of this code can refuse it now.
    let program = parse::program(&input.body).map_err(|problems| {
        let texts: Vec<String> = problems
            .iter()
            .map(|p| format!("{}: {}", p.path, p.detail))
            .collect();
        Failure::terminal("input_invalid", texts.join("; "))
    })?;
    run::run(ctx, program).await
}
