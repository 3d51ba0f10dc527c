//! `/emails`.

mod send;
