//! The bounds of the search: what each is about, and how much of everything may happen in it.

use crate::machine::Bound;
use crate::mutants::Mutant;
use crate::object::Setting;
use crate::sights::Sights;
use crate::world::Left;

/// `wide`: what `make model` searches.
pub fn bounds(mutant: Option<Mutant>, wide: bool, sights: &Sights) -> Vec<(&'static str, Bound)> {
    let setting = Setting {
        mutant,
        undo: false,
        waits: false,
        d1: false,
        sights: sights.clone(),
    };
    let mut all = slices(u8::from(wide), &setting);
    all.extend(ends(u8::from(wide), &setting));
    all
}

fn least() -> Left {
    Left {
        same: 1,
        ticks: 2,
        ..Left::default()
    }
}

/// Who may act, and when.
fn slices(more: u8, setting: &Setting) -> Vec<(&'static str, Bound)> {
    let bound = |left: Left| Bound {
        left,
        setting: setting.clone(),
    };
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
    vec![
        ("slices: crashed and doubled", bound(crashed)),
        (
            "attempts: failures, suspensions, lost leases",
            bound(attempts),
        ),
        ("clock: steps back; alarm early, twice, lost", bound(clock)),
        ("old slices beside a new task", bound(old)),
    ]
}

/// How a task ends, and is forgotten.
fn ends(more: u8, setting: &Setting) -> Vec<(&'static str, Bound)> {
    let retention = Left {
        same: 2,
        late: 1,
        back: more,
        ..least()
    };
    let cancel = Left {
        cancel: 1,
        fail: more,
        fatal: 1,
        crash: 1,
        ..least()
    };
    let signal = Left {
        signal: 1 + more,
        double: more,
        crash: 1,
        ..least()
    };
    let with = |left: Left, d1: bool, undo: bool, waits: bool| Bound {
        left,
        setting: Setting {
            undo,
            waits,
            d1,
            ..setting.clone()
        },
    };
    vec![
        (
            "retention: late writes to D1, the key used again",
            with(retention, true, false, false),
        ),
        ("cancel and undo", with(cancel, false, true, false)),
        ("signal", with(signal, false, false, true)),
    ]
}
