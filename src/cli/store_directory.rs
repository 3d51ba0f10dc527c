//! Data directory of a verb that names none: the directory with a store.

use std::io;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::admin::AdminClient;
use crate::config::{DEV_DIRECTORY, SERVE_DIRECTORY, SERVICE_DIRECTORY};
use crate::store::FILE_NAME;

/// Directories that are searched for a store.
const SEARCHED: [&str; 3] = [SERVE_DIRECTORY, DEV_DIRECTORY, SERVICE_DIRECTORY];

/// A data directory, and the reason for its choice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DataDirectory {
    pub(super) path: PathBuf,
    /// Whether other directories have a store too: the user might mean one of them.
    pub(super) is_one_of_several: bool,
}

/// Returns the directory that contains a store; if several do, the one whose server runs; if none does, the
/// default directory of `ringmail serve`.
///
/// # Errors
/// If several directories contain a store and not exactly one of them has a server. If this user cannot
/// read a directory, and no other one contains a store.
pub(super) async fn find() -> Result<DataDirectory, Failure> {
    find_among(&SEARCHED.map(Path::new)).await
}

async fn find_among(directories: &[&Path]) -> Result<DataDirectory, Failure> {
    let (mut with_store, mut unreadable) = (Vec::new(), None);
    for directory in directories {
        match has_store(directory) {
            Ok(true) => with_store.push(*directory),
            Ok(false) => {}
            Err(error) => unreadable = Some((*directory, error)),
        }
    }
    let chosen = |path: &Path, is_one_of_several| Ok(DataDirectory { path: path.to_owned(), is_one_of_several });
    match (with_store.as_slice(), unreadable) {
        ([only], _) => chosen(only, false),
        ([], None) => chosen(directories.first().expect("a directory is searched"), false),
        ([], Some((directory, error))) => Err(Failure::failed(format!(
            "cannot look for a store in {} ({error}); run this as root or as the user of the server, or name another \
             directory with --data-dir",
            directory.display()
        ))),
        (several, _) => {
            let mut with_server = Vec::new();
            for directory in several {
                if AdminClient::connect(directory, None).await.is_ok() {
                    with_server.push(*directory);
                }
            }
            match with_server.as_slice() {
                [only] => chosen(only, true),
                _ => {
                    let names: Vec<String> = several.iter().map(|path| path.display().to_string()).collect();
                    let several = names.join(" and ");
                    Err(Failure::usage(format!("each of {several} contains a store; choose one with --data-dir")))
                }
            }
        }
    }
}

/// Returns whether a directory contains a store.
///
/// # Errors
/// Any error except that the file or the directory does not exist, such as a missing permission.
fn has_store(directory: &Path) -> io::Result<bool> {
    match std::fs::metadata(directory.join(FILE_NAME)) {
        Ok(found) => Ok(found.is_file()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    /// Returns a directory with the named subdirectories. Each of them contains a store.
    fn with_stores(names: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::create_dir(root.path().join(name)).unwrap();
            std::fs::write(root.path().join(name).join(FILE_NAME), b"").unwrap();
        }
        root
    }

    async fn found(root: &tempfile::TempDir) -> Result<(String, bool), Failure> {
        let directories = ["serve", "dev", "service"].map(|name| root.path().join(name));
        let found = find_among(&directories.each_ref().map(PathBuf::as_path)).await?;
        Ok((found.path.file_name().unwrap().to_str().unwrap().to_owned(), found.is_one_of_several))
    }

    #[tokio::test]
    async fn the_only_directory_with_a_store_is_found_and_else_the_default() {
        for (stores, chosen) in
            [(&[][..], "serve"), (&["serve"], "serve"), (&["dev"], "dev"), (&["service"], "service")]
        {
            let root = with_stores(stores);

            assert_eq!(found(&root).await.unwrap(), (chosen.to_owned(), false), "{stores:?}");
        }
    }

    #[tokio::test]
    async fn among_several_stores_the_one_with_a_server_is_found() {
        let root = with_stores(&["serve", "dev", "service"]);
        assert!(found(&root).await.is_err());

        let service = UnixListener::bind(root.path().join("service/ringmail.sock")).unwrap();
        assert_eq!(found(&root).await.unwrap(), ("service".to_owned(), true));

        let _dev = UnixListener::bind(root.path().join("dev/ringmail.sock")).unwrap();
        assert!(found(&root).await.is_err());
        drop(service);
        assert_eq!(found(&root).await.unwrap(), ("dev".to_owned(), true));
    }

    #[tokio::test]
    async fn an_unreadable_directory_is_reported_unless_another_one_contains_a_store() {
        let root = with_stores(&[]);
        // Root may read every directory. A link to itself is unreadable for every user.
        std::os::unix::fs::symlink("service", root.path().join("service")).unwrap();
        let failure = found(&root).await.unwrap_err();
        assert!(format!("{failure:?}").contains("--data-dir"), "{failure:?}");

        std::fs::create_dir(root.path().join("dev")).unwrap();
        std::fs::write(root.path().join("dev").join(FILE_NAME), b"").unwrap();
        assert_eq!(found(&root).await.unwrap(), ("dev".to_owned(), false));
    }

    #[test]
    fn the_package_and_the_unit_use_the_directory_of_the_service() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();

        assert!(read("packaging/deb/ringmail.tmpfile").contains(&format!("d {SERVICE_DIRECTORY} 0700")));
        let state = SERVICE_DIRECTORY.strip_prefix("/var/lib/").unwrap();
        assert!(read("systemd/ringmail.service").lines().any(|line| line == format!("StateDirectory={state}")));
    }

    #[test]
    fn the_unit_starts_a_failed_server_again_without_a_limit() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let unit = std::fs::read_to_string(root.join("systemd/ringmail.service")).unwrap();
        let (head, service) = unit.split_once("[Service]").unwrap();

        assert!(
            head.lines().any(|line| line == "StartLimitIntervalSec=0"),
            "a limit ends the service after some starts"
        );
        assert!(service.lines().any(|line| line == "Restart=on-failure"));
        assert!(!unit.contains("StartLimitBurst"));
    }
}
