//! Space of file systems.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;

/// Space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystemSpace {
    /// Size.
    pub total_bytes: u64,
    /// Bytes that a process without privileges can still write.
    pub free_bytes: u64,
}

/// Returns the space of the file system of `path`. Blocks, usually for less than a microsecond.
///
/// # Errors
/// If the path does not exist or cannot be reached.
pub fn space_of(path: &Path) -> io::Result<FileSystemSpace> {
    let facts = statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(facts.f_frsize);
    Ok(FileSystemSpace { total_bytes: bytes(facts.f_blocks), free_bytes: bytes(facts.f_bavail) })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Maximum difference between the two readings, because other programs write in between.
    const DIFFERENCE_MAX: u64 = 1 << 30;

    #[test]
    fn the_space_is_that_of_the_system_tools() {
        let directory = tempfile::tempdir().unwrap();

        let space = space_of(directory.path()).unwrap();

        let df =
            Command::new("df").args(["--output=size,avail", "--block-size=1"]).arg(directory.path()).output().unwrap();
        let text = String::from_utf8(df.stdout).unwrap();
        let numbers: Vec<u64> =
            text.lines().last().unwrap().split_whitespace().map(|number| number.parse().unwrap()).collect();
        let [size, avail] = numbers[..] else { panic!("{text}") };
        assert_eq!(space.total_bytes, size);
        let free = space.free_bytes;
        assert!(free > 0 && free.abs_diff(avail) < DIFFERENCE_MAX, "{free} and {avail}");
    }

    #[test]
    fn a_file_system_without_blocks_has_no_space_and_a_missing_path_is_an_error() {
        assert_eq!(space_of(Path::new("/proc")).unwrap(), FileSystemSpace { total_bytes: 0, free_bytes: 0 });
        assert_eq!(space_of(Path::new("/proc/none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
