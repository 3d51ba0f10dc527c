//! Media types: their grammar, and a small table of file name extensions.

const CONTENT_TYPE_BYTES_MAX: usize = 255;

/// Returns a media type with `type/subtype` in lower case and its parameters (RFC 2045 §5.1); `None` if it
/// is malformed or a multipart.
pub(super) fn canonical_type(given: &str) -> Option<String> {
    let (essence, parameters) = match given.split_once(';') {
        Some((essence, parameters)) => (essence.trim_end_matches(' '), Some(parameters)),
        None => (given, None),
    };
    let (kind, subtype) = essence.split_once('/')?;
    if !is_token(kind) || !is_token(subtype) || given.len() > CONTENT_TYPE_BYTES_MAX {
        return None;
    }
    let mut content_type = essence.to_ascii_lowercase();
    // RFC 2045 §6.4: a multipart must not be encoded, and an attachment always is.
    if content_type.starts_with("multipart/") {
        return None;
    }
    let mut rest = parameters.unwrap_or_default();
    while !rest.trim_matches([' ', ';']).is_empty() {
        let (parameter, after) = split_parameter(rest.trim_start_matches([' ', ';']))?;
        content_type.push_str("; ");
        content_type.push_str(parameter);
        rest = after;
    }
    Some(content_type)
}

/// Splits `name=value` or `name="value"` off a list of parameters.
fn split_parameter(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let value_bytes = if let Some(quoted) = value.strip_prefix('"') {
        if !is_token(name) {
            return None;
        }
        let close = quoted.find(['"', '\\']).filter(|&at| quoted[at..].starts_with('"'))?;
        if !quoted[..close].bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
            return None;
        }
        close + 2
    } else {
        let end = value.find([';', ' ']).unwrap_or(value.len());
        if !is_token(name) || !is_token(&value[..end]) {
            return None;
        }
        end
    };
    let (parameter, after) = text.split_at(name.len() + 1 + value_bytes);
    let after = after.trim_start_matches(' ');
    (after.is_empty() || after.starts_with(';')).then_some((parameter, after))
}

/// Returns whether a text is a token (RFC 2045 §5.1).
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&b))
}

pub(super) const UNKNOWN_TYPE: &str = "application/octet-stream";

/// File name extensions and their media types. If a type has several extensions, the first is used for a
/// file without a name.
const TYPES: [(&str, &str); 48] = [
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
];

pub(super) fn type_of_name(filename: &str) -> Option<&'static str> {
    let (_, ending) = filename.rsplit_once('.')?;
    TYPES.iter().find(|(extension, _)| extension.eq_ignore_ascii_case(ending)).map(|&(_, content_type)| content_type)
}

pub(super) fn extension_of_type(content_type: &str) -> Option<&'static str> {
    let essence = content_type.split(';').next().unwrap_or_default();
    TYPES.iter().find(|(_, content_type)| *content_type == essence).map(|&(extension, _)| extension)
}
