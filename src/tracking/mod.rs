//! Tracking of opens and clicks: the pixel and the rewritten links of an email, and the routes behind them.
//!
//! Data flow: the composition of a message calls [`Tracker::track`] with the tracking settings of the sender's domain.
//! It rewrites the links of the HTML part and adds the pixel, each with a token for the recipient. A request to one of
//! them arrives in `api/`, which opens the token, records the hit in `engagement`, and answers.
//!
//! Reading order:
//!
//! - `token.rs`: the sealed content of a pixel and of a link.
//! - `destination.rs`: the destination of a link as a browser reads it. `rewrite.rs`: the edits of the HTML.
//! - `source_link.rs`: the link of a content with merge fields that leads to a destination.
//! - `tracker.rs`: the URLs of an email. `api/`: the routes, and the paths of a tracking host.
//!
//! Invariants:
//!
//! - Without tracking, and for a recipient group with several recipients, the HTML is sent byte for byte.
//! - Only the value of a rewritten `href` changes, and the pixel is inserted. All other bytes stay.
//! - The text part is never changed.
//! - A token names no address. Only this instance makes tokens, so that a link redirects only to destinations that a
//!   team has sent.
//! - The same email, recipient group and destination have the same token in every attempt.
//! - A response does not depend on the success of the recording.
//!
//! Whether a hit is one of a person or of a machine, and its effect on the email, is decided in `engagement`.

pub(crate) mod api;

mod destination;
mod rewrite;
mod source_link;
#[cfg(test)]
mod tests;
mod token;
mod tracker;

pub use rewrite::without_pixels;
pub use source_link::source_link;
pub use token::{TrackedRecipient, TrackingToken, TrackingTokens};
pub use tracker::Tracker;
