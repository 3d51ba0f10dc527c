//! The command line of the real binary.

mod captured;
mod dev;
mod doctor;
mod export;
mod files;
mod import;
mod kills;
mod metrics;
mod problems;
mod program;
mod queue;
mod records;
mod send;
mod start;
mod stores;
mod tail;
mod trace;
mod verbs;
