//! How far a long verb has come, on standard error: a bar where that is a terminal, a line now and
//! then where it is not.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::base::clock::monotonic;

/// The pause between two drawings of the bar.
const BAR_PAUSE: Duration = Duration::from_millis(100);
/// The pause between two lines.
const LINE_PAUSE: Duration = Duration::from_secs(5);
/// Characters of the bar.
const BAR_CHARS: usize = 24;

/// What is said of a long verb.
pub(super) struct ProgressLine {
    is_terminal: bool,
    started: Instant,
    said: Option<Instant>,
    is_drawn: bool,
}

/// How far it has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgressUpdate {
    /// How many things were done.
    pub(super) count: u64,
    /// What they are.
    pub(super) things: &'static str,
    /// Parts that were done, and all of them; none where nobody knows.
    pub(super) share: Option<(u64, u64)>,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        let is_terminal = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { is_terminal, started: monotonic(), said: None, is_drawn: false }
    }

    /// Says how far it has come, unless that was said a moment ago.
    pub(super) fn show(&mut self, come: ProgressUpdate) {
        let pause = if self.is_terminal { BAR_PAUSE } else { LINE_PAUSE };
        if self.said.unwrap_or(self.started).elapsed() < pause {
            return;
        }
        self.said = Some(monotonic());
        let text = words(come, self.started.elapsed());
        if self.is_terminal {
            self.is_drawn = true;
            draw(&format!("\r\x1b[K{} {text}", come.share.map(bar).unwrap_or_default()));
        } else {
            eprintln!("{text}");
        }
    }

    /// Takes the bar away, so that words can follow.
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

/// A terminal that has gone away is told nothing, and the verb goes on.
fn draw(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

fn bar((done, all): (u64, u64)) -> String {
    let filled = usize::try_from(percent(done, all)).unwrap_or(100) * BAR_CHARS / 100;
    format!("[{}{}]", "#".repeat(filled), "-".repeat(BAR_CHARS - filled))
}

fn words(come: ProgressUpdate, elapsed: Duration) -> String {
    let ProgressUpdate { count, things, share } = come;
    let share = share.map(|(done, all)| format!("{:>3} %  ", percent(done, all))).unwrap_or_default();
    let rate = u128::from(count) * 1_000 / elapsed.as_millis().max(1);
    format!("{share}{} {things}, {} a second", grouped(count), grouped(u64::try_from(rate).unwrap_or(u64::MAX)))
}

fn percent(done: u64, all: u64) -> u64 {
    let percent = u128::from(done) * 100 / u128::from(all.max(1));
    u64::try_from(percent).unwrap_or(100).min(100)
}

/// Returns a number with commas between its thousands.
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
    fn a_bar_is_as_full_as_its_share() {
        for (done, all, drawn, said) in [
            (0, 100, "[------------------------]", "  0 %"),
            (50, 100, "[############------------]", " 50 %"),
            (100, 100, "[########################]", "100 %"),
            (200, 100, "[########################]", "100 %"),
            (5, 0, "[########################]", "100 %"),
            (u64::MAX, u64::MAX, "[########################]", "100 %"),
        ] {
            assert_eq!(bar((done, all)), drawn);
            let come = ProgressUpdate { count: 1, things: "rows", share: Some((done, all)) };
            assert!(words(come, Duration::from_secs(1)).starts_with(said));
        }
    }

    #[test]
    fn words_say_how_many_and_how_fast() {
        let come = ProgressUpdate { count: 1_250_000, things: "rows", share: None };

        assert_eq!(words(come, Duration::from_secs(100)), "1,250,000 rows, 12,500 a second");
        assert_eq!(words(ProgressUpdate { count: 0, ..come }, Duration::ZERO), "0 rows, 0 a second");
    }

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
