//! The grammar of conditions: the operators of each field, and the values of each operator.

use super::{
    CONDITIONS_MAX, Condition, ConditionText, CreatedTest, Filter, Match, NumberTest, Test, TextField, TextTest,
    VALUE_CHARS_MAX, instant,
};
use crate::contact_properties::{VALUE_KEY_CHARS_MAX, parse_number};

/// Prefix of a field that is the key of a property.
const PROPERTY_PREFIX: &str = "property:";
/// Maximum length of a refused text in an error message, in characters.
const SHOWN_CHARS_MAX: usize = 60;

/// Fields with a text, except properties.
pub const TEXT_FIELDS: &[&str] = &["email", "first_name", "last_name"];
/// Operators of [`TEXT_FIELDS`].
pub const TEXT_OPS: &[&str] = &["equals", "not_equals", "contains", "starts_with", "ends_with", "is_set", "is_not_set"];
/// Operators of properties.
pub const PROPERTY_OPS: &[&str] = &[
    "equals",
    "not_equals",
    "contains",
    "starts_with",
    "ends_with",
    "is_set",
    "is_not_set",
    "greater_than",
    "less_than",
];
/// Operators of `unsubscribed`.
pub const UNSUBSCRIBED_OPS: &[&str] = &["is_true", "is_false"];
/// Operators of `created_at`.
pub const CREATED_OPS: &[&str] = &["before", "after"];

/// Returns whether an operator compares with a value.
pub fn needs_value(op: &str) -> bool {
    !op.starts_with("is_")
}

impl Filter {
    /// Parses the conditions of a filter, in their order.
    ///
    /// # Errors
    /// [`FilterError`], with the position of the first invalid condition.
    pub fn parse(matching: Match, conditions: Vec<ConditionText>) -> Result<Self, FilterError> {
        if conditions.len() > CONDITIONS_MAX {
            return Err(FilterError::TooManyConditions(conditions.len()));
        }
        let parsed = conditions.into_iter().enumerate().map(|(index, condition)| {
            Condition::try_from(condition).map_err(|error| FilterError::Condition { index, error })
        });
        Ok(Self { matching, conditions: parsed.collect::<Result<_, _>>()? })
    }
}

impl TryFrom<ConditionText> for Condition {
    type Error = ConditionError;

    fn try_from(text: ConditionText) -> Result<Self, ConditionError> {
        let test = Test::parse(&text)?;
        Ok(Self { text, test })
    }
}

impl Test {
    fn parse(condition: &ConditionText) -> Result<Self, ConditionError> {
        let ConditionText { field, op, value } = condition;
        let value = Value { op, value: value.as_deref() };
        value.check_length()?;
        let refused = |accepted| ConditionError::Op { op: shown(op), field: shown(field), accepted };
        let text = |of, accepted| match TextTest::parse(value)? {
            Some(test) => Ok(Self::Text(of, test)),
            None => Err(refused(accepted)),
        };
        match (field.as_str(), op.as_str()) {
            ("email", _) => text(TextField::Email, TEXT_OPS),
            ("first_name", _) => text(TextField::FirstName, TEXT_OPS),
            ("last_name", _) => text(TextField::LastName, TEXT_OPS),
            ("unsubscribed", "is_true") => Ok(Self::Unsubscribed(true)),
            ("unsubscribed", "is_false") => Ok(Self::Unsubscribed(false)),
            ("unsubscribed", _) => Err(refused(UNSUBSCRIBED_OPS)),
            ("created_at", "before") => Ok(Self::Created(CreatedTest::Before(value.instant()?))),
            ("created_at", "after") => Ok(Self::Created(CreatedTest::After(value.instant()?))),
            ("created_at", _) => Err(refused(CREATED_OPS)),
            (field, op) => match (property_key(field)?, op) {
                (key, "greater_than") => Ok(Self::Number(key, NumberTest::GreaterThan(value.number()?))),
                (key, "less_than") => Ok(Self::Number(key, NumberTest::LessThan(value.number()?))),
                (key, _) => text(TextField::Property(key), PROPERTY_OPS),
            },
        }
    }
}

