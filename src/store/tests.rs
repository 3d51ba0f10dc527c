//! The doors of the store under ordinary use, refusals and kills.
