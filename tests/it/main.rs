//! The product through its front door, one binary. Folders mirror the API.

mod emails;
mod support;
