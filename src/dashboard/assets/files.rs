//! The files of the pages in the binary or in a directory, in the form in which they are served.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

use crate::base::{blocking, media_type};
use crate::dashboard::embedded::texts;
use crate::http::StaticText;

/// Files of the dashboard, joined and compressed by `build/main.rs`.
#[derive(RustEmbed)]
#[folder = "$OUT_DIR/dashboard/"]
struct Files;

/// Page that every page path serves.
const SHELL: &str = "index.html";
/// Hash in the paths of a shell as it is written, and of files from a directory.
pub(super) const DEV_HASH: &str = "dev";
/// Extensions of the files that are served.
const EXTENSIONS: [&str; 6] = ["js", "css", "svg", "woff2", "png", "ico"];
/// Maximum size of a file in the directory of `--ui-dir`.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Hexadecimal digits of the hash.
const HASH_CHARS: usize = 16;

/// Files of the pages.
pub struct DashboardAssets {
    /// Directory that is read instead of the binary.
    directory: Option<PathBuf>,
    embedded: OnceLock<EmbeddedFiles>,
}

/// A file as it is served.
#[derive(Clone)]
pub(super) struct AssetFile {
    pub(super) content_type: Cow<'static, str>,
    pub(super) text: Arc<StaticText>,
}

/// The embedded files in their served form.
struct EmbeddedFiles {
    hash: String,
    shell: Arc<StaticText>,
    files: BTreeMap<String, AssetFile>,
}

impl DashboardAssets {
    /// Returns the embedded files, or those of a directory.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self { directory, embedded: OnceLock::new() }
    }

    /// Returns the hash in the paths of the files.
    pub(super) fn hash(&self) -> &str {
        if self.directory.is_some() { DEV_HASH } else { &self.embedded().hash }
    }

    /// Returns the path of the files, with a slash at the end.
    pub fn base_path(&self) -> String {
        format!("/dashboard/a/{}/", self.hash())
    }

    /// Returns a file by its path; `None` if it does not exist or is not served.
    pub(super) async fn find(&self, path: &str) -> Option<AssetFile> {
        let content_type = served_type(path)?;
        let Some(directory) = self.directory.clone() else { return self.embedded().files.get(path).cloned() };
        let path = path.to_owned();
        let bytes = blocking::run(move || read_within(&directory, &path)).await?;
        Some(AssetFile { content_type, text: Arc::new(StaticText::new(bytes)) })
    }

    /// Returns the page that every page path serves; `None` if the directory has none.
    pub(super) async fn shell(&self) -> Option<Arc<StaticText>> {
        let Some(directory) = self.directory.clone() else { return Some(Arc::clone(&self.embedded().shell)) };
        let bytes = blocking::run(move || read_within(&directory, SHELL)).await?;
        Some(Arc::new(StaticText::new(bytes)))
    }

    fn embedded(&self) -> &EmbeddedFiles {
        self.embedded.get_or_init(EmbeddedFiles::load)
    }
}

impl EmbeddedFiles {
    fn load() -> Self {
        let mut names: Vec<Cow<'static, str>> = Files::iter().collect();
        names.sort_unstable();
        let mut hash = Sha256::new();
        for name in names {
            let Some(file) = Files::get(&name) else { continue };
            hash.update(name.as_bytes());
            hash.update([0]);
            hash.update(file.metadata.sha256_hash());
        }
        let file = |(path, text): (String, Arc<StaticText>)| {
            let content_type = served_type(&path)?;
            Some((path, AssetFile { content_type, text }))
        };
        let files = texts::<Files>().into_iter().filter_map(file).collect();
        let hash: String = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            .chars()
            .take(HASH_CHARS)
            .collect();
        let shell = Files::get(SHELL).map(|file| file.data).unwrap_or_default();
        let shell = String::from_utf8_lossy(&shell)
            .replace(&format!("/dashboard/a/{DEV_HASH}/"), &format!("/dashboard/a/{hash}/"));
        Self { hash, shell: Arc::new(StaticText::new(shell.into_bytes())), files }
    }
}

/// Returns the `Content-Type` of a file that is served; `None` for any other path, such as one that leaves the folder.
fn served_type(path: &str) -> Option<Cow<'static, str>> {
    let is_segment = |segment: &str| {
        let is_known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !segment.is_empty() && !segment.starts_with('.') && segment.chars().all(is_known)
    };
    let extension = path.rsplit_once('.').map(|(_, extension)| extension)?;
    if !path.split('/').all(is_segment) || !EXTENSIONS.contains(&extension) {
        return None;
    }
    let media_type = media_type::of_filename(path).unwrap_or(media_type::OCTET_STREAM);
    Some(match media_type.starts_with("text/") {
        true => Cow::Owned(format!("{media_type}; charset=utf-8")),
        false => Cow::Borrowed(media_type),
    })
}

fn read_within(directory: &std::path::Path, path: &str) -> Option<Vec<u8>> {
    let path = directory.join(path);
    let is_small = std::fs::metadata(&path).ok()?.len() <= FILE_BYTES_MAX;
    if is_small { std::fs::read(path).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_pages_are_served() {
        for (path, expected) in [
            ("app.js", Some("text/javascript; charset=utf-8")),
            ("css/tokens.css", Some("text/css; charset=utf-8")),
            ("fonts/inter-latin.woff2", Some("font/woff2")),
            ("mark.svg", Some("image/svg+xml")),
            ("../app.js", None),
            ("a/../../etc/passwd.js", None),
            ("/etc/x.js", None),
            (".git/x.js", None),
            ("a//b.js", None),
            ("a%2fb.js", None),
            ("index.html", None),
            ("vendor/VENDOR.md", None),
            ("types/api.d.ts", None),
            ("", None),
        ] {
            assert_eq!(served_type(path).as_deref(), expected, "{path}");
        }
    }

    #[tokio::test]
    async fn a_directory_replaces_the_embedded_files() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("css")).unwrap();
        for (path, text) in [("index.html", "<p>/dashboard/a/dev/</p>"), ("css/a.css", "p {}"), ("secret.txt", "x")] {
            std::fs::write(directory.path().join(path), text).unwrap();
        }
        let assets = DashboardAssets::new(Some(directory.path().to_owned()));

        assert_eq!(assets.hash(), "dev");
        assert_eq!(assets.shell().await.unwrap().plain(), "<p>/dashboard/a/dev/</p>");
        assert_eq!(assets.find("css/a.css").await.unwrap().text.plain(), "p {}");
        assert!(assets.find("secret.txt").await.is_none());
        assert!(assets.find("absent.js").await.is_none());
    }

    #[tokio::test]
    async fn the_embedded_files_have_one_hash() {
        let assets = DashboardAssets::new(None);

        assert_eq!(assets.hash().len(), HASH_CHARS);
        assert!(assets.hash().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(!assets.shell().await.unwrap().plain().contains("/dashboard/a/dev/"));
        let is_joined = |path: &&String| path.ends_with(".js") && path.contains('/') && !path.starts_with("vendor/");
        assert_eq!(assets.embedded().files.keys().find(is_joined), None);
    }
}
