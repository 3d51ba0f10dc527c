//! Templates, their names and aliases, and their content. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{Id, TemplateId, TemplateVersionId, resource};
use crate::base::one_line::one_line;
use crate::base::patch::Patch;
use crate::base::words::words;

/// Maximum number of templates of a team.
pub const TEMPLATES_MAX: usize = 1_000;
/// Maximum length of a name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 255;
/// Maximum length of an alias, in characters.
pub(super) const ALIAS_CHARS_MAX: usize = 100;
/// Maximum length of a subject, in characters: that of the subject of an email.
pub(super) const SUBJECT_CHARS_MAX: usize = 998;
/// Maximum size of the HTML part, the text part and the source together, in bytes.
pub(super) const CONTENT_BYTES_MAX: usize = 1 << 20;
/// End of the name of a copy.
const COPY_SUFFIX: &str = " (copy)";

/// Name of a template: 1 to 255 characters on one line, without surrounding white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateName(String);

impl TemplateName {
    /// Parses a name; `None` if the text is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        one_line(text, NAME_CHARS_MAX).map(|text| Self(text.to_owned()))
    }

    /// Returns the name of a copy of the template called `name`. The end of a long name is left out.
    pub(super) fn of_copy(name: &str) -> Self {
        let kept: String = name.chars().take(NAME_CHARS_MAX - COPY_SUFFIX.len()).collect();
        Self(format!("{}{COPY_SUFFIX}", kept.trim_end()))
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

/// Alias of a template: 1 to 100 ASCII letters, digits, dots, underscores and hyphens. It starts with a letter or a
/// digit, is case-sensitive, and is no UUID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateAlias(String);

impl TemplateAlias {
    /// Parses an alias; `None` if the text is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let is_alias = text.len() <= ALIAS_CHARS_MAX
            && text.bytes().all(is_allowed)
            && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
            && Id::<resource::Template>::parse(text).is_none();
        is_alias.then(|| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reference to a template by its id or its alias.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplateRef {
    Id(TemplateId),
    Alias(TemplateAlias),
}

impl TemplateRef {
    /// Parses an id or an alias; `None` if the text is neither.
    pub fn parse(text: &str) -> Option<Self> {
        Id::parse(text).map(Self::Id).or_else(|| TemplateAlias::parse(text).map(Self::Alias))
    }
}

/// Returns whether a text can be the subject of a template.
pub(super) fn is_subject(text: &str) -> bool {
    text.chars().count() <= SUBJECT_CHARS_MAX && !text.chars().any(char::is_control)
}

/// Content of a template, with merge fields. Stored compressed and sealed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateContent {
    /// Subject; `None` if each send gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub html: String,
    /// Text part; `None` to generate it from the HTML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Markdown that the HTML was made from in the dashboard; `None` if the HTML was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl TemplateContent {
    /// Returns the size of all parts, in bytes.
    pub fn bytes(&self) -> usize {
        let size = |part: &Option<String>| part.as_ref().map_or(0, String::len);
        self.html.len() + size(&self.subject) + size(&self.text) + size(&self.source)
    }

    /// Returns whether the parts are small enough to be stored.
    pub(super) fn is_within_limit(&self) -> bool {
        let subject = self.subject.as_ref().map_or(0, String::len);
        self.bytes() - subject <= CONTENT_BYTES_MAX
    }

    /// Returns the content after an update.
    pub(super) fn changed(&self, changes: &TemplateChanges) -> Self {
        let mut content = self.clone();
        if let Some(html) = &changes.html
            && *html != content.html
        {
            content.html.clone_from(html);
            // The source describes the earlier HTML.
            content.source = None;
        }
        changes.subject.apply(&mut content.subject);
        changes.text.apply(&mut content.text);
        changes.source.apply(&mut content.source);
        content
    }
}

/// A template to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTemplate {
    pub name: TemplateName,
    pub alias: Option<TemplateAlias>,
    /// Content. Its HTML is not empty.
    pub content: TemplateContent,
}

/// Changes to a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateChanges {
    pub name: Option<TemplateName>,
    pub alias: Patch<TemplateAlias>,
    pub subject: Patch<String>,
    /// HTML, not empty. A change clears the source.
    pub html: Option<String>,
    pub text: Patch<String>,
    /// Markdown that the HTML was made from.
    pub source: Patch<String>,
    /// Revision that the changes are based on; `None` to apply them to any revision.
    pub revision: Option<u32>,
}

