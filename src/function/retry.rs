//! How often a step is tried, and how long it waits in between.

use crate::limits;

/// A retry policy. The delay after try `n` is `initial_ms · factor^(n−1)`, at most `max_ms`, of which
/// the share `jitter` is random; never 0.
///
/// ```
/// use onceward::function::Retry;
/// let retry = Retry::exponential(5);
/// assert_eq!(retry.delay_ms(1, 1_000), 1_000);
/// assert_eq!(retry.delay_ms(3, 1_000), 4_000);
/// assert_eq!(retry.delay_ms(64, 1_000), 60_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// Tries in all, the first included.
    pub max_attempts: u32,
    /// Delay after the first try.
    pub initial_ms: u64,
    /// Growth per try; 1 for a constant delay.
    pub factor: f64,
    /// Longest delay.
    pub max_ms: u64,
    /// Share of the delay that is random, 0 to 1.
    pub jitter: f64,
    /// No try begins later than this after the first one began.
    pub max_elapsed_ms: Option<u64>,
}

impl Retry {
    /// One try.
    pub const fn none() -> Self {
        Self {
            max_attempts: 1,
            initial_ms: 1_000,
            factor: 2.0,
            max_ms: 60_000,
            jitter: 0.0,
            max_elapsed_ms: None,
        }
    }

    /// Up to `max_attempts` tries, 1 s apart, then 2 s, … up to a minute.
    pub const fn exponential(max_attempts: u32) -> Self {
        Self {
            max_attempts,
            ..Self::none()
        }
    }

    /// Up to `max_attempts` tries with the same delay between them.
    pub const fn constant(max_attempts: u32, delay_ms: u64) -> Self {
        Self {
            max_attempts,
            initial_ms: delay_ms,
            factor: 1.0,
            max_ms: delay_ms,
            ..Self::none()
        }
    }

    /// The delay after try `tries`, the first of which began `elapsed_ms` ago; `None` if there is no
    /// further one. The other side may want to be left alone for longer (`retry_after_ms`): that is
    /// followed up to an hour.
    ///
    /// ```
    /// use onceward::function::Retry;
    /// let retry = Retry { max_elapsed_ms: Some(10_000), ..Retry::constant(3, 1_000) };
    /// assert_eq!(retry.next_delay_ms(1, 0, None, 0), Some(1_000));
    /// assert_eq!(retry.next_delay_ms(1, 0, Some(5_000), 0), Some(5_000));
    /// assert_eq!(retry.next_delay_ms(3, 0, None, 0), None);
    /// assert_eq!(retry.next_delay_ms(1, 9_500, None, 0), None);
    /// ```
    pub fn next_delay_ms(
        &self,
        tries: u32,
        elapsed_ms: u64,
        retry_after_ms: Option<u64>,
        random: u32,
    ) -> Option<u64> {
        if tries >= self.max_attempts {
            return None;
        }
        let asked = retry_after_ms.map_or(0, |ms| ms.min(limits::MAX_RETRY_AFTER_MS));
        let delay = self.delay_ms(tries, random).max(asked);
        let late = |most: u64| elapsed_ms.saturating_add(delay) > most;
        (!self.max_elapsed_ms.is_some_and(late)).then_some(delay)
    }

    /// The delay after try `tries` (1, 2, …). `random` is 0–1000; 1000 is the whole delay.
    pub fn delay_ms(&self, tries: u32, random: u32) -> u64 {
        let exponent = f64::from(tries.saturating_sub(1));
        let max = precise(self.max_ms);
        // Infinity and NaN (0 · ∞) both end at the cap.
        let grown = (precise(self.initial_ms) * self.factor.powf(exponent)).min(max);
        let whole = if grown.is_finite() { grown } else { max };
        let share = self.jitter.clamp(0.0, 1.0) * f64::from(1_000 - random.min(1_000)) / 1_000.0;
        whole_ms(whole * (1.0 - share)).clamp(1, self.max_ms.max(1))
    }
}

/// Settings are limited to ten years, far below 2^53 ms.
#[allow(clippy::cast_precision_loss)]
fn precise(ms: u64) -> f64 {
    ms as f64
}

/// The value lies between 0 and `max_ms`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole_ms(ms: f64) -> u64 {
    ms as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_never_overflow_vanish_or_shrink() {
        let retry = Retry {
            max_attempts: 100,
            initial_ms: 1_000,
            factor: 2.0,
            max_ms: 60_000,
            jitter: 0.0,
            max_elapsed_ms: None,
        };
        let delays: Vec<u64> = (1..=100).map(|n| retry.delay_ms(n, 0)).collect();
        assert_eq!(
            &delays[..7],
            &[1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]
        );
        assert!(delays.windows(2).all(|w| w[0] <= w[1]));
        assert!(delays.iter().all(|d| (1..=60_000).contains(d)));
        for tries in [31, 40, 64, 1_024, u32::MAX] {
            assert_eq!(retry.delay_ms(tries, 0), 60_000);
        }
    }

    #[test]
    fn a_zero_delay_becomes_one_millisecond() {
        assert_eq!(Retry::constant(3, 0).delay_ms(1, 0), 1);
        let odd = Retry {
            factor: f64::INFINITY,
            initial_ms: 0,
            ..Retry::none()
        };
        assert_eq!(odd.delay_ms(2, 0), 60_000);
    }

    #[test]
    fn jitter_takes_its_share() {
        let retry = Retry {
            jitter: 0.5,
            ..Retry::constant(3, 1_000)
        };
        assert_eq!(retry.delay_ms(1, 1_000), 1_000);
        assert_eq!(retry.delay_ms(1, 0), 500);
    }
}
