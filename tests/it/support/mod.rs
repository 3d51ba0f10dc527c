//! A real server in this process, over a directory of its own, with a clock turned by hand.

mod answer;
mod names;
mod server;

pub(crate) use answer::Answer;
pub(crate) use names::NameServer;
pub(crate) use server::{TestServer, email};
