//! The file with the passwords of smarthosts: `NAME=PASSWORD` lines. systemd can pass it as a credential, so that no
//! password is in the environment, which child processes inherit and tools of the machine show.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::RouteError;
use crate::config::relay::{CREDENTIAL_BYTES_MAX, RelayPassword};

/// Name of the credential of systemd that is the default file.
const CREDENTIAL: &str = "smarthost-passwords";
/// Maximum size of the file.
const FILE_BYTES_MAX: usize = 64 << 10;

/// The file, which is read when the first password is needed: another verb can have the setting without access to the
/// file.
pub(super) struct PasswordFile {
    path: Option<PathBuf>,
    passwords: Option<BTreeMap<String, RelayPassword>>,
}

impl PasswordFile {
    /// Returns the file of the setting, or else the credential in a directory of systemd, if it exists.
    pub(super) fn new(setting: Option<PathBuf>, credentials: Option<&Path>) -> Self {
        let credential = || credentials.map(|directory| directory.join(CREDENTIAL)).filter(|path| path.is_file());
        Self { path: setting.or_else(credential), passwords: None }
    }

    /// Returns the password of a smarthost; `None` if the file or its line does not exist.
    ///
    /// # Errors
    /// [`RouteError::PasswordFile`].
    pub(super) fn password(&mut self, name: &str) -> Result<Option<RelayPassword>, RouteError> {
        let Some(path) = &self.path else { return Ok(None) };
        if self.passwords.is_none() {
            let why = |why| RouteError::PasswordFile { path: path.clone(), why };
            self.passwords = Some(read(path).and_then(|text| parse(&text)).map_err(why)?);
        }
        Ok(self.passwords.as_ref().and_then(|passwords| passwords.get(name).cloned()))
    }
}

fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("it cannot be read ({error})"))?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(format!("it is larger than {} KiB", FILE_BYTES_MAX >> 10));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Parses lines. Empty lines and lines that start with `#` are skipped. Errors contain no text of the file.
fn parse(text: &str) -> Result<BTreeMap<String, RelayPassword>, String> {
    let mut passwords = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, password) = line.split_once('=').ok_or_else(|| format!("line {number} has no ="))?;
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(format!("line {number} has no name before the =, or a space in it"));
        }
        let is_valid = (1..=CREDENTIAL_BYTES_MAX).contains(&password.len()) && !password.chars().any(char::is_control);
        if !is_valid {
            return Err(format!(
                "the password in line {number} does not have 1 to {CREDENTIAL_BYTES_MAX} bytes without control characters"
            ));
        }
        if passwords.insert(name.to_owned(), RelayPassword::new(password)).is_some() {
            return Err(format!("line {number} repeats a name"));
        }
    }
    Ok(passwords)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_name_and_a_password() {
        let passwords = parse("# smarthosts\n\nrelay=a b=c#\r\neu-1= x\n").unwrap();

        let passwords: Vec<_> = passwords.iter().map(|(name, password)| (name.as_str(), password.reveal())).collect();
        assert_eq!(passwords, [("eu-1", " x"), ("relay", "a b=c#")]);
    }

    #[test]
    fn an_invalid_line_is_an_error_without_its_text() {
        let long = format!("relay={}", "x".repeat(CREDENTIAL_BYTES_MAX + 1));
        for (text, wanted) in [
            ("hunter2", "line 1 has no ="),
            ("a=hunter2\nb=", "line 2"),
            ("a=hunter2\tx", "line 1"),
            ("a =hunter2", "a space"),
            ("=hunter2", "no name"),
            ("a=hunter2\na=hunter3", "line 2 repeats a name"),
            (long.as_str(), "line 1"),
        ] {
            let why = parse(text).unwrap_err();

            assert!(why.contains(wanted) && !why.contains("hunter"), "{text}: {why}");
        }
    }

    #[test]
    fn the_file_is_the_setting_or_the_credential_that_exists() {
        let directory = tempfile::tempdir().unwrap();
        let path = |setting: Option<&str>| PasswordFile::new(setting.map(PathBuf::from), Some(directory.path())).path;
        assert_eq!(path(None), None);

        std::fs::write(directory.path().join(CREDENTIAL), "relay=hunter2").unwrap();

        assert_eq!(path(None), Some(directory.path().join(CREDENTIAL)));
        assert_eq!(path(Some("other")), Some(PathBuf::from("other")));
        let found = PasswordFile::new(None, Some(directory.path())).password("relay").unwrap();
        assert_eq!(found, Some(RelayPassword::new("hunter2")));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_when_a_password_is_needed() {
        let directory = tempfile::tempdir().unwrap();
        let large = directory.path().join("large");
        std::fs::write(&large, vec![b'#'; FILE_BYTES_MAX + 1]).unwrap();
        for (path, wanted) in [(directory.path().join("none"), "it cannot be read"), (large, "larger than 64 KiB")] {
            let error = PasswordFile::new(Some(path.clone()), None).password("relay").unwrap_err().to_string();

            assert!(error.contains(wanted) && error.contains(path.to_str().unwrap()), "{error}");
        }
    }
}
