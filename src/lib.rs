//! Ringmail: an email API, its delivery and its dashboard in one process and one file.

pub mod address;
pub mod delivery;
pub mod dns;
pub mod emails;
pub mod mime;
