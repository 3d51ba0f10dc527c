//! Estimates of JSON sizes. An estimate is never below the actual size. Pure.

/// Returns the JSON size of a text in bytes, with its quotes and the punctuation around them.
pub(super) fn text_bytes(text: &str) -> usize {
    let escaped = text.bytes().map(|byte| match byte {
        0..0x20 => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    });
    escaped.sum::<usize>() + 8
}
