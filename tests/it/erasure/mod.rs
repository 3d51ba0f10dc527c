//! Erasure of an address from all data of a team, on a running instance.

mod other_recipients;
mod pending_emails;
mod suppression;
mod tables;
