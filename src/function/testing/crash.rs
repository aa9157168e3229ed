//! Disturbs a function at every point that there is, and looks whether anybody could tell.

use super::action::{Action, Fault, Point, Reaction, Sent};
use super::bench::Bench;
use super::course::{Course, compare};
use crate::function::Function;
use crate::protocol::State;
use crate::types::Input;
use std::rc::Rc;

/// The key of the task that is disturbed: a script names it by this.
pub const CRASH_KEY: &str = "crash-everywhere";

/// How often a script is called in one run.
const ROUNDS: usize = 20;

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Points of the undisturbed run.
    pub points: usize,
    /// Disturbed runs.
    pub runs: usize,
}

/// Runs a function undisturbed, then once for every action of that run and every fault: a crash
/// before it, a crash after it, its reply lost, its message doubled; requests are answered late as
/// well, so that what runs beside them ends first. After a crash the lease runs out and the alarm goes
/// on. What objects tell each other is disturbed as well.
///
/// ```
/// use onceward::function::{Ctx, Failure, Function};
/// use onceward::testing::Crashes;
/// use onceward::types::Input;
///
/// let add = Function::new("add", |ctx: Ctx, _: Input| async move {
///     let one: u8 = ctx.step("one", || async { Ok(1) }).await?;
///     let two: u8 = ctx.step("two", || async { Ok(2) }).await?;
///     Ok::<u8, Failure>(one + two)
/// });
/// let tried = Crashes::of(add).everywhere(&Input::default());
/// assert!(tried.runs > tried.points);
/// ```
#[must_use]
pub struct Crashes {
    function: Function,
    others: Vec<Function>,
    outside: Rc<dyn Fn(&Sent) -> Reaction>,
    script: Rc<dyn Fn(&mut Bench)>,
    prepare: Rc<dyn Fn(Bench) -> Bench>,
    busy: bool,
}

impl Crashes {
    /// Of this function. Every request is answered 200.
    pub fn of(function: Function) -> Self {
        Self {
            function,
            others: Vec::new(),
            outside: Rc::new(|_| Reaction::status(200)),
            script: Rc::new(|_| {}),
            prepare: Rc::new(|bench| bench),
            busy: false,
        }
    }

    /// Has every request fail once as well: 503, and nothing was done. For functions that leave such
    /// failures to their retries and attempts; one that handles them goes another way, and rightly so.
    pub fn failing(mut self) -> Self {
        self.busy = true;
        self
    }

    /// Adds a function that it begins.
    pub fn with(mut self, other: Function) -> Self {
        self.others.push(other);
        self
    }

    /// Sets what answers requests: by what it is asked, not by what it remembers.
    pub fn outside(mut self, react: impl Fn(&Sent) -> Reaction + 'static) -> Self {
        self.outside = Rc::new(react);
        self
    }

    /// Sets what happens outside: called whenever nothing goes on by itself and the task of
    /// [`CRASH_KEY`] has not ended, at most 20 times in one run. A signal that it sends has the same
    /// id whenever it is sent.
    pub fn script(mut self, script: impl Fn(&mut Bench) + 'static) -> Self {
        self.script = Rc::new(script);
        self
    }

    /// Sets what each bench has before anything runs.
    pub(super) fn prepared(mut self, prepare: impl Fn(Bench) -> Bench + 'static) -> Self {
        self.prepare = Rc::new(prepare);
        self
    }

    fn bench(&self) -> Bench {
        let outside = Rc::clone(&self.outside);
        let bench = Bench::new(self.function.clone()).outside(move |sent| outside(sent));
        (self.prepare)(self.others.iter().cloned().fold(bench, Bench::with))
    }

