//! The product through its front door, one binary. Folders mirror the API.

mod cli;
mod dashboard;
mod domains;
mod emails;
mod support;
