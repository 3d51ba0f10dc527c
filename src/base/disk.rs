//! Free space of file systems.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;

/// Returns the bytes that a process without privileges can still write to the file system of `path`. Blocks, usually for
/// less than a microsecond.
///
/// # Errors
/// If the path does not exist or cannot be reached.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let facts = statvfs(path)?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Maximum difference between the two readings, because other programs write in between.
    const DIFFERENCE_MAX: u64 = 1 << 30;

    #[test]
    fn the_free_space_is_that_of_the_system_tools() {
        let directory = tempfile::tempdir().unwrap();

        let free = free_bytes(directory.path()).unwrap();

        let df = Command::new("df").args(["--output=avail", "--block-size=1"]).arg(directory.path()).output().unwrap();
        let avail = String::from_utf8(df.stdout).unwrap().lines().last().unwrap().trim().parse().unwrap();
        assert!(free > 0 && free.abs_diff(avail) < DIFFERENCE_MAX, "{free} and {avail}");
    }

    #[test]
    fn a_file_system_without_blocks_has_no_space_and_a_missing_path_is_an_error() {
        assert_eq!(free_bytes(Path::new("/proc")).unwrap(), 0);
        assert_eq!(free_bytes(Path::new("/proc/none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
