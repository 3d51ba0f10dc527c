//! Evaluation of a filter on a contact.

use super::{Condition, CreatedTest, Filter, Match, NumberTest, Test, TextField, TextTest};
use crate::base::clock::TimestampMs;
use crate::contact_properties::parse_number;

/// The fields of a contact that a filter can read. Texts are borrowed, so that a row need not be decoded.
pub trait FilterSubject {
    /// Returns the email address.
    fn email(&self) -> &str;
    /// Returns the first name, if any.
    fn first_name(&self) -> Option<&str>;
    /// Returns the last name, if any.
    fn last_name(&self) -> Option<&str>;
    /// Returns whether the contact opted out of all marketing email.
    fn unsubscribed(&self) -> bool;
    /// Returns the time of creation.
    fn created_ms(&self) -> TimestampMs;
    /// Returns the value of the property of that key, which is case-sensitive.
    fn property(&self, key: &str) -> Option<&str>;
}

impl Filter {
    /// Returns whether the filter matches the contact.
    pub fn matches(&self, subject: &impl FilterSubject) -> bool {
        match self.matching {
            Match::All => self.conditions.iter().all(|condition| condition.holds(subject)),
            // A filter without conditions matches every contact, also with `any`.
            Match::Any if self.conditions.is_empty() => true,
            Match::Any => self.conditions.iter().any(|condition| condition.holds(subject)),
        }
    }
}

impl Condition {
    fn holds(&self, subject: &impl FilterSubject) -> bool {
        match &self.test {
            Test::Text(field, test) => test.holds(field.of(subject)),
            Test::Number(key, test) => {
                subject.property(key).and_then(parse_number).is_some_and(|value| test.holds(value))
            }
            Test::Unsubscribed(wanted) => subject.unsubscribed() == *wanted,
            Test::Created(CreatedTest::Before(at_ms)) => subject.created_ms() < *at_ms,
            Test::Created(CreatedTest::After(at_ms)) => subject.created_ms() > *at_ms,
        }
    }
}

impl TextField {
    fn of<'s>(&self, subject: &'s impl FilterSubject) -> Option<&'s str> {
        match self {
            Self::Email => Some(subject.email()),
            Self::FirstName => subject.first_name(),
            Self::LastName => subject.last_name(),
            Self::Property(key) => subject.property(key),
        }
    }
}

impl TextTest {
    /// Compares a value. A missing value does not equal any text, not even the empty text.
    fn holds(&self, value: Option<&str>) -> bool {
        match self {
            Self::Equals(wanted) => value == Some(&**wanted),
            Self::NotEquals(unwanted) => value != Some(&**unwanted),
            Self::Contains(part) => value.is_some_and(|value| value.contains(&**part)),
            Self::StartsWith(start) => value.is_some_and(|value| value.starts_with(&**start)),
            Self::EndsWith(end) => value.is_some_and(|value| value.ends_with(&**end)),
            Self::IsSet => value.is_some_and(|value| !value.is_empty()),
            Self::IsNotSet => value.is_none_or(str::is_empty),
        }
    }
}

impl NumberTest {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::GreaterThan(bound) => value > bound,
            Self::LessThan(bound) => value < bound,
        }
    }
}
