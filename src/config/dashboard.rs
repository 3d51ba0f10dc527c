//! Settings of the pages of the dashboard.

use std::path::PathBuf;

use clap::Args;

/// Settings of the pages as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct DashboardSettings {
    /// Directory of the files of the dashboard, which are read for each request; for work on its pages [default: the
    /// files in the program].
    #[arg(long, env = "RINGMAIL_UI_DIR", value_name = "DIR", help_heading = "Serving")]
    pub(super) ui_dir: Option<PathBuf>,
}
