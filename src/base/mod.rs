//! Small shared values that know nothing else of the program.
//!
//! [`address`] mailboxes and addresses; [`id`] typed ids; [`id_or_email`] a path parameter that is either;
//! [`one_line`] names on one line; [`patch`] absent, null or a value; [`clock`] the time; [`random`] random
//! bytes and jitter; [`signature`] Standard Webhooks signatures; [`blocking`] work off the runtime's threads.

pub mod address;
pub mod blocking;
pub mod clock;
pub mod id;
pub mod id_or_email;
pub(crate) mod one_line;
pub mod patch;
pub mod random;
pub mod signature;
