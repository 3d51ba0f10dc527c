//! Reads arbitrary messages of the built-in mailbox. Any program on the machine can send to it. The results stay within
//! their limits.

use ringmail::delivery::capture::CapturedContent;

pub(crate) fn check(message: &[u8]) {
    let content = CapturedContent::of(message);

    assert!(content.headers.len() <= 500);
    assert!(content.headers.iter().all(|(name, value)| !format!("{name}{value}").contains(['\r', '\n'])));
    assert!(content.parts.len() <= 200);
    // A line break of quoted-printable text can become two bytes.
    assert!(content.parts.iter().all(|part| part.size <= 2 * message.len()));
    assert!(content.links.len() <= 100 && content.links.iter().all(|link| link.starts_with("http")));
    assert!(content.code.is_none_or(|code| (4..=8).contains(&code.len()) && code.bytes().all(|c| c.is_ascii_digit())));
}
