//! Topics, subscriptions and their API words. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::TopicId;
use crate::base::one_line::one_line;
use crate::base::patch::Patch;
use crate::base::words::words;

/// Maximum number of topics of a team. A read of the topics of a contact reads all of them.
pub const TOPICS_MAX: usize = 500;
/// Maximum length of a name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 50;
/// Maximum length of a description, in characters.
pub(super) const DESCRIPTION_CHARS_MAX: usize = 200;

words! {
    /// Consent of a recipient to emails under a topic.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Subscription {
        /// The recipient gets these emails.
        OptIn = "opt_in",
        /// The recipient does not get them.
        OptOut = "opt_out",
    } with ALL, parse
}

impl Subscription {
    /// Returns the choice of a contact, or the default of the topic without one.
    #[must_use]
    pub fn effective(chosen: Option<Self>, default: Self) -> Self {
        chosen.unwrap_or(default)
    }
}

words! {
    /// Whether the preference page lists a topic.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TopicVisibility {
        /// Listed.
        Public = "public",
        /// The preference page does not list it.
        Private = "private",
    } with ALL, parse
}

/// Name of a topic: 1 to 50 characters on one line, without surrounding white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicName(String);

impl TopicName {
    /// Parses a name; `None` if the text is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        one_line(text, NAME_CHARS_MAX).map(|text| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts into the text that rows store.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Text about a topic on the preference page: 1 to 200 characters, on one or more lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription(String);

impl TopicDescription {
    /// Parses a description; `None` if the text is not valid. An empty text is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_shown = |c: char| !c.is_control() || matches!(c, '\n' | '\r');
        let fits = (1..=DESCRIPTION_CHARS_MAX).contains(&text.chars().count()) && text.chars().all(is_shown);
        fits.then(|| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts into the text that rows store.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// A topic to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    pub name: TopicName,
    /// Text on the preference page.
    pub description: Option<TopicDescription>,
    /// Subscription of a contact without a choice. It never changes.
    pub default_subscription: Subscription,
    /// Whether the preference page lists it.
    pub visibility: TopicVisibility,
}

/// Changes to a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicChanges {
    pub name: Option<TopicName>,
    /// Text on the preference page.
    pub description: Patch<TopicDescription>,
    /// Whether the preference page lists it.
    pub visibility: Option<TopicVisibility>,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    pub id: TopicId,
    pub name: String,
    /// Text on the preference page.
    pub description: Option<String>,
    /// Subscription of a contact without a choice.
    pub default_subscription: Subscription,
    /// Whether the preference page lists it.
    pub visibility: TopicVisibility,
    /// Time of creation.
    pub created_ms: TimestampMs,
}

impl Topic {
    /// Returns the part that a send needs.
    pub fn for_send(&self) -> SendTopic {
        SendTopic { id: self.id, default_subscription: self.default_subscription }
    }
}

/// The part of a topic that a send needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendTopic {
    pub id: TopicId,
    /// Subscription of a contact without a choice.
    pub default_subscription: Subscription,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_one_line_of_1_to_50_characters() {
        for (text, parsed) in [
            ("News", Some("News")),
            ("  Wöchentlich 📬 ", Some("Wöchentlich 📬")),
            ("<b>{{{x}}}</b>", Some("<b>{{{x}}}</b>")),
            ("", None),
            (" \u{3000}\n", None),
            ("a\nb", None),
            ("a\u{0}b", None),
            ("a\u{7f}b", None),
            ("a\u{85}b", None),
        ] {
            assert_eq!(TopicName::parse(text).as_ref().map(TopicName::as_str), parsed, "{text:?}");
        }
        assert!(TopicName::parse(&"ü".repeat(50)).is_some());
        assert!(TopicName::parse(&"ü".repeat(51)).is_none());
        assert!(TopicName::parse(&format!(" {} ", "n".repeat(50))).is_some());
    }

    #[test]
    fn a_description_may_have_lines_and_200_characters() {
        for (text, parsed) in [
            (" Once a month.\nMostly. ", Some("Once a month.\nMostly.")),
            ("a\r\nb", Some("a\r\nb")),
            ("a\tb", None),
            ("a\u{1b}[31mb", None),
            (" ", None),
        ] {
            assert_eq!(TopicDescription::parse(text).as_ref().map(TopicDescription::as_str), parsed, "{text:?}");
        }
        assert!(TopicDescription::parse(&"ü".repeat(200)).is_some());
        assert!(TopicDescription::parse(&"ü".repeat(201)).is_none());
    }

    #[test]
    fn the_api_words_parse_to_their_values() {
        for subscription in [Subscription::OptIn, Subscription::OptOut] {
            assert_eq!(Subscription::parse(subscription.as_str()), Some(subscription));
        }
        for visibility in [TopicVisibility::Public, TopicVisibility::Private] {
            assert_eq!(TopicVisibility::parse(visibility.as_str()), Some(visibility));
        }
        for text in ["", "OPT_IN", "opt-in", " opt_in", "Public", "hidden"] {
            assert_eq!((Subscription::parse(text), TopicVisibility::parse(text)), (None, None), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_parsed_name_or_description_parses_to_itself(text in "\\PC{0,60}|.{0,210}|(?s).{0,20}") {
            if let Some(name) = TopicName::parse(&text) {
                prop_assert_eq!(TopicName::parse(name.as_str()), Some(name));
            }
            if let Some(description) = TopicDescription::parse(&text) {
                prop_assert_eq!(TopicDescription::parse(description.as_str()), Some(description));
            }
        }
    }
}
