//! Files with addresses. Only their owner can read them.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::failure::Failure;

/// A new file that only its owner can read and write.
pub(super) struct PrivateFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl PrivateFile {
    /// Creates a file. Replaces a file with the same name.
    ///
    /// # Errors
    /// Fails if the path is a link, a device or a directory. These stay unchanged, and links are not
    /// followed.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        if is_file(path)? {
            // The old file would keep its mode, and a process that has it open could read the new content.
            fs::remove_file(path).map_err(|error| unusable(path, error))?;
        }
        // `create_new` does not follow a link that another process creates in between.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(|error| unusable(path, error))?;
        Ok(Self { path: path.to_owned(), out: BufWriter::new(file) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes text to a buffer, and the full buffer to the file.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.out.write_all(text.as_bytes()).map_err(|error| unwritable(&self.path, error))
    }

    /// Writes the buffer to the file, and the file to disk.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        let written = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        written.map_err(|error| unwritable(&self.path, error))
    }
}

/// Returns whether the path is a file; `false` if it does not exist.
///
/// # Errors
/// As [`PrivateFile::create`].
pub(super) fn is_file(path: &Path) -> Result<bool, Failure> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(unusable(path, "it is a link, a device or a directory; name a file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unusable(path, error)),
    }
}

fn unusable(path: &Path, why: impl Display) -> Failure {
    Failure::usage(format!("cannot write to {}: {why}", path.display()))
}

pub(super) fn unwritable(path: &Path, error: io::Error) -> Failure {
    Failure::failed(format!("cannot write to {}: {error}", path.display()))
}
