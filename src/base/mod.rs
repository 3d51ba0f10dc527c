//! Small shared types and functions that depend on no other module of the program.
//!
//! Modules:
//! - [`address`]: mailboxes, addresses and domain names;
//! - [`id`] and [`id_or_email`]: typed ids, and a parameter that is an id or an email address;
//! - [`nearest`]: the likely meaning of a misspelled name;
//! - [`one_line`]: validation of one-line names;
//! - [`printable`]: text from other people in the output of a terminal;
//! - [`percent`]: percent-encoding of URLs;
//! - [`char_reference`]: character references of HTML;
//! - [`media_type`]: media types of files by their extension;
//! - [`compat`]: opt-in forms of the compatible API;
//! - [`patch`]: an update of an optional field: absent, null or a value;
//! - [`keyed`]: values that the users of a key share;
//! - [`clock`]: the current time;
//! - [`confirmed_clock`]: the time for what cannot be undone;
//! - [`enhanced_code`]: enhanced status codes of mail servers;
//! - [`disk`]: free space of file systems;
//! - [`histogram`]: counts of durations;
//! - [`random`]: random bytes and jitter;
//! - [`recent`]: the time of the last failure;
//! - [`signature`]: Standard Webhooks signatures;
//! - [`blocking`]: blocking work on the thread pool;
//! - [`boxed`]: results without their types;
//! - [`opaque`]: shared values whose fields the compiler does not examine;
//! - [`sync`]: locks that ignore poisoning;
//! - [`wakeup`]: wake-ups of workers whose work is in a table;
//! - [`words`]: enums whose values have words.

pub mod address;
pub mod blocking;
pub mod boxed;
pub(crate) mod char_reference;
pub mod clock;
pub mod compat;
pub(crate) mod confirmed_clock;
pub mod disk;
pub mod enhanced_code;
pub mod histogram;
pub mod id;
pub mod id_or_email;
pub mod keyed;
pub mod media_type;
pub mod nearest;
pub(crate) mod one_line;
pub mod opaque;
pub mod patch;
pub(crate) mod percent;
pub(crate) mod printable;
pub mod random;
pub mod recent;
pub mod signature;
pub mod sync;
pub mod wakeup;
pub(crate) mod words;
