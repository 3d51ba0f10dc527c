//! Joins the files of the dashboard, renders the documents, and compresses both, so that the program embeds them as they are
//! served.
//!
//! The files of the dashboard are in `OUT_DIR/dashboard` afterwards, and the documents in `OUT_DIR/docs`. The forms of a file
//! in brotli (`.br`) and gzip (`.gz`) are beside it if they are smaller.

mod docs;
mod join;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use brotli::enc::BrotliEncoderParams;
use flate2::write::GzEncoder;

const SOURCE: &str = "assets/dashboard";
/// Extensions of the files that the program serves. `html`: the shell.
const EXTENSIONS: [&str; 7] = ["html", "js", "css", "svg", "woff2", "png", "ico"];
/// Highest quality of brotli: the program never compresses these files.
const BROTLI_QUALITY: i32 = 11;
/// Window of brotli, as a power of two: 1 MiB, more than any file.
const BROTLI_WINDOW_BITS: i32 = 20;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCE}");
    for path in ["assets/docs", "docs", "build"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let target = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?);
    let mut sources = BTreeMap::new();
    read_folder(Path::new(SOURCE), "", &mut sources)?;
    write_folder(&target.join("dashboard"), &join::joined(&sources).map_err(io::Error::other)?)?;
    write_folder(&target.join("docs"), &docs::files(|path| fs::read_to_string(path))?)
}

/// Writes files with their compressed forms. The folder has no other files afterwards.
fn write_folder(target: &Path, files: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    if target.exists() {
        fs::remove_dir_all(target)?;
    }
    for (path, bytes) in files {
        let file = target.join(path);
        fs::create_dir_all(file.parent().unwrap_or(target))?;
        fs::write(&file, bytes)?;
        for (extension, encoded) in [("br", brotli(bytes)?), ("gz", gzip(bytes)?)] {
            if encoded.len() < bytes.len() {
                fs::write(target.join(format!("{path}.{extension}")), encoded)?;
            }
        }
    }
    Ok(())
}

/// Adds the served files in a folder and below it by their path.
fn read_folder(folder: &Path, prefix: &str, sources: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            read_folder(&entry.path(), &format!("{path}/"), sources)?;
        } else if EXTENSIONS.iter().any(|extension| name.ends_with(&format!(".{extension}"))) {
            sources.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(())
}

fn brotli(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoded = Vec::new();
    let params = BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW_BITS,
        size_hint: bytes.len(),
        ..BrotliEncoderParams::default()
    };
    brotli::BrotliCompress(&mut &bytes[..], &mut encoded, &params)?;
    Ok(encoded)
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
