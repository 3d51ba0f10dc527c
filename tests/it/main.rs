//! The product through its front door, one binary. Folders mirror the API.

mod domains;
mod emails;
mod preferences;
mod support;