    /// Tries it all. A run that fails prints what it did, with the place of the fault.
    ///
    /// # Panics
    /// If the undisturbed run does not end; if a disturbed run ends differently, if an effect happens
    /// again though its record was not lost, if more steps run again than can have been under way, if
    /// a derived key differs, or if a task is left with something that it owes another one.
    pub fn everywhere(&self, input: &Input) -> Tried {
        let clean = self.run("undisturbed", self.bench(), input, None);
        let points = clean.points.clone();
        let mut runs = 0;
        for point in &points {
            for fault in faults(point.action, self.busy) {
                let at = format!("{fault:?} at {:?} {}", point.action, point.nth);
                let bench = self.bench().plan(*point, fault);
                self.run(&at, bench, input, Some((&clean, *point, fault)));
                runs += 1;
            }
        }
        Tried {
            points: points.len(),
            runs,
        }
    }

    /// Runs to the end and, if there is a clean run, compares with it.
    fn run(
        &self,
        at: &str,
        bench: Bench,
        input: &Input,
        clean: Option<(&Course, Point, Fault)>,
    ) -> Course {
        let mut told = Told {
            at: format!("{}, {at}", self.function.name()),
            bench,
        };
        let bench = &mut told.bench;
        self.deliver(bench, input);
        let resumable = State::Failed { resumable: true };
        let stands = bench.task(CRASH_KEY).map(|t| t.state);
        let wanted = clean.map(|(clean, ..)| &clean.state);
        // A crash costs an attempt: a task that has used them all up is taken up again by the next
        // delivery, as a sender would do that has had no answer.
        if stands.as_ref() == Some(&resumable) && wanted.is_some_and(|w| *w != resumable) {
            self.deliver(bench, input);
        }
        let ended = bench.task(CRASH_KEY).is_some_and(|t| t.has_ended());
        assert!(ended, "it does not end; should a script send it a signal?");
        for task in bench.tasks() {
            let owed = task.debts.list;
            assert!(owed.is_empty(), "{} still owes {owed:?}", task.key.key);
        }
        let course = Course::of(bench);
        if let Some((clean, point, fault)) = clean {
            compare(point, fault, clean, &course);
        }
        course
    }

    fn deliver(&self, bench: &mut Bench, input: &Input) {
        bench
            .deliver(CRASH_KEY, input.clone())
            .unwrap_or_else(|problems| panic!("the input is refused: {problems:?}"));
        bench.run_until_idle();
        for _ in 0..ROUNDS {
            if bench.task(CRASH_KEY).is_none_or(|t| t.has_ended()) {
                return;
            }
            (self.script)(bench);
            bench.run_until_idle();
        }
    }
}

/// Tells what a run did, if it fails.
struct Told {
    at: String,
    bench: Bench,
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}:\n{}", self.at, self.bench.schedule());
        }
    }
}

/// [`Crashes`] of one function with an outside, and nobody else.
///
/// # Panics
/// As [`Crashes::everywhere`] does.
pub fn crash_everywhere(
    function: &Function,
    input: &Input,
    outside: impl Fn(&Sent) -> Reaction + 'static,
) -> Tried {
    Crashes::of(function.clone())
        .outside(outside)
        .everywhere(input)
}

/// [`crash_everywhere`] for a function that waits for somebody outside: see [`Crashes::script`].
///
/// # Panics
/// As [`Crashes::everywhere`] does.
pub fn crash_everywhere_with(
    function: &Function,
    input: &Input,
    outside: impl Fn(&Sent) -> Reaction + 'static,
    script: impl Fn(&mut Bench) + 'static,
) -> Tried {
    Crashes::of(function.clone())
        .outside(outside)
        .script(script)
        .everywhere(input)
}

fn faults(action: Action, busy: bool) -> Vec<Fault> {
    match action {
        // A broken connection is a failure that a function may meet in its own way.
        Action::Fetch if busy => {
            vec![
                Fault::CrashBefore,
                Fault::CrashAfter,
                Fault::Slow,
                Fault::Busy,
            ]
        }
        Action::Fetch => vec![Fault::CrashBefore, Fault::CrashAfter, Fault::Slow],
        Action::Claim
        | Action::Record
        | Action::Suspend
        | Action::Finish
        | Action::Begin
        | Action::Look
        | Action::Kv
        | Action::Lock
        | Action::Debt => vec![
            Fault::CrashBefore,
            Fault::CrashAfter,
            Fault::LoseReply,
            Fault::Double,
        ],
    }
}
