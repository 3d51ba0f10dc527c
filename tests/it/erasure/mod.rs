//! Erasing an address from everything that is kept, over a running instance.

mod everywhere;
mod suppression;
mod waiting;
