//! The content of a template with the variables of a send.
//!
//! A value is inserted as it is, except for the escapes of its part. If values add a placeholder of the unsubscribe
//! link, their braces are separated. A send searches the content of an email for placeholders.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::model::{SUBJECT_CHARS_MAX, TemplateContent};
use crate::merge_fields::{FillError, MergeField, ValueForm, fields, try_fill, unsubscribe_placeholders};

/// Maximum number of variables of a send.
pub const VARIABLES_MAX: usize = 100;
/// Maximum length of the name of a variable, in characters.
pub const VARIABLE_NAME_CHARS_MAX: usize = 50;
/// Maximum length of the value of a variable, in characters.
pub const VARIABLE_CHARS_MAX: usize = 10_000;
/// Maximum size of a rendered subject, in bytes: more than any subject that is accepted.
const SUBJECT_BYTES_MAX: usize = 4 * SUBJECT_CHARS_MAX;
/// Invisible character between the braces of a value (U+2060 WORD JOINER).
const JOINER: char = '\u{2060}';

/// Effect of a field that has neither a value nor a fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingValue {
    Refuse,
    /// The name in braces is shown.
    ShowName,
}

/// Values by the names of variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateVariables(pub BTreeMap<String, String>);

/// Content of one email, rendered from a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedTemplate {
    /// Subject on one line; `None` if the template has none or the send gives one.
    pub subject: Option<String>,
    pub html: String,
    pub text: Option<String>,
}

impl RenderedTemplate {
    /// Returns the size of the parts, in bytes.
    pub fn bytes(&self) -> usize {
        self.html.len() + self.text.as_ref().map_or(0, String::len)
    }
}

/// Reason why a template is not rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderTemplateError {
    /// The first variable that has neither a value nor a fallback: its name.
    MissingVariable(String),
    /// The subject is longer than any subject that is accepted.
    SubjectTooLong,
    /// The parts are larger than the given maximum.
    TooLarge,
}

impl From<FillError> for RenderTemplateError {
    fn from(error: FillError) -> Self {
        match error {
            FillError::MissingValue(name) => Self::MissingVariable(name),
            FillError::TooLarge => Self::TooLarge,
        }
    }
}

impl TemplateContent {
    /// Fills the fields of the subject, the HTML and the text, in this order. `has_subject` is whether the send gives a
    /// subject, so that the one of the template is not used.
    ///
    /// # Errors
    /// [`RenderTemplateError`] of the first field or part. The parts have at most `bytes_max` bytes together.
    pub fn render(
        &self,
        variables: &TemplateVariables,
        has_subject: bool,
        bytes_max: usize,
    ) -> Result<RenderedTemplate, RenderTemplateError> {
        self.render_with(variables, has_subject, MissingValue::Refuse, bytes_max)
    }

    /// Does the same as [`TemplateContent::render`] without a subject of the send. A field that has neither a value nor
    /// a fallback is shown as its name in braces.
    ///
    /// # Errors
    /// [`RenderTemplateError`] of the first part that is too large.
    pub fn render_preview(
        &self,
        variables: &TemplateVariables,
        bytes_max: usize,
    ) -> Result<RenderedTemplate, RenderTemplateError> {
        self.render_with(variables, false, MissingValue::ShowName, bytes_max)
    }

    fn render_with(
        &self,
        variables: &TemplateVariables,
        has_subject: bool,
        missing: MissingValue,
        bytes_max: usize,
    ) -> Result<RenderedTemplate, RenderTemplateError> {
        let rendered = self.fill(variables, has_subject, missing, bytes_max)?;
        let own = [Some(&self.html), self.text.as_ref()];
        let filled = [Some(&rendered.html), rendered.text.as_ref()];
        let placeholders = |parts: [Option<&String>; 2]| -> usize {
            parts.into_iter().flatten().map(|part| unsubscribe_placeholders(part)).sum()
        };
        if placeholders(filled) == placeholders(own) {
            return Ok(rendered);
        }
        self.fill(&variables.with_separate_braces(), has_subject, missing, bytes_max)
    }

