//! Selects the language of the page from the `Accept-Language` header. Pure.

use super::strings::{ENGLISH, LANGUAGES, PageStrings};

/// Number of header bytes that are parsed. A browser sends about 50.
const HEADER_BYTES_MAX: usize = 1_024;
/// Number of language ranges that are parsed.
const RANGES_MAX: usize = 32;
/// Highest weight, in thousandths.
const WEIGHT_MAX: u16 = 1_000;

/// Returns the sentences for an `Accept-Language` header (RFC 9110 §12.5.4): the available language of the
/// highest weight, the first of several with equal weight. Returns English if no language is available.
///
/// Only the language of a range is compared, so that `de-AT` matches `de`. This is the lookup of RFC 4647
/// §3.4 for a list of languages without regions. An invalid range is ignored.
pub(super) fn negotiate(header: &str) -> &'static PageStrings {
    let mut end = header.len().min(HEADER_BYTES_MAX);
    while !header.is_char_boundary(end) {
        end -= 1;
    }
    let mut best: Option<(u16, &'static PageStrings)> = None;
    for range in header[..end].split(',').take(RANGES_MAX) {
        let Some((strings, weight)) = parse_range(range) else { continue };
        if weight > 0 && best.is_none_or(|(highest, _)| weight > highest) {
            best = Some((weight, strings));
        }
    }
    best.map_or(&ENGLISH, |(_, strings)| strings)
}

/// Parses one language range with its weight; `None` if it is invalid or its language is not available.
fn parse_range(range: &str) -> Option<(&'static PageStrings, u16)> {
    let mut parts = range.split(';').map(str::trim);
    let language = parts.next()?.split('-').next()?;
    let strings = if language == "*" {
        &ENGLISH
    } else {
        LANGUAGES.into_iter().find(|strings| strings.tag.eq_ignore_ascii_case(language))?
    };
    let weight = match parts.next() {
        None => WEIGHT_MAX,
        Some(parameter) => {
            let (name, value) = parameter.split_once('=')?;
            if !name.trim().eq_ignore_ascii_case("q") {
                return None;
            }
            weight(value.trim())?
        }
    };
    parts.next().is_none().then_some((strings, weight))
}

/// Parses a weight (RFC 9110 §12.4.2): `0` or `1`, with up to three digits after a point.
fn weight(text: &str) -> Option<u16> {
    let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
    if digits.len() > 3 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let thousandths: u16 = format!("{digits:0<3}").parse().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(WEIGHT_MAX),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_language_of_the_highest_weight_is_used() {
        for (header, tag) in [
            ("", "en"),
            ("de", "de"),
            ("DE-at", "de"),
            ("de-Latn-DE-1996", "de"),
            ("en-US,en;q=0.9,de;q=0.8", "en"),
            ("de;q=0.5, fr;q=0.9", "fr"),
            ("fr;q=0.8,es;q=0.8", "fr"),
            ("ja,ko;q=0.9,nl;q=0.1", "nl"),
            ("ja", "en"),
            ("*", "en"),
            ("ja, *;q=0.5, pt;q=0.4", "en"),
            ("pt-BR , en;q=0.5", "pt"),
            ("de;q=0, nl;q=0.001", "nl"),
            ("de;q=0", "en"),
            ("de ; q = 0.7, es;q=0.9", "es"),
            ("de;q=1.000,es;q=0.999", "de"),
            ("deu", "en"),
            ("d", "en"),
        ] {
            assert_eq!(negotiate(header).tag, tag, "{header}");
        }
    }

    #[test]
    fn an_invalid_range_is_ignored() {
        for header in [
            "de;q=1.1",
            "de;q=2",
            "de;q=-1",
            "de;q=0.1234",
            "de;q=.5",
            "de;q=1e0",
            "de;q=",
            "de;q",
            "de;x=1",
            "de;q=1;q=1",
            "de_AT",
            "<script>",
            "de\u{0}",
            "ｄｅ",
            ";;;,,,==",
            "-de",
            "d e",
        ] {
            assert_eq!(negotiate(header).tag, "en", "{header}");
        }
    }

    #[test]
    fn only_the_start_of_a_header_is_parsed() {
        let late = format!("{}de", "ja,".repeat(RANGES_MAX));
        let long = format!("{},de", "x".repeat(HEADER_BYTES_MAX));
        let split = format!("{}äde", "x".repeat(HEADER_BYTES_MAX - 1));

        for header in [late, long, split, "de".repeat(5_000_000)] {
            assert_eq!(negotiate(&header).tag, "en");
        }
    }

    proptest! {
        #[test]
        fn no_header_panics_the_parser(header in ".{0,200}|[a-z*;q=0-9.,-]{0,2000}") {
            let _ = negotiate(&header);
        }

        #[test]
        fn every_weight_is_parsed(weight in 0_u16..=1000) {
            let text = format!("{}.{:03}", weight / 1000, weight % 1000);

            prop_assert_eq!(super::weight(&text), Some(weight));
        }
    }
}
