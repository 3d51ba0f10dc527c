//! Recognition of form bodies, for the error of a body that is not JSON.

/// Bytes at the start of a body that are examined.
const EXAMINED_BYTES_MAX: usize = 1_024;

/// Returns the media type of a form that the body looks like, by its bytes; `None` if it looks like no form.
pub(super) fn form_type(raw: &[u8]) -> Option<&'static str> {
    let start = &raw[..raw.len().min(EXAMINED_BYTES_MAX)];
    let start = start.trim_ascii_start();
    // RFC 7578 §4.2: every part has this header.
    if start.starts_with(b"--") && contains_ignoring_case(start, b"content-disposition: form-data") {
        return Some("multipart/form-data");
    }
    let name = start.split(|byte| *byte == b'=').next().filter(|name| name.len() < start.len())?;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.[]%+*".contains(byte);
    (!name.is_empty() && name.iter().all(is_name)).then_some("application/x-www-form-urlencoded")
}

fn contains_ignoring_case(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_recognized_by_its_bytes() {
        let urlencoded = Some("application/x-www-form-urlencoded");
        for (body, expected) in [
            ("from=a%40example.com&to=b", urlencoded),
            ("to%5B%5D=a&to[]=b", urlencoded),
            (" subject=", urlencoded),
            ("--x\r\nContent-Disposition: form-data; name=\"from\"\r\n\r\na", Some("multipart/form-data")),
            ("--x\r\ncontent-disposition: Form-Data; name=\"from\"", Some("multipart/form-data")),
            ("", None),
            ("{\"a=b\":1", None),
            ("[1", None),
            ("hello", None),
            ("a b=c", None),
            ("=a", None),
            ("-- a list --", None),
            ("<a href=\"b\">", None),
        ] {
            assert_eq!(form_type(body.as_bytes()), expected, "{body}");
        }
        assert_eq!(form_type("a".repeat(5_000).as_bytes()), None);
    }
}
