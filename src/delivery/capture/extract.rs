//! Links and codes in a captured message, for tests of sign-up and sign-in. Pure.

use super::content::CapturedContent;
use crate::mime::links_in_html;

/// Maximum number of links of a message.
const LINKS_MAX: usize = 100;
/// Maximum size of a link. Browsers and servers refuse longer ones.
const LINK_BYTES_MAX: usize = 8 << 10;
/// Number of digits of a code.
const CODE_DIGITS: std::ops::RangeInclusive<usize> = 4..=8;
/// Words near a code, in lower case.
const CODE_WORDS: [&str; 2] = ["otp", "pin"];
/// Beginnings of such words.
const CODE_BEGINNINGS: [&str; 6] = ["code", "passcode", "password", "token", "verif", "confirm"];
/// Maximum size of the text that is searched.
const TEXT_BYTES_MAX: usize = 256 << 10;

impl CapturedContent {
    /// Returns the links of the message to web pages, in order, each once. Those of the HTML part come first.
    pub(super) fn find_links(&self) -> Vec<String> {
        let mut links = self.html.as_deref().map(|html| links_in_html(html, LINKS_MAX)).unwrap_or_default();
        links.extend(self.text.as_deref().into_iter().flat_map(links_in_text));
        let mut unique: Vec<String> = Vec::new();
        for link in links {
            if unique.len() < LINKS_MAX && link.len() <= LINK_BYTES_MAX && !unique.contains(&link) {
                unique.push(link);
            }
        }
        unique
    }

    /// Returns the code of the message. It is the first number of four to eight digits in a line with a word such as
    /// `code`, or in the line after it. If no such line has one, it is the first such number that is not a year. Digits in
    /// two groups are one number.
    pub(super) fn find_code(&self) -> Option<String> {
        let subject = self.subject.as_deref().unwrap_or_default();
        let text = beginning(self.text.as_deref().unwrap_or_default());
        let lines: Vec<&str> =
            std::iter::once(subject).chain(text.lines()).filter(|line| !line.trim().is_empty()).collect();
        let is_about_code = |line: &&str| {
            let line = line.to_lowercase();
            line.split(|c: char| !c.is_alphabetic()).any(|word| {
                CODE_WORDS.contains(&word) || CODE_BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
            })
        };
        let near = lines.iter().enumerate().filter(|(_, line)| is_about_code(line));
        let near = near.flat_map(|(at, _)| lines[at..].iter().take(2)).find_map(|line| codes(line).next());
        near.or_else(|| lines.iter().flat_map(|line| codes(line)).find(|code| !is_year(code)))
    }
}

/// Returns the first bytes of a text, at most [`TEXT_BYTES_MAX`].
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

fn links_in_text(text: &str) -> Vec<String> {
    let words = beginning(text).split(|c: char| c.is_whitespace() || "<>\"'".contains(c));
    let link = |word: &str| {
        let at = word.find("https://").or_else(|| word.find("http://"))?;
        let link = word[at..].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '*']);
        (link.len() > "https://".len()).then(|| link.to_owned())
    };
    words.filter_map(link).take(LINKS_MAX).collect()
}

/// Returns the numbers of a line that can be codes, without those in words and links.
fn codes(line: &str) -> impl Iterator<Item = String> + '_ {
    let words = line.split_whitespace().filter(|word| !word.contains("://"));
    let words: Vec<&str> = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect();
    (0..words.len()).filter_map(move |at| {
        let digits = digits_of(words[at])?;
        // Two groups of three, as in `123 456`, are one code.
        let next = words.get(at + 1).and_then(|word| digits_of(word));
        let follows_group = at > 0 && digits_of(words[at - 1]).is_some_and(|digits| digits.len() == 3);
        match next {
            Some(next) if digits.len() == 3 && next.len() == 3 => Some(format!("{digits}{next}")),
            _ if follows_group && digits.len() == 3 => None,
            _ => CODE_DIGITS.contains(&digits.len()).then_some(digits),
        }
    })
}

/// Returns the digits of a number, which a hyphen may divide; `None` for any other word.
fn digits_of(word: &str) -> Option<String> {
    let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '-') && !word.contains("--");
    // More than one hyphen is a date or a telephone number.
    (is_number && !word.is_empty() && word.matches('-').count() <= 1).then(|| word.replace('-', ""))
}

fn is_year(code: &str) -> bool {
    code.len() == 4 && (code.starts_with("19") || code.starts_with("20"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str, html: Option<&str>) -> CapturedContent {
        CapturedContent { text: Some(text.to_owned()), html: html.map(str::to_owned), ..CapturedContent::default() }
    }

    #[test]
    fn links_are_those_of_the_html_part_and_then_of_the_text() {
        let html = "<p><a href=\"https://a.example/?x=1&amp;y=2\">Go</a> <a href='mailto:b@a.example'>b</a>\
                    <a href=https://c.example>c</a></p>";
        let text = "Open (https://d.example/t). Or http://e.example/, <https://c.example>";

        let links = content(text, Some(html)).find_links();

        assert_eq!(
            links,
            ["https://a.example/?x=1&y=2", "https://c.example", "https://d.example/t", "http://e.example/"]
        );
        let long = format!("<a href=\"https://a.example/{}\">a</a>", "x".repeat(LINK_BYTES_MAX));
        assert!(content("", Some(&long)).find_links().is_empty());
    }

    #[test]
    fn the_code_is_the_number_near_a_word_for_it() {
        for (text, expected) in [
            ("Your code is 482913.", Some("482913")),
            ("Shipping to 90210. PIN 4410", Some("90210")),
            ("Shipping to 90210\n\nPIN 4410", Some("4410")),
            ("Order 20417\nYour code:\n482913\n", Some("482913")),
            ("Use 123 456 to sign in", Some("123456")),
            ("Code: 123-456", Some("123456")),
            ("© 2026 Acme. 7731 is your number", Some("7731")),
            ("Open https://a.example/482913 now", None),
            ("Call 555-123-4567", None),
            ("Version 1.2.3", None),
            ("ABC1234", None),
            ("", None),
        ] {
            assert_eq!(content(text, None).find_code().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_code_in_the_subject_is_found() {
        let message = "Subject: =?utf-8?q?991273_is_your_code_=E2=9C=93?=\r\n\r\nHi";

        assert_eq!(CapturedContent::of(message.as_bytes()).code.as_deref(), Some("991273"));
    }
}
