//! Progress of a long verb on standard error: a bar on a terminal, or else a line every few seconds.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::base::clock::monotonic;

/// Minimum interval of updates of the bar.
const BAR_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum interval of lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Length of the bar, in characters.
const BAR_CHARS: usize = 24;

/// Progress output of a verb.
pub(super) struct ProgressLine {
    is_terminal: bool,
    started: Instant,
    updated: Option<Instant>,
    is_drawn: bool,
}

/// Progress of a verb.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgressUpdate {
    /// Number of completed things.
    pub(super) count: u64,
    /// Plural noun of the things.
    pub(super) things: &'static str,
    /// Completed part and total; `None` if the total is unknown.
    pub(super) share: Option<(u64, u64)>,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        let is_terminal = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { is_terminal, started: monotonic(), updated: None, is_drawn: false }
    }

    /// Shows the progress, at most once per interval.
    pub(super) fn show(&mut self, update: ProgressUpdate) {
        let interval = if self.is_terminal { BAR_INTERVAL } else { LINE_INTERVAL };
        if self.updated.unwrap_or(self.started).elapsed() < interval {
            return;
        }
        self.updated = Some(monotonic());
        let text = text(update, self.started.elapsed());
        if self.is_terminal {
            self.is_drawn = true;
            draw(&format!("\r\x1b[K{} {text}", update.share.map(bar).unwrap_or_default()));
        } else {
            eprintln!("{text}");
        }
    }

    /// Erases the bar, so that other output can follow.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            draw("\r\x1b[K");
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Writes to the terminal. Ignores errors, because a closed terminal must not stop the verb.
fn draw(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

fn bar((done, all): (u64, u64)) -> String {
    let filled = usize::try_from(percent(done, all)).unwrap_or(100) * BAR_CHARS / 100;
    format!("[{}{}]", "#".repeat(filled), "-".repeat(BAR_CHARS - filled))
}

fn text(update: ProgressUpdate, elapsed: Duration) -> String {
    let ProgressUpdate { count, things, share } = update;
    let share = share.map(|(done, all)| format!("{:>3} %  ", percent(done, all))).unwrap_or_default();
    let rate = u128::from(count) * 1_000 / elapsed.as_millis().max(1);
    format!("{share}{} {things}, {} a second", grouped(count), grouped(u64::try_from(rate).unwrap_or(u64::MAX)))
}

fn percent(done: u64, all: u64) -> u64 {
    let percent = u128::from(done) * 100 / u128::from(all.max(1));
    u64::try_from(percent).unwrap_or(100).min(100)
}

/// Formats a number with commas as thousands separators.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_and_the_percentage_show_the_share() {
        for (done, all, expected_bar, percentage) in [
            (0, 100, "[------------------------]", "  0 %"),
            (50, 100, "[############------------]", " 50 %"),
            (100, 100, "[########################]", "100 %"),
            (200, 100, "[########################]", "100 %"),
            (5, 0, "[########################]", "100 %"),
            (u64::MAX, u64::MAX, "[########################]", "100 %"),
        ] {
            assert_eq!(bar((done, all)), expected_bar);
            let update = ProgressUpdate { count: 1, things: "rows", share: Some((done, all)) };
            assert!(text(update, Duration::from_secs(1)).starts_with(percentage));
        }
    }

    #[test]
    fn the_text_has_the_count_and_the_rate() {
        let update = ProgressUpdate { count: 1_250_000, things: "rows", share: None };

        assert_eq!(text(update, Duration::from_secs(100)), "1,250,000 rows, 12,500 a second");
        assert_eq!(text(ProgressUpdate { count: 0, ..update }, Duration::ZERO), "0 rows, 0 a second");
    }

    #[test]
    fn a_number_has_thousands_separators() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
