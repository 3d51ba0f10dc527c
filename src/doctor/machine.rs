//! This machine: free disk space, the limit of open files, and the permissions of the files.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use super::DoctorSettings;
use super::report::SetupCheck;
use crate::base::disk::{FileSystemSpace, space_of};
use crate::store::{DiskReserve, FILE_NAME};

/// Open files for HTTP connections, the store and lookups.
const OTHER_FILES: u64 = 4_096;
/// Permissions of others than the owner.
const OTHERS: u32 = 0o077;
/// Write permissions of others than the owner.
const OTHERS_WRITE: u32 = 0o022;
const MIB: u64 = 1 << 20;

/// Checks this machine. Blocks.
pub(super) fn checks(settings: &DoctorSettings) -> Vec<SetupCheck> {
    let DoctorSettings { data_dir, master_key_file, disk_reserve, sessions_max, .. } = settings;
    let sessions = u64::try_from(*sessions_max).unwrap_or(u64::MAX);
    vec![
        judge_disk(data_dir, space_of(existing(data_dir)), *disk_reserve),
        judge_files(getrlimit(Resource::Nofile).maximum, sessions + OTHER_FILES),
        judge_permissions(&permissions(data_dir, master_key_file)),
    ]
}

/// Returns the path, or its first parent that exists.
fn existing(path: &Path) -> &Path {
    let path = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn judge_disk(data_dir: &Path, space: io::Result<FileSystemSpace>, reserve: DiskReserve) -> SetupCheck {
    const NAME: &str = "disk";
    match space {
        Err(error) => SetupCheck::not_checked(NAME, format!("{}: {error}", data_dir.display())),
        Ok(FileSystemSpace { total_bytes, free_bytes }) => {
            let reserve_bytes = reserve.bytes(total_bytes);
            let seen = format!("{} MiB are free in {}", free_bytes / MIB, data_dir.display());
            let expected = format!("at least {} MiB", reserve_bytes / MIB);
            if free_bytes >= reserve_bytes {
                return SetupCheck::ok(NAME, seen, expected);
            }
            let fix = "Delete files or enlarge the disk. The server refuses requests that add data before that.";
            SetupCheck::failed(NAME, seen, expected, fix)
        }
    }
}

/// Judges the maximum that this process can raise its limit to; `None` is no limit.
fn judge_files(limit: Option<u64>, needed: u64) -> SetupCheck {
    const NAME: &str = "open_files";
    let expected = format!("at least {needed} open files");
    match limit {
        Some(limit) if limit < needed => {
            let fix = "Raise the limit, such as with `LimitNOFILE=65536` in the systemd unit, or `ulimit -n 65536`.";
            SetupCheck::failed(NAME, format!("at most {limit} open files"), expected, fix)
        }
        Some(limit) => SetupCheck::ok(NAME, format!("at most {limit} open files"), expected),
        None => SetupCheck::ok(NAME, "no limit of open files", expected),
    }
}

/// A file or directory with permissions that it should not have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenPath {
    path: PathBuf,
    mode: u32,
}

/// Returns the paths that others can use, or the first error.
fn permissions(data_dir: &Path, master_key_file: &Path) -> io::Result<Vec<OpenPath>> {
    let store = data_dir.join(FILE_NAME);
    let mut open = Vec::new();
    for (path, forbidden) in [(data_dir, OTHERS_WRITE), (&store, OTHERS), (master_key_file, OTHERS)] {
        let mode = match fs::metadata(path) {
            Ok(metadata) => metadata.permissions().mode() & 0o7777,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if mode & forbidden != 0 {
            open.push(OpenPath { path: path.to_owned(), mode });
        }
    }
    Ok(open)
}

fn judge_permissions(open: &io::Result<Vec<OpenPath>>) -> SetupCheck {
    const NAME: &str = "permissions";
    let expected = "only the user of the server can read the store and its key, and write to their directory";
    match open {
        Err(error) => SetupCheck::not_checked(NAME, error.to_string()),
        Ok(open) if open.is_empty() => SetupCheck::ok(NAME, expected, expected),
        Ok(open) => {
            let seen: Vec<String> =
                open.iter().map(|OpenPath { path, mode }| format!("{} has mode {mode:o}", path.display())).collect();
            let paths: Vec<String> = open.iter().map(|open| open.path.display().to_string()).collect();
            let fix = format!("Run `chmod go-rwx {}`.", paths.join(" "));
            SetupCheck::failed(NAME, seen.join("; "), expected, fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus::{Failed, NotChecked, Ok as Passed};

    #[test]
    fn the_free_space_is_at_least_the_reserve() {
        let dir = Path::new("/data");
        for (free_bytes, reserve, status) in [
            (2 * MIB, DiskReserve::Bytes(2 * MIB), Passed),
            (2 * MIB - 1, DiskReserve::Bytes(2 * MIB), Failed),
            // 5 percent.
            (200 * MIB, DiskReserve::Automatic, Passed),
            (200 * MIB - 1, DiskReserve::Automatic, Failed),
        ] {
            let space = FileSystemSpace { total_bytes: 4_000 * MIB, free_bytes };
            assert_eq!(judge_disk(dir, Ok(space), reserve).status, status, "{free_bytes} {reserve:?}");
        }
        let missing = Err(io::ErrorKind::NotFound.into());
        assert_eq!(judge_disk(dir, missing, DiskReserve::Automatic).status, NotChecked);
        assert!(space_of(existing(Path::new("/no/such/directory"))).is_ok());
        assert_eq!(existing(Path::new("no-such-directory")), Path::new("."));
    }

    #[test]
    fn the_limit_of_open_files_covers_the_sessions() {
        for (limit, status) in [(Some(4_295), Failed), (Some(4_296), Passed), (None, Passed)] {
            assert_eq!(judge_files(limit, 200 + OTHER_FILES).status, status, "{limit:?}");
        }
    }

    #[test]
    fn a_key_that_others_can_read_fails() {
        let directory = tempfile::tempdir().unwrap();
        let (data_dir, key) = (directory.path(), directory.path().join("master.key"));
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        set(data_dir, 0o755);
        assert_eq!(judge_permissions(&permissions(data_dir, &key)).status, Passed);

        fs::write(&key, "key").unwrap();
        set(&key, 0o640);
        let check = judge_permissions(&permissions(data_dir, &key));
        assert!(check.status == Failed && check.seen.contains("master.key has mode 640"), "{check:?}");

        set(&key, 0o600);
        fs::write(data_dir.join(FILE_NAME), "").unwrap();
        set(&data_dir.join(FILE_NAME), 0o604);
        set(data_dir, 0o777);
        let check = judge_permissions(&permissions(data_dir, &key));
        assert!(check.status == Failed && check.seen.matches("mode").count() == 2, "{check:?}");
    }
}
