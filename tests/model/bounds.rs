//! The bounds of the search: what each is about, and how much of everything may happen in it.

use crate::machine::Bound;
use crate::mutants::Mutant;
use crate::object::{Setting, Waits};
use crate::sights::Sights;
use crate::world::{Left, Pace};
use onceward::limits;
use onceward::types::Keeps;

/// `wide`: what `make model` searches.
pub fn bounds(
    mutant: Option<Mutant>,
    wide: bool,
    sights: &Sights,
    only: Option<&'static str>,
) -> Vec<(&'static str, Bound)> {
    let plain = Bound {
        left: Left::default(),
        pace: Pace::EVEN,
        setting: Setting {
            mutant,
            undo: false,
            waits: Waits::No,
            d1: false,
            parent: false,
            keeps: Keeps::All,
            sights: sights.clone(),
        },
        only,
    };
    let more = u8::from(wide);
    let mut all = slices(more, &plain);
    all.extend(ends(more, &plain));
    all.extend(operators(more, &plain));
    all.extend(waits(more, &plain));
    all.extend(others(more, &plain));
    all
}

fn least() -> Left {
    Left {
        same: 1,
        ticks: 2,
        ..Left::default()
    }
}

fn with(plain: &Bound, left: Left, set: impl Fn(&mut Setting)) -> Bound {
    let mut bound = Bound {
        left,
        ..plain.clone()
    };
    set(&mut bound.setting);
    bound
}

/// Who may act, and when.
fn slices(more: u8, plain: &Bound) -> Vec<(&'static str, Bound)> {
    let bound = |left: Left| with(plain, left, |_| ());
    let crashed = Left {
        other: 1,
        crash: more,
        double: 1,
        ticks: 1 + more,
        ..least()
    };
    let attempts = Left {
        fail: 1,
        suspend: 1,
        double: 1,
        ticks: 2 + more,
        ..least()
    };
    let clock = Left {
        same: 1 + more,
        alarm: 1,
        back: 1,
        crash: 1,
        ..least()
    };
    let old = Left {
        same: 2,
        double: 1 + more,
        delete: 1,
        ticks: more,
        ..least()
    };
    let skew = Left {
        skew: 2,
        ticks: 6 + more,
        ..least()
    };
    vec![
        ("slices: crashed and doubled", bound(crashed)),
        (
            "attempts: failures, suspensions, lost leases",
            bound(attempts),
        ),
        ("clock: steps back; alarm early, twice, lost", bound(clock)),
        ("old slices beside a new task", bound(old)),
        (
            "skew: clocks of slices run slow and fast",
            Bound {
                pace: skewed(),
                ..bound(skew)
            },
        ),
    ]
}

/// The shortest lease that has its whole margin, in steps of that margin. A slice stops by its own
/// clock at the lease's end less the margin, as `platform` has it; that clock is off by a margin.
fn skewed() -> Pace {
    let tick = limits::LEASE_MARGIN_MS;
    let lease = 4;
    let margin = limits::LEASE_MARGIN_MS.min(u64::from(lease) * tick / 4);
    Pace {
        tick,
        lease,
        margin: u16::try_from(margin / tick).unwrap_or(0),
    }
}

/// How a task ends, and is forgotten.
fn ends(more: u8, plain: &Bound) -> Vec<(&'static str, Bound)> {
    let retention = Left {
        same: 2,
        late: 1,
        back: more,
        ticks: 1 + more,
        ..least()
    };
    let deletion = Left {
        same: 2,
        delete: 2,
        late: more,
        crash: more,
        ticks: 0,
        ..least()
    };
    let less = Left {
        same: 2,
        fatal: 1,
        stuck: 1,
        back: more,
        ticks: 2,
        ..least()
    };
    let cancel = Left {
        cancel: 1,
        fail: more,
        fatal: 1,
        crash: more,
        ..least()
    };
    let undoing = Left {
        fatal: 1,
        double: more,
        crash: 1,
        stuck: 1,
        ..least()
    };
    vec![
        (
            "retention: late writes to D1, the key used again",
            with(plain, retention, |s| s.d1 = true),
        ),
        (
            "deletion, and the key used again",
            with(plain, deletion, |s| s.d1 = true),
        ),
        (
            "less is kept: keys that are free or used up",
            with(plain, less, |s| (s.keeps, s.undo) = (Keeps::Success, true)),
        ),
        ("cancel", with(plain, cancel, |s| s.undo = true)),
        (
            "undoing, handler by handler",
            with(plain, undoing, |s| s.undo = true),
        ),
    ]
}

