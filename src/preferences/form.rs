//! What a request to a link asks for, read from its body. Pure.

use crate::base::id::TopicId;

/// Bytes of a body that are looked at: a form with the 500 topics that a page can list, all of them
/// checked, takes 43,000, and a mail program sends some two hundred.
pub(super) const BODY_BYTES_MAX: usize = 64 << 10;
/// Fields of a form that are looked at: two for each of those topics, and a few.
const FIELDS_MAX: usize = 1_100;

/// How much of a body was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyExtent {
    /// All there is.
    Whole,
    /// Its start: it was too long, too slow, or broken off.
    Start,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FormAction {
    /// A mail program unsubscribes for its owner and wants no page (RFC 8058 §3.2).
    OneClick,
    /// The button of what the link is about.
    Unsubscribe,
    /// The button of everything.
    UnsubscribeFromEverything,
    /// The choices.
    Save(Choices),
    /// Takes back what this visit changed, by its sealed token.
    Undo(String),
    /// It cannot be told, so that nothing may change.
    Unclear,
}

/// What a form with boxes says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choices {
    /// The topics that the page showed: what its reader decided about.
    pub(super) shown: Vec<TopicId>,
    /// Those whose boxes are checked.
    pub(super) checked: Vec<TopicId>,
}

/// Returns what a body asks for.
///
/// A mail program is known by the pair of RFC 8058 §3.1 in either of the encodings it names, whatever
/// the request says of its type and however much of it has come. A person's browser sends a form,
/// which must be whole: a missing end would read as boxes that are not checked.
pub(super) fn action(body: &[u8], extent: BodyExtent) -> FormAction {
    if has_one_click_pair(body) {
        return FormAction::OneClick;
    }
    if extent == BodyExtent::Start {
        return FormAction::Unclear;
    }
    let fields: Vec<(String, String)> =
        body.split(|byte| *byte == b'&').take(FIELDS_MAX + 1).filter_map(field).collect();
    if fields.len() > FIELDS_MAX {
        return FormAction::Unclear;
    }
    let value = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    if let Some(sealed) = value("undo") {
        return FormAction::Undo(sealed.to_owned());
    }
    if value("prefs") == Some("1") {
        let topics = |wanted: &str| {
            let named = fields.iter().filter(|(name, _)| name == wanted);
            named.filter_map(|(_, value)| TopicId::parse(value)).collect()
        };
        return FormAction::Save(Choices { shown: topics("shown"), checked: topics("topic") });
    }
    match value("unsubscribe") {
        Some("everything") => FormAction::UnsubscribeFromEverything,
        // A post without any of our fields comes from a program that knows the header field alone.
        _ => FormAction::Unsubscribe,
    }
}

fn has_one_click_pair(body: &[u8]) -> bool {
    let find =
        |text: &[u8], wanted: &[u8]| text.windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted));
    let name = b"List-Unsubscribe";
    find(body, name).and_then(|at| find(&body[at + name.len()..], b"One-Click")).is_some()
}

/// Reads one field of a url-encoded form. Bytes that are no text are replaced: no name and no value
/// of ours has any.
fn field(pair: &[u8]) -> Option<(String, String)> {
    if pair.is_empty() {
        return None;
    }
    let (name, value) = match pair.iter().position(|byte| *byte == b'=') {
        Some(at) => (&pair[..at], &pair[at + 1..]),
        None => (pair, &[][..]),
    };
    Some((decode(name), decode(value)))
}

pub(super) fn decode(text: &[u8]) -> String {
    let digit =
        |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16)).and_then(|d| u8::try_from(d).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(high << 4 | low);
                at += 3;
                continue;
            }
            (b'+', ..) => bytes.push(b' '),
            _ => bytes.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::id::Id;
    use crate::topics::TOPICS_MAX;

    fn whole(body: &str) -> FormAction {
        action(body.as_bytes(), BodyExtent::Whole)
    }

    #[test]
    fn a_mail_program_is_known_by_the_pair_in_either_encoding_and_from_the_start_alone() {
        let multipart =
            "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";
        for body in [
            "List-Unsubscribe=One-Click",
            "list-unsubscribe=one-click&x=1",
            "x=1&List-Unsubscribe=One-Click\r\n",
            multipart,
        ] {
            assert_eq!(whole(body), FormAction::OneClick, "{body}");
            assert_eq!(action(body.as_bytes(), BodyExtent::Start), FormAction::OneClick, "{body}");
        }
        for body in ["", "List-Unsubscribe=", "One-Click=List-Unsubscribe", "{}", "unsubscribe=topic", "x=1"] {
            assert_eq!(whole(body), FormAction::Unsubscribe, "{body}");
            assert_eq!(action(body.as_bytes(), BodyExtent::Start), FormAction::Unclear, "{body}");
        }
    }

    #[test]
    fn the_buttons_of_the_page_are_told_apart() {
        assert_eq!(whole("unsubscribe=everything"), FormAction::UnsubscribeFromEverything);
        assert_eq!(whole("undo=AbC-_1"), FormAction::Undo("AbC-_1".into()));
        assert_eq!(whole("prefs=1"), FormAction::Save(Choices::default()));
    }

    #[test]
    fn the_topics_are_read_and_what_is_no_id_is_left_out() {
        let (low, high) = (TopicId::MIN, TopicId::MAX);
        let encoded = high.to_string().replace('-', "%2D");
        let body = format!("topic={low}&prefs=1&topic=x&shown={encoded}&topic=&other={low}&topic={encoded}&shown=x");

        assert_eq!(whole(&body), FormAction::Save(Choices { shown: vec![high], checked: vec![low, high] }));
        assert_eq!(action(body.as_bytes(), BodyExtent::Start), FormAction::Unclear);
    }

    #[test]
    fn the_longest_page_with_every_box_checked_is_read() {
        let id = TopicId::MAX;
        let body = format!("prefs=1{}", format!("&shown={id}&topic={id}").repeat(TOPICS_MAX));

        assert!(body.len() <= BODY_BYTES_MAX);
        assert_eq!(
            whole(&body),
            FormAction::Save(Choices { shown: vec![id; TOPICS_MAX], checked: vec![id; TOPICS_MAX] })
        );
    }

    #[test]
    fn a_form_of_too_many_fields_changes_nothing() {
        let body = format!("prefs=1{}", "&topic=x".repeat(FIELDS_MAX));

        assert_eq!(whole(&body), FormAction::Unclear);
    }

    #[test]
    fn percent_signs_that_encode_nothing_stay() {
        for (text, decoded) in
            [("a+b%20c", "a b c"), ("%", "%"), ("%2", "%2"), ("%zz%41", "%zzA"), ("%c3%a4", "ä"), ("%ff", "\u{fffd}")]
        {
            assert_eq!(decode(text.as_bytes()), decoded);
        }
    }

    proptest! {
        #[test]
        fn no_body_panics_the_reader(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (action(&body, BodyExtent::Whole), action(&body, BodyExtent::Start));
        }

        #[test]
        fn every_id_reads_back(topics in proptest::collection::vec(any::<[u8; 16]>(), 0..20)) {
            let topics: Vec<TopicId> = topics.into_iter().map(Id::from_bytes).collect();
            let body = topics.iter().fold("prefs=1".to_owned(), |body, topic| format!("{body}&shown={topic}&topic={topic}"));

            prop_assert_eq!(whole(&body), FormAction::Save(Choices { shown: topics.clone(), checked: topics }));
        }
    }
}
