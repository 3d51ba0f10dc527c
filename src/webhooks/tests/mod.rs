//! Use cases over a real store.
