//! Whom notices to owners come from.

use clap::Args;

use super::values;
use crate::base::address::Mailbox;

/// The settings of notices as they are given.
#[derive(Args, Clone, Debug)]
pub(super) struct NoticeSettings {
    /// The sender of notices to the owners of teams, of a domain that a team has verified, as in
    /// Ringmail <notices@example.com> [default: notices go to the log alone].
    #[arg(long, env = "RINGMAIL_SYSTEM_FROM", value_name = "MAILBOX", value_parser = values::mailbox,
          help_heading = "Serving")]
    pub(super) system_from: Option<Mailbox>,
}
