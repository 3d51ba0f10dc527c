//! Grammar of the content type of an attachment.

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
