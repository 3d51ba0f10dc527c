//! The names of headers that a request may contain, each with the form of its value and its treatment.

use crate::base::compat::{Compat, CompatFeature};

/// Form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Any text. Non-ASCII text is sent as encoded words.
    Text,
    /// A structured field, in which RFC 2047 §5 does not allow encoded words.
    Ascii,
    /// URLs in angle brackets, at least one of them `https` if the pair is complete.
    UnsubscribeTargets,
    /// URLs in angle brackets.
    Targets,
    OneClick,
    /// Text and an identifier in angle brackets (RFC 2919 §2).
    ListId,
}

/// Treatment of a header of the request by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// The message contains the header.
    Passed,
    /// The value sets a field of the request.
    Used,
    /// The server writes its own header, or none, and ignores the value.
    Replaced,
}

/// A name that a request may contain.
#[derive(Debug)]
pub(super) struct HeaderRule {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) treatment: Treatment,
    /// Feature that the name needs; `None` for a name that every server accepts.
    pub(super) feature: Option<CompatFeature>,
    /// Accepted value or effect, for the documentation of a name that needs a feature.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares the documentation with it"))]
    pub(super) effect: &'static str,
}

impl HeaderRule {
    /// Returns whether an instance accepts the name. `Reply-To` is accepted for either feature, and compared with
    /// `reply_to` afterwards.
    pub(super) fn is_accepted(&self, compat: Compat) -> bool {
        let is_echo = self.treatment == Treatment::Used && compat.accepts(CompatFeature::Requests);
        is_echo || self.feature.is_none_or(|feature| compat.accepts(feature))
    }
}

const fn always(name: &'static str, form: Form) -> HeaderRule {
    HeaderRule { name, form, treatment: Treatment::Passed, feature: None, effect: "" }
}

const fn opt_in(name: &'static str, form: Form, treatment: Treatment, effect: &'static str) -> HeaderRule {
    HeaderRule { name, form, treatment, feature: Some(CompatFeature::Headers), effect }
}

pub(super) const REPLY_TO: &str = "Reply-To";
pub(super) const LIST_UNSUBSCRIBE: &str = "List-Unsubscribe";
pub(super) const LIST_UNSUBSCRIBE_POST: &str = "List-Unsubscribe-Post";

/// Every name without the prefix `X-`.
pub(super) const RULES: [HeaderRule; 18] = [
    always("In-Reply-To", Form::Ascii),
    always("References", Form::Ascii),
    always("Importance", Form::Ascii),
    always("Priority", Form::Ascii),
    always("Comments", Form::Text),
    always("Keywords", Form::Text),
    always("Organization", Form::Text),
    always(LIST_UNSUBSCRIBE, Form::UnsubscribeTargets),
    always(LIST_UNSUBSCRIBE_POST, Form::OneClick),
    opt_in(REPLY_TO, Form::Text, Treatment::Used, "mailboxes; equals `reply_to`, and must not differ from it"),
    opt_in("Sender", Form::Text, Treatment::Replaced, "the message has only the sender in `from`"),
    opt_in("Message-ID", Form::Text, Treatment::Replaced, "the id of the email, by which reports are matched"),
    opt_in("Date", Form::Text, Treatment::Replaced, "the time of acceptance, or the scheduled time"),
    opt_in("Auto-Submitted", Form::Ascii, Treatment::Passed, "ASCII, such as `auto-generated`"),
    opt_in("List-Id", Form::ListId, Treatment::Passed, "text and an identifier, such as `News <news.example.com>`"),
    opt_in("Precedence", Form::Ascii, Treatment::Passed, "ASCII, such as `bulk`"),
    opt_in("Feedback-ID", Form::Ascii, Treatment::Passed, "ASCII"),
    opt_in("List-Help", Form::Targets, Treatment::Passed, "`<https://…>` or `<mailto:…>` targets"),
];

/// Documentation of `List-Unsubscribe` without `List-Unsubscribe-Post`, which needs a feature.
#[cfg(test)]
const LONE_UNSUBSCRIBE: HeaderRule = opt_in(
    "List-Unsubscribe` without `List-Unsubscribe-Post",
    Form::UnsubscribeTargets,
    Treatment::Passed,
    "`<https://…>` or `<mailto:…>` targets; replaced by the generated pair under a `topic_id`",
);

/// Returns the rule of a name, ignoring case.
pub(super) fn rule_of(name: &str) -> Option<&'static HeaderRule> {
    const ALL: &[HeaderRule] = &RULES;
    ALL.iter().find(|rule| rule.name.eq_ignore_ascii_case(name))
}

/// Returns the names that an instance accepts.
pub(super) fn names(compat: Compat) -> impl ExactSizeIterator<Item = &'static str> {
    let accepted = RULES.iter().filter(|rule| rule.is_accepted(compat)).map(|rule| rule.name);
    accepted.collect::<Vec<&'static str>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_a_row_for_each_name_that_needs_a_feature() {
        let document = include_str!("../../../docs/API.md");
        for rule in RULES.iter().chain([&LONE_UNSUBSCRIBE]).filter(|rule| rule.feature.is_some()) {
            let treatment = match rule.treatment {
                Treatment::Passed => "passed",
                Treatment::Used => "used",
                Treatment::Replaced => "replaced",
            };
            let row = format!("| `{}` | {treatment} | {} |\n", rule.name, rule.effect);
            assert!(document.contains(&row), "docs/API.md has no row {row}");
        }
    }
}
