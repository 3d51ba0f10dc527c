//! Forms that the pages post.

use salvo::Request;
use salvo::http::header::CONTENT_TYPE;

use crate::base::percent;
use crate::http::read_form;

/// Longest body of a form. The longest one has two passwords, an address, and a sealed secret.
const BODY_BYTES_MAX: usize = 8 << 10;
/// Most fields of a form.
const FIELDS_MAX: usize = 16;

/// Fields of a posted form.
#[derive(Debug, Default)]
pub(super) struct PostedForm(Vec<(String, String)>);

impl PostedForm {
    /// Reads a URL-encoded form; `None` if the body is too long or too slow, breaks off, or has another type.
    pub(super) async fn read(req: &mut Request) -> Option<Self> {
        let content_type = req.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return None;
        }
        let (read, is_whole) = read_form(req, BODY_BYTES_MAX).await;
        if is_whole { Self::parse(&read) } else { None }
    }

    fn parse(body: &[u8]) -> Option<Self> {
        let pairs: Vec<&[u8]> = body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).collect();
        if pairs.len() > FIELDS_MAX {
            return None;
        }
        let field = |pair: &[u8]| {
            let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            (percent::decode_form(&pair[..at]), percent::decode_form(pair.get(at + 1..).unwrap_or_default()))
        };
        Some(Self(pairs.into_iter().map(field).collect()))
    }

    /// Returns the value of a field; the empty text if it is absent.
    pub(super) fn value(&self, name: &str) -> &str {
        self.0.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }

    /// Returns whether a box is checked.
    pub(super) fn is_checked(&self, name: &str) -> bool {
        !self.value(name).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_decoded_and_the_first_of_a_name_counts() {
        let form = PostedForm::parse(b"email=ada%40example.com&password=a+b%26c&next=&email=other&box=1&&x").unwrap();

        assert_eq!((form.value("email"), form.value("password")), ("ada@example.com", "a b&c"));
        assert_eq!((form.value("next"), form.value("absent"), form.value("x")), ("", "", ""));
        assert!(form.is_checked("box") && !form.is_checked("absent"));
    }

    #[test]
    fn a_form_with_too_many_fields_is_refused() {
        assert!(PostedForm::parse("a=1&".repeat(FIELDS_MAX).as_bytes()).is_some());
        assert!(PostedForm::parse("a=1&".repeat(FIELDS_MAX + 1).as_bytes()).is_none());
    }

    proptest! {
        #[test]
        fn no_body_panics_the_parser(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = PostedForm::parse(&body);
        }
    }
}
