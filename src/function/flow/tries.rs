//! How often the tasks of a flow are tried.

use super::super::ctx::StepScope;
use super::super::retry::Retry;
use crate::flow::model::{Retry as Tries, RetryKind};
use crate::types::{Failure, FailureKind};

/// How messages to objects are tried: they answer, or the platform is in trouble.
pub(super) const OBJECT_RETRY: Retry = Retry {
    max_attempts: 10,
    initial_ms: 200,
    factor: 2.0,
    max_ms: 60_000,
    jitter: 0.5,
    max_elapsed_ms: None,
};

/// A failure after which another try comes, if there is one left: who asks for retries means every failure.
pub(super) fn again(scope: &StepScope, stubborn: bool, failure: Failure) -> Failure {
    if stubborn && !scope.is_last_try() {
        return Failure {
            kind: FailureKind::Retryable,
            ..failure
        };
    }
    failure
}

/// The retries of a step. Pauses between the shortest and the longest are drawn.
pub(super) fn retry_of(tries: &Tries) -> Retry {
    let max_attempts = match (tries.max_attempts, tries.max_duration_ms) {
        (Some(most), _) => most.max(1),
        (None, Some(_)) => u32::MAX,
        (None, None) => 5,
    };
    let max_elapsed_ms = tries.max_duration_ms;
    match tries.kind {
        RetryKind::Constant { interval_ms } => Retry {
            max_elapsed_ms,
            ..Retry::constant(max_attempts, interval_ms)
        },
        RetryKind::Exponential {
            interval_ms,
            max_interval_ms,
            factor,
        } => Retry {
            max_attempts,
            initial_ms: interval_ms,
            factor,
            max_ms: max_interval_ms,
            jitter: 0.0,
            max_elapsed_ms,
        },
        RetryKind::Random {
            min_interval_ms,
            max_interval_ms,
        } => {
            // A share of at most ten years in milliseconds is exact enough.
            #[allow(clippy::cast_precision_loss)]
            let share = 1.0 - (min_interval_ms as f64 / max_interval_ms.max(1) as f64);
            Retry {
                jitter: share.clamp(0.0, 1.0),
                max_elapsed_ms,
                ..Retry::constant(max_attempts, max_interval_ms)
            }
        }
    }
}
