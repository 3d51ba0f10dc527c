//! The endpoints under `/segments`.

pub(crate) mod filter;
