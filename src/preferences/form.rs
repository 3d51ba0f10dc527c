//! Parses the body of a POST request to a link. Pure.

use crate::base::id::TopicId;
use crate::base::percent;

/// Longest body that is parsed, in bytes. A form with 500 topics, the most that a page can list, and all
/// boxes checked has 43,000 bytes. A mail program sends about 200.
pub(super) const BODY_BYTES_MAX: usize = 64 << 10;
/// Most fields of a form: two for each of the 500 topics, and a few more.
const FIELDS_MAX: usize = 1_100;

/// Part of a body that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyExtent {
    /// The complete body.
    Whole,
    /// The start of the body. The rest was too long, too slow, or cut off.
    Start,
}

/// Action that a body requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FormAction {
    /// One-click unsubscribe by a mail program, which expects no page (RFC 8058 §3.2).
    OneClick,
    /// The unsubscribe button of the link's own scope.
    Unsubscribe,
    /// The button that unsubscribes from everything.
    UnsubscribeFromEverything,
    /// The button that saves the choices.
    Save(PostedChoices),
    /// The undo button, with its sealed token.
    Undo(String),
    /// An incomplete form, or a form with too many fields. It must change nothing.
    Invalid,
}

/// Content of the form with a box for each topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PostedChoices {
    /// Topics that the page listed. The recipient decides about these only.
    pub(super) shown: Vec<TopicId>,
    /// Topics with checked boxes.
    pub(super) checked: Vec<TopicId>,
}

/// Returns the action that a body requests.
///
/// A body with the key and value of RFC 8058 §3.1, in either of its two encodings, is from a mail
/// program. This ignores the content type and does not need the whole body. The form of a browser must
/// be whole: a missing end would count as boxes that are not checked.
pub(super) fn parse_action(body: &[u8], extent: BodyExtent) -> FormAction {
    if has_one_click_pair(body) {
        return FormAction::OneClick;
    }
    if extent == BodyExtent::Start {
        return FormAction::Invalid;
    }
    let fields: Vec<(String, String)> =
        body.split(|byte| *byte == b'&').take(FIELDS_MAX + 1).filter_map(field).collect();
    if fields.len() > FIELDS_MAX {
        return FormAction::Invalid;
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
        return FormAction::Save(PostedChoices { shown: topics("shown"), checked: topics("topic") });
    }
    match value("unsubscribe") {
        Some("everything") => FormAction::UnsubscribeFromEverything,
        // A body without the fields of the page is from a program that knows only the header field.
        _ => FormAction::Unsubscribe,
    }
}

fn has_one_click_pair(body: &[u8]) -> bool {
    let find =
        |text: &[u8], wanted: &[u8]| text.windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted));
    let name = b"List-Unsubscribe";
    find(body, name).and_then(|at| find(&body[at + name.len()..], b"One-Click")).is_some()
}

/// Parses one field of a URL-encoded form. Bytes that are not UTF-8 become U+FFFD, which no name or value
/// of the page contains.
fn field(pair: &[u8]) -> Option<(String, String)> {
    if pair.is_empty() {
        return None;
    }
    let (name, value) = match pair.iter().position(|byte| *byte == b'=') {
        Some(at) => (&pair[..at], &pair[at + 1..]),
        None => (pair, &[][..]),
    };
    Some((percent::decode_form(name), percent::decode_form(value)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::id::Id;
    use crate::topics::TOPICS_MAX;

    fn parse_whole(body: &str) -> FormAction {
        parse_action(body.as_bytes(), BodyExtent::Whole)
    }

    #[test]
    fn the_one_click_pair_is_found_in_both_encodings_and_in_an_incomplete_body() {
        let multipart =
            "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";
        for body in [
            "List-Unsubscribe=One-Click",
            "list-unsubscribe=one-click&x=1",
            "x=1&List-Unsubscribe=One-Click\r\n",
            multipart,
        ] {
            assert_eq!(parse_whole(body), FormAction::OneClick, "{body}");
            assert_eq!(parse_action(body.as_bytes(), BodyExtent::Start), FormAction::OneClick, "{body}");
        }
        for body in ["", "List-Unsubscribe=", "One-Click=List-Unsubscribe", "{}", "unsubscribe=topic", "x=1"] {
            assert_eq!(parse_whole(body), FormAction::Unsubscribe, "{body}");
            assert_eq!(parse_action(body.as_bytes(), BodyExtent::Start), FormAction::Invalid, "{body}");
        }
    }

    #[test]
    fn each_button_of_the_page_has_its_own_action() {
        assert_eq!(parse_whole("unsubscribe=everything"), FormAction::UnsubscribeFromEverything);
        assert_eq!(parse_whole("undo=AbC-_1"), FormAction::Undo("AbC-_1".into()));
        assert_eq!(parse_whole("prefs=1"), FormAction::Save(PostedChoices::default()));
    }

    #[test]
    fn topics_are_parsed_and_invalid_ids_are_ignored() {
        let (low, high) = (TopicId::MIN, TopicId::MAX);
        let encoded = high.to_string().replace('-', "%2D");
        let body = format!("topic={low}&prefs=1&topic=x&shown={encoded}&topic=&other={low}&topic={encoded}&shown=x");

        assert_eq!(parse_whole(&body), FormAction::Save(PostedChoices { shown: vec![high], checked: vec![low, high] }));
        assert_eq!(parse_action(body.as_bytes(), BodyExtent::Start), FormAction::Invalid);
    }

    #[test]
    fn the_longest_form_with_every_box_checked_is_parsed() {
        let id = TopicId::MAX;
        let body = format!("prefs=1{}", format!("&shown={id}&topic={id}").repeat(TOPICS_MAX));

        assert!(body.len() <= BODY_BYTES_MAX);
        assert_eq!(
            parse_whole(&body),
            FormAction::Save(PostedChoices { shown: vec![id; TOPICS_MAX], checked: vec![id; TOPICS_MAX] })
        );
    }

    #[test]
    fn a_form_with_too_many_fields_is_invalid() {
        let body = format!("prefs=1{}", "&topic=x".repeat(FIELDS_MAX));

        assert_eq!(parse_whole(&body), FormAction::Invalid);
    }

    proptest! {
        #[test]
        fn no_body_panics_the_parser(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (parse_action(&body, BodyExtent::Whole), parse_action(&body, BodyExtent::Start));
        }

        #[test]
        fn every_topic_id_is_parsed(topics in proptest::collection::vec(any::<[u8; 16]>(), 0..20)) {
            let topics: Vec<TopicId> = topics.into_iter().map(Id::from_bytes).collect();
            let body = topics.iter().fold("prefs=1".to_owned(), |body, topic| format!("{body}&shown={topic}&topic={topic}"));

            prop_assert_eq!(parse_whole(&body), FormAction::Save(PostedChoices { shown: topics.clone(), checked: topics }));
        }
    }
}
