//! Programs of the lab: the body of a delivery.

use super::input::is_whole;
use onceward::function::{Function, Input};
use onceward::http::code::Code;
use onceward::http::problem::{Cause, Problem};

/// As many as are shown, and one line for the rest.
const MOST: usize = 101;

thread_local! {
    static LAB: Function = onceward::functions::all()
        .into_iter()
        .find(|function| function.name() == "lab")
        .expect("a lab build");
}

pub fn check(data: &[u8]) {
    let input = Input {
        body: data.to_vec(),
        ..Input::default()
    };
    LAB.with(|lab| match lab.check(&input) {
        Ok(checked) => {
            let policy = checked.policy.unwrap_or_default();
            assert_eq!(
                policy.problems(),
                Vec::<String>::new(),
                "a policy that was accepted"
            );
            assert!(lab.check(&input).is_ok());
        }
        Err(problems) => {
            assert!((1..=MOST).contains(&problems.len()));
            assert!(problems.iter().all(|p| !p.detail.is_empty()));
            let causes = problems.iter().map(|p| Cause {
                detail: p.detail.clone(),
                pointer: p.path.clone(),
            });
            is_whole(&Problem::new(Code::InputInvalid, "x").errors(causes.collect()));
        }
    });
}
