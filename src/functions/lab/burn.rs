//! Keeps the processor busy.

use crate::function::Ctx;
use std::hint::black_box;

/// Rounds of work between two looks at the clock, some 50 µs.
const ROUNDS: u32 = 20_000;
/// Such groups of rounds per millisecond, for a clock that stands still while nothing is awaited.
const GROUPS_PER_MS: u64 = 20;

/// Keeps the processor busy. On the platform the clock stands still meanwhile: then a number of
/// rounds has to do, about as many as take that long.
pub(super) fn burn(ctx: &Ctx, ms: u64) {
    let began = ctx.clock_ms();
    let most = ms.saturating_mul(GROUPS_PER_MS);
    let mut groups = 0;
    let mut state = 0x9e37_79b9_u32;
    loop {
        let passed = ctx.clock_ms().saturating_sub(began);
        let stands_still = passed == 0 && groups >= most;
        if passed >= ms || stands_still {
            return;
        }
        for _ in 0..ROUNDS {
            state = black_box(state.rotate_left(5).wrapping_mul(0x0100_0193) ^ 0x5a5a);
        }
        groups += 1;
    }
}
