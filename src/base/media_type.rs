//! Media types of files by their extension. Mail clients select the program for a file by its name, so a short list is
//! sufficient.

/// Type of content that nothing else describes (RFC 2046 §4.5.1).
pub const OCTET_STREAM: &str = "application/octet-stream";

/// File name extensions and their media types. If a type has several extensions, the first is used for a
/// file without a name.
const TYPES: [(&str, &str); 50] = [
    ("pdf", "application/pdf"),
    ("txt", "text/plain"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("md", "text/markdown"),
    ("ics", "text/calendar"),
    ("vcf", "text/vcard"),
    ("xml", "application/xml"),
    ("json", "application/json"),
    ("js", "text/javascript"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("rtf", "application/rtf"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("svg", "image/svg+xml"),
    ("bmp", "image/bmp"),
    ("tiff", "image/tiff"),
    ("tif", "image/tiff"),
    ("ico", "image/vnd.microsoft.icon"),
    ("heic", "image/heic"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("m4a", "audio/mp4"),
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("webm", "video/webm"),
    ("avi", "video/x-msvideo"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
    ("7z", "application/x-7z-compressed"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("epub", "application/epub+zip"),
    ("wasm", "application/wasm"),
    ("woff2", "font/woff2"),
];

/// Returns the media type of a filename by its extension, in any letter case; `None` if the extension is unknown.
pub fn of_filename(filename: &str) -> Option<&'static str> {
    let (_, ending) = filename.rsplit_once('.')?;
    TYPES.iter().find(|(extension, _)| extension.eq_ignore_ascii_case(ending)).map(|&(_, content_type)| content_type)
}

/// Returns the usual extension of a content type without its parameters.
pub fn extension(content_type: &str) -> Option<&'static str> {
    let essence = content_type.split(';').next().unwrap_or_default();
    TYPES.iter().find(|(_, content_type)| *content_type == essence).map(|&(extension, _)| extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_found_by_the_last_extension_of_a_filename() {
        for (filename, expected) in [
            ("invoice.PDF", Some("application/pdf")),
            ("archive.tar.gz", Some("application/gzip")),
            ("page.htm", Some("text/html")),
            ("noextension", None),
            ("odd.", None),
            ("mail.eml", None),
            ("", None),
        ] {
            assert_eq!(of_filename(filename), expected, "{filename:?}");
        }
    }

    #[test]
    fn an_extension_is_found_for_a_type_with_parameters() {
        for (content_type, expected) in
            [("text/html; charset=utf-8", Some("html")), ("image/jpeg", Some("jpg")), ("message/rfc822", None)]
        {
            assert_eq!(extension(content_type), expected, "{content_type:?}");
        }
    }
}
