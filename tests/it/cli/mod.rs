//! The command line, through the real binary.

mod answers;
mod export;
mod import;
mod program;
mod send;
mod start;
mod stores;
mod tail;
