//! Parses arbitrary text as a schedule at different times. A due time is between now and 30 days ahead.

use ringmail::emails::schedule::{self, AHEAD_MAX_MS};

pub(crate) fn check(text: &str) {
    for now_ms in [1_785_930_721_858, 0, i64::MIN, i64::MAX] {
        if let Ok(due_ms) = schedule::parse(text, now_ms) {
            assert!(due_ms >= now_ms && due_ms <= now_ms.saturating_add(AHEAD_MAX_MS));
        }
    }
}