impl TemplateChanges {
    /// Returns whether the content can change.
    pub(super) fn has_content(&self) -> bool {
        let is_kept = |change: &Patch<String>| *change == Patch::Keep;
        self.html.is_some() || !(is_kept(&self.subject) && is_kept(&self.text) && is_kept(&self.source))
    }
}

words! {
    /// Status of a template.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TemplateStatus {
        /// Never published. It cannot be sent.
        Draft = "draft",
        /// Its published version can be sent.
        Published = "published",
    } with ALL
}

/// A template without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub id: TemplateId,
    pub name: String,
    pub alias: Option<String>,
    /// Number of changes of name, alias and content.
    pub revision: u32,
    /// Newest version of the content.
    pub version: TemplateVersionId,
    /// Version that sends use, and the time of its publication; `None` before the first publication.
    pub published: Option<(TemplateVersionId, TimestampMs)>,
    /// Time of creation.
    pub created_ms: TimestampMs,
    /// Time of the last change or publication.
    pub updated_ms: TimestampMs,
}

impl Template {
    /// Returns the status.
    pub fn status(&self) -> TemplateStatus {
        if self.published.is_some() { TemplateStatus::Published } else { TemplateStatus::Draft }
    }

    /// Returns whether the newest version is not the published one.
    pub fn has_unpublished_version(&self) -> bool {
        self.published.is_none_or(|(version, _)| version != self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_a_short_name_that_is_no_uuid() {
        for text in ["welcome", "W", "0", "order.confirmed-v2_a", "publish", &"a".repeat(100), "0190a6c0-0000"] {
            assert_eq!(TemplateAlias::parse(text).as_ref().map(TemplateAlias::as_str), Some(text));
        }
        for text in [
            "",
            "-a",
            ".a",
            "_a",
            "a b",
            " a",
            "a/b",
            "ä",
            "a\n",
            &"a".repeat(101),
            "0190a6c0-0000-7000-8000-000000000001",
            "0190A6C0-0000-7000-8000-000000000001",
        ] {
            assert_eq!(TemplateAlias::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_reference_is_an_id_or_an_alias() {
        let id = "0190a6c0-0000-7000-8000-000000000001";
        assert_eq!(TemplateRef::parse(id), Id::parse(id).map(TemplateRef::Id));
        assert_eq!(TemplateRef::parse("a"), TemplateAlias::parse("a").map(TemplateRef::Alias));
        assert_eq!(TemplateRef::parse("a@b"), None);
    }

    #[test]
    fn the_name_of_a_copy_is_a_name() {
        assert_eq!(TemplateName::of_copy("Welcome").as_str(), "Welcome (copy)");
        let longest = TemplateName::of_copy(&"ü".repeat(NAME_CHARS_MAX));
        assert_eq!(TemplateName::parse(longest.as_str()), Some(longest));
    }

    #[test]
    fn a_change_of_the_html_clears_the_source() {
        let content = TemplateContent {
            subject: Some("Hi".into()),
            html: "<p>a</p>".into(),
            text: Some("a".into()),
            source: Some("a".into()),
        };
        let html = Some("<p>b</p>".to_owned());
        let changes = TemplateChanges { html: html.clone(), subject: Patch::Clear, ..TemplateChanges::default() };

        let changed = content.changed(&changes);
        let with_source = content.changed(&TemplateChanges { source: Patch::Set("b".into()), html, ..changes });

        let expected =
            TemplateContent { html: "<p>b</p>".into(), text: Some("a".into()), ..TemplateContent::default() };
        assert_eq!(changed, expected);
        assert_eq!(with_source.source.as_deref(), Some("b"));
        let same = TemplateChanges { html: Some(content.html.clone()), ..TemplateChanges::default() };
        assert_eq!(content.changed(&same), content);
    }

    #[test]
    fn the_parts_of_a_content_are_bounded_together() {
        let content = |text: usize| TemplateContent {
            subject: Some("s".into()),
            html: "h".repeat(CONTENT_BYTES_MAX / 2),
            text: Some("t".repeat(text)),
            source: None,
        };
        assert!(content(CONTENT_BYTES_MAX / 2).is_within_limit());
        assert!(!content(CONTENT_BYTES_MAX / 2 + 1).is_within_limit());
    }
}