/// What operators do with what has ended.
fn operators(more: u8, plain: &Bound) -> Vec<(&'static str, Bound)> {
    let retry = Left {
        fatal: 1,
        retry: 1 + more,
        parked: 1,
        double: 1,
        ticks: 1 + more,
        ..least()
    };
    let from = Left {
        fatal: 1,
        from: 1,
        retry: 1,
        double: more,
        ..least()
    };
    let undo = Left {
        same: 2,
        undo: 1,
        double: 1,
        ticks: 1 + more,
        ..least()
    };
    let restart = Left {
        same: 2,
        fail: 2,
        retry: more,
        stuck: 1,
        ticks: 1 + more,
        ..least()
    };
    vec![
        ("retry, sent twice", with(plain, retry, |_| ())),
        (
            "from a step on, beside an old slice",
            with(plain, from, |_| ()),
        ),
        ("undo of a success", with(plain, undo, |s| s.undo = true)),
        (
            "restart of what was undone",
            with(plain, restart, |s| s.undo = true),
        ),
    ]
}

/// What a task waits for.
fn waits(more: u8, plain: &Bound) -> Vec<(&'static str, Bound)> {
    let signal = Left {
        signal: 2,
        double: more,
        crash: 1,
        ..least()
    };
    let until = Left {
        signal: 1,
        double: more,
        crash: 1,
        ..least()
    };
    let nap = Left {
        signal: 1,
        double: 1,
        cancel: 1,
        ticks: 1 + more,
        ..least()
    };
    let sleep = Left {
        back: 1,
        double: more,
        crash: 1,
        ticks: 2 + more,
        ..least()
    };
    let both = Left {
        signal: 1,
        crash: 1,
        double: more,
        ..least()
    };
    let saves = Left {
        save: 3,
        double: 1,
        suspend: 1,
        crash: more,
        ticks: 1,
        ..least()
    };
    let waits = |left: Left, waits: Waits| with(plain, left, |s| s.waits = waits);
    vec![
        ("signal", waits(signal, Waits::Signal)),
        ("deadline of a signal", waits(until, Waits::Until)),
        (
            "naps: two waits of one slice",
            with(plain, nap, |s| (s.waits, s.undo) = (Waits::Nap, true)),
        ),
        ("sleep", waits(sleep, Waits::Sleep)),
        ("both: a signal and a sleep", waits(both, Waits::Both)),
        ("progress that is saved", with(plain, saves, |_| ())),
    ]
}

/// Other generations, and other tasks.
fn others(more: u8, plain: &Bound) -> Vec<(&'static str, Bound)> {
    let again = Left {
        again: 1,
        fatal: 1,
        double: more,
        ticks: 1,
        ..least()
    };
    let parent = Left {
        fail: 1,
        suspend: 2,
        cancel: 1,
        late: 1 + more,
        ticks: 2,
        ..least()
    };
    let child = Left {
        child: 1,
        cancel: 1,
        fatal: 1,
        retry: 1,
        late: 1,
        double: more,
        ticks: 1,
        ..least()
    };
    vec![
        (
            "continued as another",
            with(plain, again, |s| s.undo = true),
        ),
        ("as a child", with(plain, parent, |s| s.parent = true)),
        (
            "with a child",
            with(plain, child, |s| s.waits = Waits::Child),
        ),
    ]
}
