//! Waiting for a condition. Nothing in these tests waits for a time that was guessed.

use std::time::{Duration, Instant};

/// When a wait gives up. No test measures how long something takes, so this is far beyond all of them.
pub const GIVE_UP: Duration = Duration::from_secs(90);
const LOOK_EVERY: Duration = Duration::from_millis(15);

/// Looks until there is a result. Fails with the last complaint when it takes far too long.
#[track_caller]
pub fn eventually<T>(look: impl FnMut() -> Result<T, String>) -> T {
    eventually_within(GIVE_UP, look)
}

/// The same with another limit.
#[track_caller]
pub fn eventually_within<T>(limit: Duration, mut look: impl FnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(complaint) if began.elapsed() > limit => panic!("gave up: {complaint}"),
            Err(_) => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// Looks over and over for as long as `time`; fails at the first complaint. For what must not happen.
#[track_caller]
pub fn throughout(time: Duration, mut look: impl FnMut() -> Result<(), String>) {
    let began = Instant::now();
    while began.elapsed() < time {
        if let Err(complaint) = look() {
            panic!("after {:?}: {complaint}", began.elapsed());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// `Ok` if the condition holds, else the complaint.
pub fn check(holds: bool, complaint: impl FnOnce() -> String) -> Result<(), String> {
    holds.then_some(()).ok_or_else(complaint)
}
