//! Files that hold addresses, for their owner alone.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Makes a file that its owner alone reads and writes, in place of a file of that name.
///
/// # Errors
/// When what has the name is no file, as a link, a device and a directory are none: they are left
/// alone, and what a link leads to is not written to.
pub(super) fn create(path: &Path) -> io::Result<File> {
    if is_file(path)? {
        // Its mode would stay, and whoever has it open would go on reading.
        fs::remove_file(path)?;
    }
    // With `create_new` a link that somebody makes in between is not followed.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Returns whether there is a file of that name, and not nothing.
///
/// # Errors
/// As [`create`].
pub(super) fn is_file(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(io::Error::other("it is a link, a device or a directory; name a file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