impl TextTest {
    /// Parses an operator on texts; `None` if it is another operator.
    fn parse(value: Value<'_>) -> Result<Option<Self>, ConditionError> {
        Ok(Some(match value.op {
            "equals" => Self::Equals(value.text()?.into()),
            "not_equals" => Self::NotEquals(value.text()?.into()),
            "contains" => Self::Contains(value.text()?.into()),
            "starts_with" => Self::StartsWith(value.text()?.into()),
            "ends_with" => Self::EndsWith(value.text()?.into()),
            "is_set" => Self::IsSet,
            "is_not_set" => Self::IsNotSet,
            _ => return Ok(None),
        }))
    }
}

fn property_key(field: &str) -> Result<Box<str>, ConditionError> {
    let Some(key) = field.strip_prefix(PROPERTY_PREFIX) else {
        return Err(ConditionError::UnknownField(shown(field)));
    };
    match key.chars().count() {
        0 => Err(ConditionError::EmptyKey),
        1..=VALUE_KEY_CHARS_MAX => Ok(key.into()),
        _ => Err(ConditionError::KeyTooLong),
    }
}

/// The value of a condition, and its operator.
#[derive(Clone, Copy)]
struct Value<'c> {
    op: &'c str,
    value: Option<&'c str>,
}

impl<'c> Value<'c> {
    /// Checks the length, also of a value that the operator ignores: the row stores it.
    fn check_length(self) -> Result<(), ConditionError> {
        let is_long = self.value.is_some_and(|value| value.chars().count() > VALUE_CHARS_MAX);
        if is_long { Err(ConditionError::ValueTooLong) } else { Ok(()) }
    }

    fn text(self) -> Result<&'c str, ConditionError> {
        self.value.ok_or_else(|| ConditionError::ValueMissing { op: self.op.to_owned() })
    }

    fn instant(self) -> Result<i64, ConditionError> {
        let text = self.text()?;
        instant::parse(text).ok_or_else(|| ConditionError::NotADate(shown(text)))
    }

    fn number(self) -> Result<f64, ConditionError> {
        let text = self.text()?;
        parse_number(text).ok_or_else(|| ConditionError::NotANumber(shown(text)))
    }
}

/// Error of a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("there are {0} conditions; up to {CONDITIONS_MAX} are accepted")]
    TooManyConditions(usize),
    /// A condition is not valid.
    #[error("{error}")]
    Condition {
        /// Index of the condition, from 0.
        index: usize,
        error: ConditionError,
    },
}

/// Error of a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    #[error(
        "`{0}` is no field of a contact; `email`, `first_name`, `last_name`, `unsubscribed`, `created_at` \
         and `{PROPERTY_PREFIX}<key>` are accepted"
    )]
    UnknownField(String),
    #[error("the key of a property follows `{PROPERTY_PREFIX}`, as in `property:plan`")]
    EmptyKey,
    #[error("the key of a property has 1 to {VALUE_KEY_CHARS_MAX} characters")]
    KeyTooLong,
    #[error("`{op}` is no operator of `{field}`; it takes `{}`", .accepted.join("`, `"))]
    Op {
        op: String,
        field: String,
        /// The operators that apply to the field.
        accepted: &'static [&'static str],
    },
    #[error("`{op}` compares with a value; give a string")]
    ValueMissing { op: String },
    #[error("a value has at most {VALUE_CHARS_MAX} characters")]
    ValueTooLong,
    #[error("`{0}` is no date; ISO 8601 is accepted, such as `2026-01-05` or `2026-01-05T09:12:33Z`")]
    NotADate(String),
    #[error("`{0}` is no number; one such as `18` or `-2.5` is accepted")]
    NotANumber(String),
}

impl FilterError {
    /// Returns the position of the error in the filter, such as `conditions[0].op`.
    pub fn path(&self) -> String {
        match self {
            Self::TooManyConditions(_) => "conditions".to_owned(),
            Self::Condition { index, error } => format!("conditions[{index}].{}", error.part()),
        }
    }
}

impl ConditionError {
    /// Returns the name of the invalid field of the condition.
    fn part(&self) -> &'static str {
        match self {
            Self::UnknownField(_) | Self::EmptyKey | Self::KeyTooLong => "field",
            Self::Op { .. } => "op",
            Self::ValueMissing { .. } | Self::ValueTooLong | Self::NotADate(_) | Self::NotANumber(_) => "value",
        }
    }
}

/// Returns the start of a refused text for an error message, without control characters.
fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(SHOWN_CHARS_MAX).filter(|c| !c.is_control()).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}