    /// Returns the names of the first fields that have neither a value nor a fallback, each once, in order. Returns at
    /// most `names_max` names.
    pub fn missing_variables(&self, values: &BTreeMap<String, String>, names_max: usize) -> Vec<String> {
        let parts = [self.subject.as_deref(), Some(self.html.as_str()), self.text.as_deref()];
        let is_missing = |field: &MergeField<'_>| field.fallback.is_none() && !values.contains_key(field.name);
        let missing = parts.into_iter().flatten().flat_map(fields).filter(is_missing);
        let mut seen = BTreeSet::new();
        let first = missing.filter(|field| seen.insert(field.name)).take(names_max);
        first.map(|field| field.name.to_owned()).collect()
    }

    /// Returns approximately the number of fields, not less.
    pub fn count_fields(&self) -> usize {
        let parts = [self.subject.as_deref(), Some(self.html.as_str()), self.text.as_deref()];
        parts.into_iter().flatten().map(|part| part.matches("{{{").count()).sum()
    }

    fn fill(
        &self,
        TemplateVariables(values): &TemplateVariables,
        has_subject: bool,
        missing: MissingValue,
        bytes_max: usize,
    ) -> Result<RenderedTemplate, RenderTemplateError> {
        let value = |field: MergeField<'_>| match values.get(field.name) {
            Some(value) => Some(Cow::Borrowed(value.as_str())),
            None if missing == MissingValue::ShowName && field.fallback.is_none() => {
                Some(Cow::Owned(format!("{{{}}}", field.name)))
            }
            None => None,
        };
        let subject = match &self.subject {
            Some(subject) if !has_subject => {
                let filled = try_fill(subject, ValueForm::Line, SUBJECT_BYTES_MAX, value);
                Some(filled.map_err(|error| match error {
                    FillError::TooLarge => RenderTemplateError::SubjectTooLong,
                    error => error.into(),
                })?)
            }
            _ => None,
        };
        let html = try_fill(&self.html, ValueForm::Html, bytes_max, value)?;
        let text_bytes_max = bytes_max - html.len();
        let text = self.text.as_ref().map(|text| try_fill(text, ValueForm::Text, text_bytes_max, value)).transpose()?;
        Ok(RenderedTemplate { subject, html, text })
    }
}

