//! Settings of notices to owners.

use clap::Args;

use super::values;
use crate::base::address::Mailbox;

/// Settings of notices as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct NoticeSettings {
    /// Sender of notices to team owners, at a verified domain of a team, such as Ringmail
    /// <notices@example.com> [default: notices go only to the log].
    #[arg(long, env = "RINGMAIL_SYSTEM_FROM", value_name = "MAILBOX", value_parser = values::mailbox,
          help_heading = "Serving")]
    pub(super) system_from: Option<Mailbox>,
}
