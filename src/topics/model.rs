//! What a topic is, and the words for its choices. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::TopicId;
use crate::base::one_line::one_line;
use crate::base::patch::Patch;

/// The most topics of a team: every read of a contact's topics goes through all of them.
pub const TOPICS_MAX: usize = 500;
/// The longest name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 50;
/// The longest description, in characters.
pub(super) const DESCRIPTION_CHARS_MAX: usize = 200;

/// Whether a recipient receives what is sent under a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subscription {
    /// Receives it.
    OptIn,
    /// Does not.
    OptOut,
}

impl Subscription {
    /// Returns what holds for someone: what they chose, else the default of the topic.
    #[must_use]
    pub fn effective(chosen: Option<Self>, default: Self) -> Self {
        chosen.unwrap_or(default)
    }

    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OptIn => "opt_in",
            Self::OptOut => "opt_out",
        }
    }

    /// Reads the word the API uses.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "opt_in" => Some(Self::OptIn),
            "opt_out" => Some(Self::OptOut),
            _ => None,
        }
    }
}

/// Whether the preference page lists a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Listed.
    Public,
    /// Not listed.
    Private,
}

impl Visibility {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }

    /// Reads the word the API uses.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "public" => Some(Self::Public),
            "private" => Some(Self::Private),
            _ => None,
        }
    }
}

/// The name of a topic: 1 to 50 characters on one line, without white space around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicName(String);

impl TopicName {
    /// Reads a name; `None` when the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        one_line(text, NAME_CHARS_MAX).map(|text| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text as rows hold it.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// What the preference page says of a topic: up to 200 characters, on as many lines as they take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description(String);

impl Description {
    /// Reads a description; `None` when the text is not one, as an empty one is not.
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

    /// Returns the text as rows hold it.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// What a new topic is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: TopicName,
    /// What the preference page says of it.
    pub description: Option<Description>,
    /// What holds for everyone who never chose. It never changes.
    pub default_subscription: Subscription,
    /// Whether the preference page lists it.
    pub visibility: Visibility,
}

/// What an update changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicChanges {
    /// Its name.
    pub name: Option<TopicName>,
    /// What the preference page says of it.
    pub description: Patch<Description>,
    /// Whether the preference page lists it.
    pub visibility: Option<Visibility>,
}

/// A topic as its team sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its id.
    pub id: TopicId,
    /// Its name.
    pub name: String,
    /// What the preference page says of it.
    pub description: Option<String>,
    /// What holds for everyone who never chose.
    pub default_subscription: Subscription,
    /// Whether the preference page lists it.
    pub visibility: Visibility,
    /// When it was made.
    pub created_ms: TimestampMs,
}

impl Topic {
    /// Returns what a send needs of it.
    pub fn for_send(&self) -> SendTopic {
        SendTopic { id: self.id, default_subscription: self.default_subscription }
    }
}

/// A topic as a send needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendTopic {
    /// Its id.
    pub id: TopicId,
    /// What holds for everyone who never chose.
    pub default_subscription: Subscription,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_one_line_of_1_to_50_characters() {
        for (text, kept) in [
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
            assert_eq!(TopicName::parse(text).as_ref().map(TopicName::as_str), kept, "{text:?}");
        }
        assert!(TopicName::parse(&"ü".repeat(50)).is_some());
        assert!(TopicName::parse(&"ü".repeat(51)).is_none());
        assert!(TopicName::parse(&format!(" {} ", "n".repeat(50))).is_some());
    }

    #[test]
    fn a_description_may_have_lines_and_200_characters() {
        for (text, kept) in [
            (" Once a month.\nMostly. ", Some("Once a month.\nMostly.")),
            ("a\r\nb", Some("a\r\nb")),
            ("a\tb", None),
            ("a\u{1b}[31mb", None),
            (" ", None),
        ] {
            assert_eq!(Description::parse(text).as_ref().map(Description::as_str), kept, "{text:?}");
        }
        assert!(Description::parse(&"ü".repeat(200)).is_some());
        assert!(Description::parse(&"ü".repeat(201)).is_none());
    }

    #[test]
    fn the_words_read_back() {
        for subscription in [Subscription::OptIn, Subscription::OptOut] {
            assert_eq!(Subscription::parse(subscription.as_str()), Some(subscription));
        }
        for visibility in [Visibility::Public, Visibility::Private] {
            assert_eq!(Visibility::parse(visibility.as_str()), Some(visibility));
        }
        for text in ["", "OPT_IN", "opt-in", " opt_in", "Public", "hidden"] {
            assert_eq!((Subscription::parse(text), Visibility::parse(text)), (None, None), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_name_and_a_description_read_back_as_themselves(text in "\\PC{0,60}|.{0,210}|(?s).{0,20}") {
            if let Some(name) = TopicName::parse(&text) {
                prop_assert_eq!(TopicName::parse(name.as_str()), Some(name));
            }
            if let Some(description) = Description::parse(&text) {
                prop_assert_eq!(Description::parse(description.as_str()), Some(description));
            }
        }
    }
}
