//! Time and randomness of the platform.

use crate::protocol::Fresh;
use crate::types::Token;
use futures::future::{Either, select};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use uuid::Uuid;
use worker::Delay;

/// Milliseconds since 1970. Between two I/O operations the platform's clock stands still.
pub(super) fn now_ms() -> u64 {
    worker::Date::now().as_millis()
}

/// Waits.
pub(super) async fn sleep(ms: u64) {
    // The platform's timers take 31 bits.
    Delay::from(Duration::from_millis(ms.min(0x7fff_ffff))).await;
}

/// Waits for a future, but not longer than this.
pub(super) async fn within<T>(ms: u64, future: impl Future<Output = T>) -> Option<T> {
    match select(pin!(future), pin!(sleep(ms))).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}

/// A fresh random token of 122 bits.
pub(super) fn token() -> Token {
    Token::new(Uuid::new_v4().simple().to_string())
}

/// A fresh random UUID, to name one occurrence.
pub(super) fn uuid() -> String {
    Uuid::new_v4().hyphenated().to_string()
}

/// 0–1000, at random.
pub(super) fn jitter() -> u32 {
    let bytes = Uuid::new_v4().into_bytes();
    u32::from(u16::from_be_bytes([bytes[0], bytes[1]])) % 1_001
}

/// Fresh randomness for one event.
pub(super) fn fresh() -> Fresh {
    Fresh {
        lease: token(),
        ticket: token(),
        jitter: jitter(),
    }
}
