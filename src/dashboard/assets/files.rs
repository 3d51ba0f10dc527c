//! The files of the pages in the binary or in a directory, in the form in which they are served.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

use super::bundle::{Bundle, ENTRY, VENDOR};
use super::comments::without_comment_lines;
use super::modules::join_styles;
use crate::base::{blocking, media_type};
use crate::http::StaticText;

/// Files of the dashboard, embedded in the binary.
#[derive(RustEmbed)]
#[folder = "assets/dashboard/"]
struct Files;

/// Page that every page path serves.
const SHELL: &str = "index.html";
/// Style sheet whose imports are joined.
const STYLES: &str = "app.css";
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
        let bytes = blocking::run(move || {
            let read = |path: &str| read_within(&directory, path);
            if path == STYLES {
                let text = |path: &str| String::from_utf8(read(path)?).ok();
                return join_styles(STYLES, &text).map(String::into_bytes);
            }
            read(&path)
        });
        Some(AssetFile { content_type, text: Arc::new(StaticText::new(bytes.await?)) })
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
        let mut sources = BTreeMap::new();
        for name in names {
            let Some(file) = Files::get(&name) else { continue };
            hash.update(name.as_bytes());
            hash.update([0]);
            hash.update(file.metadata.sha256_hash());
            sources.insert(name.into_owned(), file.data);
        }
        let hash: String = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            .chars()
            .take(HASH_CHARS)
            .collect();
        let text = |path: &str| {
            let source = sources.get(path).and_then(|bytes| std::str::from_utf8(bytes).ok())?;
            let is_own = !path.starts_with(VENDOR) && path != SHELL;
            Some(if is_own { without_comment_lines(source) } else { source.to_owned() })
        };
        let modules: Vec<&str> = sources.keys().map(String::as_str).filter(|path| is_module(path)).collect();
        let bundle = Bundle::of(&modules, &text);
        let mut files = BTreeMap::new();
        for (path, bytes) in &sources {
            let Some(content_type) = served_type(path) else { continue };
            let served = match (path.as_str(), &bundle) {
                (STYLES, _) => join_styles(STYLES, &text).map(String::into_bytes),
                (ENTRY, Some(bundle)) => Some(bundle.text.clone().into_bytes()),
                (path, Some(_)) if is_module(path) => continue,
                _ => None,
            };
            let served = served.unwrap_or_else(|| bytes.to_vec());
            files.insert(path.clone(), AssetFile { content_type, text: Arc::new(StaticText::new(served)) });
        }
        let preloaded = bundle.map(|bundle| bundle.outside).unwrap_or_default();
        let shell = text(SHELL).unwrap_or_default();
        let shell = completed_shell(&shell, &hash, &preloaded);
        Self { hash, shell: Arc::new(StaticText::new(shell.into_bytes())), files }
    }
}

/// Returns whether the bundle has a file: the modules in folders, without those of `vendor/`.
fn is_module(path: &str) -> bool {
    path.ends_with(".js") && path.contains('/') && !path.starts_with(VENDOR)
}

/// Returns the shell with the hash in its paths, and with the modules that the first one imports.
fn completed_shell(shell: &str, hash: &str, preloaded: &[String]) -> String {
    let shell = shell.replace(&format!("/dashboard/a/{DEV_HASH}/"), &format!("/dashboard/a/{hash}/"));
    let links: String = preloaded
        .iter()
        .map(|path| format!("<link rel=\"modulepreload\" href=\"/dashboard/a/{hash}/{path}\">\n"))
        .collect();
    match shell.find("<script type=\"module\"") {
        Some(at) => format!("{}{links}{}", &shell[..at], &shell[at..]),
        None => shell,
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

    #[test]
    fn the_shell_names_this_version_and_preloads_modules() {
        let shell =
            "<link href=\"/dashboard/a/dev/app.css\">\n<script type=\"module\" src=\"/dashboard/a/dev/app.js\">";

        let completed = completed_shell(shell, "0123", &["vendor/preact.js".to_owned()]);

        assert_eq!(
            completed,
            "<link href=\"/dashboard/a/0123/app.css\">\n\
             <link rel=\"modulepreload\" href=\"/dashboard/a/0123/vendor/preact.js\">\n\
             <script type=\"module\" src=\"/dashboard/a/0123/app.js\">"
        );
    }

    #[tokio::test]
    async fn a_directory_replaces_the_embedded_files() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("css")).unwrap();
        for (path, text) in [
            ("index.html", "<p>/dashboard/a/dev/</p>"),
            ("app.css", "@import url(\"css/a.css\");"),
            ("css/a.css", "p {}"),
            ("secret.txt", "x"),
        ] {
            std::fs::write(directory.path().join(path), text).unwrap();
        }
        let assets = DashboardAssets::new(Some(directory.path().to_owned()));

        assert_eq!(assets.hash(), "dev");
        assert_eq!(assets.shell().await.unwrap().plain(), "<p>/dashboard/a/dev/</p>");
        assert_eq!(assets.find("app.css").await.unwrap().text.plain(), "p {}\n");
        assert!(assets.find("secret.txt").await.is_none());
        assert!(assets.find("absent.js").await.is_none());
    }

    #[tokio::test]
    async fn the_embedded_files_have_one_hash() {
        let assets = DashboardAssets::new(None);

        assert_eq!(assets.hash().len(), HASH_CHARS);
        assert!(assets.hash().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(!assets.shell().await.unwrap().plain().contains("/dashboard/a/dev/"));
    }
}