impl TemplateVariables {
    /// Returns the values with an invisible character after each brace.
    fn with_separate_braces(&self) -> Self {
        let separate = |value: &String| {
            let mut separated = String::with_capacity(value.len());
            for character in value.chars() {
                separated.push(character);
                if matches!(character, '{' | '}') {
                    separated.push(JOINER);
                }
            }
            separated
        };
        Self(self.0.iter().map(|(name, value)| (name.clone(), separate(value))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> TemplateContent {
        TemplateContent {
            subject: Some("Hi {{{NAME}}}".into()),
            html: "<p>{{{NAME}}} {{{CITY|<i>here</i>}}}</p>".into(),
            text: Some("{{{NAME}}} {{{CITY|here}}}".into()),
            source: None,
        }
    }

    fn variables(values: &[(&str, &str)]) -> TemplateVariables {
        TemplateVariables(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn each_part_gets_the_values_in_its_form() {
        let rendered = content().render(&variables(&[("NAME", "<A>\n{{{CITY}}}"), ("OTHER", "x")]), false, 200);

        let expected = RenderedTemplate {
            subject: Some("Hi <A> {{{CITY}}}".into()),
            html: "<p>&lt;A&gt;\n{{{CITY}}} <i>here</i></p>".into(),
            text: Some("<A>\n{{{CITY}}} here".into()),
        };
        assert_eq!(rendered, Ok(expected));
    }

    #[test]
    fn a_given_subject_replaces_that_of_the_template() {
        let content = TemplateContent { subject: Some("{{{OTHER}}}".into()), ..content() };
        let values = variables(&[("NAME", "Ada")]);

        assert_eq!(content.render(&values, false, 200), Err(RenderTemplateError::MissingVariable("OTHER".into())));
        assert_eq!(content.render(&values, true, 200).unwrap().subject, None);
        let none = TemplateContent { subject: None, ..content };
        assert_eq!(none.render(&values, false, 200).unwrap().subject, None);
    }

    #[test]
    fn the_first_variable_without_a_value_is_named() {
        let missing = |content: &TemplateContent, values: &[(&str, &str)]| {
            content.render(&variables(values), false, 200).unwrap_err()
        };

        assert_eq!(missing(&content(), &[]), RenderTemplateError::MissingVariable("NAME".into()));
        let content = TemplateContent { text: Some("{{{CODE}}}".into()), ..content() };
        assert_eq!(missing(&content, &[("NAME", "Ada")]), RenderTemplateError::MissingVariable("CODE".into()));
    }

    #[test]
    fn the_missing_variables_are_listed_once_in_their_order() {
        let content = TemplateContent { text: Some("{{{B}}}{{{NAME}}}{{{A}}}{{{B}}}".into()), ..content() };

        assert_eq!(content.missing_variables(&BTreeMap::new(), 3), ["NAME", "B", "A"]);
        assert_eq!(content.missing_variables(&BTreeMap::new(), 2), ["NAME", "B"]);
        assert_eq!(content.missing_variables(&variables(&[("NAME", ""), ("B", "x")]).0, 3), ["A"]);
    }

    #[test]
    fn a_preview_shows_the_names_of_the_missing_variables() {
        let rendered = content().render_preview(&TemplateVariables::default(), 200);

        let expected = RenderedTemplate {
            subject: Some("Hi {NAME}".into()),
            html: "<p>{NAME} <i>here</i></p>".into(),
            text: Some("{NAME} here".into()),
        };
        assert_eq!(rendered, Ok(expected));
        assert_eq!(content().render_preview(&variables(&[("NAME", "")]), 200).unwrap().text.as_deref(), Some(" here"));
        assert_eq!(content().render_preview(&TemplateVariables::default(), 10), Err(RenderTemplateError::TooLarge));
    }

    #[test]
    fn a_preview_has_the_names_of_any_number_of_missing_variables() {
        let html: String = (0..100_000).map(|number| format!("{{{{{{V{number}}}}}}}")).collect();
        let content = TemplateContent { html, ..TemplateContent::default() };

        let missing = content.missing_variables(&BTreeMap::new(), VARIABLES_MAX);
        let html = content.render_preview(&TemplateVariables::default(), 2 << 20).unwrap().html;

        assert_eq!((missing.len(), missing[99].as_str()), (100, "V99"));
        assert!(html.starts_with("{V0}{V1}") && html.ends_with("{V99999}"));
    }

    #[test]
    fn the_parts_are_bounded_together_and_the_subject_alone() {
        let values = variables(&[("NAME", &"a".repeat(60))]);

        assert_eq!(content().render(&values, false, 100), Err(RenderTemplateError::TooLarge));
        assert_eq!(content().render(&values, false, 144).unwrap().bytes(), 144);
        assert_eq!(content().render(&values, false, 143), Err(RenderTemplateError::TooLarge));
        let long = variables(&[("NAME", &"a".repeat(VARIABLE_CHARS_MAX))]);
        assert_eq!(content().render(&long, false, 1 << 20), Err(RenderTemplateError::SubjectTooLong));
    }

    #[test]
    fn a_value_cannot_add_an_unsubscribe_placeholder() {
        let content = TemplateContent {
            html: "{{{A}}}{{{B}}} {{{UNSUBSCRIBE_URL}}}".into(),
            text: Some("{{{A}}}".into()),
            ..TemplateContent::default()
        };
        for (a, b) in
            [("{{{UNSUBSCRIBE_URL}}}", ""), ("{{{RESEND_UNSUBSCRIBE_URL}}}", "x"), ("{{{UNSUB", "SCRIBE_URL}}}")]
        {
            let rendered = content.render(&variables(&[("A", a), ("B", b)]), false, 1_000).unwrap();

            assert_eq!(unsubscribe_placeholders(&rendered.html), 1, "{}", rendered.html);
            assert_eq!(rendered.text.map(|text| unsubscribe_placeholders(&text)), Some(0));
            assert_eq!(rendered.html.replace(JOINER, ""), format!("{a}{b} {{{{{{UNSUBSCRIBE_URL}}}}}}"));
        }
    }
}
