//! Memory and open files of this process.

use std::fs;

use rustix::process::{Resource, getrlimit};

/// Facts about this process. A fact is `None` if the system does not give it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Size of the pages in memory.
    pub resident_bytes: Option<u64>,
    /// Number of open file descriptors.
    pub open_files: Option<usize>,
    /// Maximum number of open file descriptors.
    pub open_files_max: Option<u64>,
}

impl ProcessFacts {
    /// Reads the facts from `/proc/self` only, because a service can be unable to read the rest of `/proc`. Blocks.
    pub fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        // One of the descriptors is that of the listing.
        let open_files = fs::read_dir("/proc/self/fd").ok().map(|files| files.count().saturating_sub(1));
        Self {
            resident_bytes: resident_bytes(&status),
            open_files,
            open_files_max: getrlimit(Resource::Nofile).current,
        }
    }
}

/// Returns the value of `VmRSS` in `/proc/self/status`.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_of_this_process_are_read() {
        let before = ProcessFacts::read();
        let files: Vec<_> = (0..300).map(|_| fs::File::open("/proc/self/status").unwrap()).collect();
        let after = ProcessFacts::read();
        drop(files);

        // Other tests close files at the same time.
        assert!(after.open_files.unwrap() >= before.open_files.unwrap() + 150, "{before:?} {after:?}");
        assert!(before.open_files_max.unwrap() >= 256, "{before:?}");
        assert!((1 << 20..1 << 40).contains(&before.resident_bytes.unwrap()), "{before:?}");
    }

    #[test]
    fn the_resident_size_is_in_kib() {
        assert_eq!(resident_bytes("Name:\tringmail\nVmRSS:\t   12345 kB\n"), Some(12_345 * 1_024));
        assert_eq!(resident_bytes("VmRSS:\t12345\n"), None);
        assert_eq!(resident_bytes(""), None);
    }
}
