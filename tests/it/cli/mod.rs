//! The command line of the real binary.

mod access;
mod audit;
mod broadcast;
mod captured;
mod compact;
mod dev;
mod doctor;
mod export;
mod files;
mod import;
mod inbox;
mod journeys;
mod kills;
mod metrics;
mod problems;
mod program;
mod queue;
mod queue_all;
mod records;
mod send;
mod start;
mod stores;
mod tail;
mod terminal;
mod trace;
mod verbs;
