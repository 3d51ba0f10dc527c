//! The product through its front door, one binary. Folders mirror the API.

mod architecture;
mod domains;
mod emails;
mod support;
