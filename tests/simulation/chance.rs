//! What the seed decides. Each decision has a name of its own (who, where, how often before), and depends on
//! nothing else: so taking one fault away leaves the others where they were, as far as the run still gets there.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Something that goes wrong with one effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Whoever wanted it dies before.
    CrashBefore,
    /// It happens, and whoever wanted it dies before it hears of that.
    CrashAfter,
    /// It does not happen.
    Fail,
    /// It happens, and whoever wanted it is told that it failed.
    ApplyThenFail,
    /// It happens, but late.
    Stall(u64),
    /// It happens twice, the second time later.
    Double,
    /// The other side has too much to do.
    Overloaded,
    /// The other side starts anew just before.
    Reset,
    /// It is lost without a word.
    Lose,
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Self::CrashBefore => "crash before",
            Self::CrashAfter => "crash after",
            Self::Fail => "fail",
            Self::ApplyThenFail => "apply then fail",
            Self::Stall(_) => "stall",
            Self::Double => "double",
            Self::Overloaded => "overloaded",
            Self::Reset => "reset",
            Self::Lose => "lose",
        }
    }
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub subject: String,
    pub point: String,
    pub nth: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.subject, self.point, self.nth)
    }
}

/// Faults of a kind of effect, each with how often it strikes among 10,000.
pub type Odds = &'static [(Fault, u64)];

type Chosen = fn(&str, u32) -> Option<Fault>;

#[derive(Default)]
pub struct Fate {
    seed: u64,
    /// Multiplies all odds, in percent.
    strength: u64,
    calm: Cell<bool>,
    /// Faults that strike whatever the odds, by kind of effect and the how-manieth time.
    chosen: Cell<Option<Chosen>>,
    counts: RefCell<BTreeMap<(String, String), u32>>,
    /// Faults that are left out.
    spared: BTreeSet<Place>,
    struck: RefCell<Vec<Place>>,
    /// Which faults have struck which kinds of effect.
    kinds: RefCell<BTreeSet<(String, &'static str)>>,
}

fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Fate {
    pub fn new(seed: u64, strength: u64, spared: BTreeSet<Place>) -> Self {
        Self {
            seed,
            strength,
            spared,
            ..Self::default()
        }
    }

    /// A number that belongs to these words.
    pub fn number(&self, subject: &str, point: &str, nth: u32) -> u64 {
        let mut hash = mix(self.seed);
        for byte in subject.bytes().chain([0]).chain(point.bytes()) {
            hash = mix(hash ^ u64::from(byte));
        }
        mix(hash ^ u64::from(nth))
    }

    fn place(&self, subject: &str, point: &str) -> Place {
        let mut counts = self.counts.borrow_mut();
        let count = counts.entry((subject.to_owned(), point.to_owned()));
        let nth = count.or_insert(0);
        *nth += 1;
        Place {
            subject: subject.to_owned(),
            point: point.to_owned(),
            nth: *nth,
        }
    }

    /// The next number at this place.
    pub fn next(&self, subject: &str, point: &str) -> u64 {
        let place = self.place(subject, point);
        self.number(subject, point, place.nth)
    }

    /// A number below `n`.
    pub fn below(&self, subject: &str, point: &str, n: u64) -> u64 {
        self.next(subject, point) % n
    }

    /// What goes wrong with the next effect at this place.
    pub fn strikes(&self, subject: &str, point: &str, odds: Odds) -> Option<Fault> {
        let place = self.place(subject, point);
        let chosen = self
            .chosen
            .get()
            .and_then(|chosen| chosen(point, place.nth));
        if chosen.is_some() {
            return chosen;
        }
        if self.calm.get() || self.spared.contains(&place) {
            return None;
        }
        let mut dice = self.number(subject, &format!("{point}!"), place.nth) % 1_000_000;
        for (fault, often) in odds {
            let often = often * self.strength;
            if dice < often {
                let kind = (place.point.clone(), fault.name());
                self.kinds.borrow_mut().insert(kind);
                self.struck.borrow_mut().push(place);
                return Some(*fault);
            }
            dice -= often;
        }
        None
    }

    /// These faults strike, even when it is calm.
    pub fn strikes_only(&self, chosen: Chosen) {
        self.chosen.set(Some(chosen));
    }

    /// From now on nothing goes wrong any more.
    pub fn calms(&self) {
        self.calm.set(true);
    }

    /// From now on things go wrong again.
    pub fn rages(&self) {
        self.calm.set(false);
    }

    pub fn is_calm(&self) -> bool {
        self.calm.get()
    }

    /// Which faults have struck which kinds of effect.
    pub fn kinds(&self) -> BTreeSet<(String, &'static str)> {
        self.kinds.borrow().clone()
    }

    /// What went wrong, in order.
    pub fn struck(&self) -> Vec<Place> {
        self.struck.borrow().clone()
    }
}
