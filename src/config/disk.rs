//! Settings of the memory and the disk that the store uses.

use clap::{Args, value_parser};

use crate::store::DiskReserve;

const MIB: u64 = 1 << 20;

/// Settings of the store as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct DiskSettings {
    /// Memory for pages of the data file, in MiB: 8 to 65536.
    #[arg(long, env = "RINGMAIL_CACHE_MB", value_name = "MIB", default_value_t = 64,
          value_parser = value_parser!(u32).range(8..=65_536), help_heading = "Storing")]
    cache_mb: u32,

    /// Free disk space below which API requests that add data get status 503, in MiB; 0 is no limit [default: 5% of the
    /// file system, at least 128 MiB and at most 500 MB].
    #[arg(long, env = "RINGMAIL_DISK_RESERVE_MB", value_name = "MIB", value_parser = value_parser!(u32),
          help_heading = "Storing")]
    disk_reserve_mb: Option<u32>,
}

impl DiskSettings {
    /// Returns the memory for cached pages.
    pub(super) fn cache_bytes(&self) -> usize {
        usize::try_from(u64::from(self.cache_mb) * MIB).unwrap_or(usize::MAX)
    }

    /// Returns the free space below which no data is added.
    pub(super) fn disk_reserve(&self) -> DiskReserve {
        self.disk_reserve_mb.map_or(DiskReserve::Automatic, |mib| DiskReserve::Bytes(u64::from(mib) * MIB))
    }
}
