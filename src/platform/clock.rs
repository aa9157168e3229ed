//! Time and randomness of the platform.

use crate::types::Token;
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

/// A fresh random token of 122 bits.
pub(super) fn token() -> Token {
    Token::new(Uuid::new_v4().simple().to_string())
}

/// 0–1000, at random.
pub(super) fn jitter() -> u32 {
    let bytes = Uuid::new_v4().into_bytes();
    u32::from(u16::from_be_bytes([bytes[0], bytes[1]])) % 1_001
}
