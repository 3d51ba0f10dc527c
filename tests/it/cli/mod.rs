//! The command line, through the real binary.

mod answers;
mod program;
mod send;
mod start;
mod stores;
