//! The product through its front door, one binary. Folders mirror the API.

mod architecture;
mod cli;
mod domains;
mod emails;
mod support;
