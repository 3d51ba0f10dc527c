//! Figures of an open store, for monitoring.

use super::Store;
use super::queue::WriteQueue;
use crate::base::disk::space_of;
use crate::base::histogram::HistogramReading;

/// Figures of an open store, for monitoring.
#[derive(Clone, Debug)]
pub struct StoreFigures {
    /// Size of the file.
    pub file_bytes: u64,
    /// Free space of its file system; `None` if the system does not return it.
    pub free_bytes: Option<u64>,
    /// Durations of the commits since the opening.
    pub commits: HistogramReading,
    /// Commands of requests that wait for their commit.
    pub waiting_foreground: usize,
    /// Commands of background work that wait for their commit.
    pub waiting_bulk: usize,
}

impl Store {
    /// Returns the size of the file, its commits, and the number of commands that wait. Blocks.
    pub fn figures(&self) -> StoreFigures {
        let path = &self.0.path;
        StoreFigures {
            file_bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            free_bytes: space_of(path).ok().map(|space| space.free_bytes),
            commits: self.0.writer.commits(),
            waiting_foreground: self.0.writer.waiting(WriteQueue::Foreground),
            waiting_bulk: self.0.writer.waiting(WriteQueue::Bulk),
        }
    }
}
