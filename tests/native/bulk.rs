//! The function that carries out an operation on many tasks: page by page, and on from where it was.

use onceward::function::bulk::bulk;
use onceward::http::bulk::{Operation, Order, Report};
use onceward::protocol::State;
use onceward::testing::{Action, Bench};
use onceward::types::Input;

fn order(most: u64) -> Input {
    let order = Order {
        operation: Operation::Retry,
        query: "state=failed".into(),
        before_ms: 9,
        most,
        tenant: String::new(),
        by: "default".into(),
    };
    Input {
        body: serde_json::to_vec(&order).expect("JSON"),
        ..Input::default()
    }
}

fn page(matched: u64, next: Option<&str>) -> Report {
    Report {
        matched,
        done: matched,
        next_cursor: next.map(str::to_owned),
        ..Report::default()
    }
}

fn ran(bench: Bench, most: u64) -> Bench {
    let mut bench = bench;
    bench.deliver("k", order(most)).expect("accepted");
    bench.run_until_idle();
    bench
}

fn report(bench: &Bench) -> Report {
    serde_json::from_slice(&bench.answer("k").expect("an answer").body).expect("a report")
}

#[test]
fn pages_follow_each_other_until_there_is_none() {
    let pages = [page(20, Some("a")), page(0, Some("b")), page(3, None)];
    let bench = ran(Bench::new(bulk()).reports(pages), 1_000);
    assert_eq!(report(&bench), page(23, None));
    let after: Vec<_> = bench
        .pages()
        .iter()
        .map(|page| page.after.clone())
        .collect();
    assert_eq!(after, [None, Some("a".into()), Some("b".into())]);
    assert_eq!(bench.task("k").expect("a task").state, State::Succeeded);
}

#[test]
fn no_more_are_taken_than_was_said() {
    let pages = [page(20, Some("a")), page(5, Some("b"))];
    let bench = ran(Bench::new(bulk()).reports(pages), 25);
    assert_eq!(
        bench
            .pages()
            .iter()
            .map(|page| page.most)
            .collect::<Vec<_>>(),
        [20, 5]
    );
    assert_eq!(report(&bench).matched, 25);
}

/// Whatever dies, every page that was reported is counted once and none is left out.
#[test]
fn a_crash_goes_on_behind_the_last_page_on_record() {
    for action in [Action::Record, Action::Finish] {
        for nth in 0..3 {
            for after in [false, true] {
                let pages = [page(20, Some("a")), page(20, Some("b")), page(2, None)];
                let bench = Bench::new(bulk()).reports(pages);
                let bench = if after {
                    bench.crash_after(action, nth)
                } else {
                    bench.crash_before(action, nth)
                };
                let bench = ran(bench, 1_000);
                let asked: Vec<_> = bench
                    .pages()
                    .iter()
                    .map(|page| page.after.clone())
                    .collect();
                let mut places = asked.clone();
                places.dedup();
                let wanted = [None, Some("a".to_owned()), Some("b".to_owned())];
                assert_eq!(places, wanted, "{action:?} {nth} {after}: {asked:?}");
                assert_eq!(report(&bench), page(42, None));
            }
        }
    }
}
