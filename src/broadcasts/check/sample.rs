//! The contact that a preview or a test email is rendered for.

use crate::base::address::EmailAddress;
use crate::base::id::{ContactId, TeamId};
use crate::broadcast_rows::{MergeValues, field_of_value};
use crate::contact_properties::{PropertyDefinitions, PropertyKind};
use crate::contacts::{self, ContactRef, ContactRow};
use crate::store::{Reads, StoreError};

/// Address of the built-in contacts. No email is sent to it.
const ADDRESS: &str = "ada@example.net";
const FIRST_NAME: &str = "Ada";
const LAST_NAME: &str = "Lovelace";
/// Value of a number.
const NUMBER: &str = "42";

/// The contact of a preview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SampleContact {
    /// A built-in contact with a name and a value for each property.
    #[default]
    BuiltIn,
    /// A built-in contact without any value, to see the fallbacks.
    Empty,
    Id(ContactId),
    Address(EmailAddress),
}

impl SampleContact {
    /// Parses an id, an address, or `none`; `None` for another text.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(Self::Empty);
        }
        let id = ContactId::parse(text).map(Self::Id);
        id.or_else(|| EmailAddress::parse(text).ok().map(Self::Address))
    }
}

/// A contact with the values of the merge fields of a broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleValues {
    /// `None` for a built-in contact.
    pub id: Option<ContactId>,
    pub address: String,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    /// Names and values of the fields.
    values: Vec<(String, String)>,
}

impl SampleValues {
    /// Reads the values of the fields; `None` if the team has no such contact.
    pub(super) fn read(
        tx: &impl Reads,
        team: TeamId,
        contact: &SampleContact,
        names: &[String],
        definitions: &PropertyDefinitions,
    ) -> Result<Option<Self>, StoreError> {
        let found = match contact {
            SampleContact::BuiltIn => return Ok(Some(Self::built_in(names, definitions))),
            SampleContact::Empty => {
                let values = of_names(names, |name| fallback(name, definitions));
                return Ok(Some(Self {
                    id: None,
                    address: ADDRESS.to_owned(),
                    first_name: None,
                    last_name: None,
                    values,
                }));
            }
            SampleContact::Id(id) => contacts::find(tx, team, *id)?.map(|row| (*id, row)),
            SampleContact::Address(address) => contacts::find_by_address(tx, team, &address.identity_hash())?,
        };
        Ok(found.map(|(id, row)| Self {
            id: Some(id),
            address: row.email.to_string(),
            values: of_names(names, |name| value_of(&row, name, definitions).map(str::to_owned)),
            first_name: row.first_name,
            last_name: row.last_name,
        }))
    }

    fn built_in(names: &[String], definitions: &PropertyDefinitions) -> Self {
        let value = |name: &str| match field_of_value(name).0 {
            "FIRST_NAME" => Some(FIRST_NAME.to_owned()),
            "LAST_NAME" => Some(LAST_NAME.to_owned()),
            property if definitions.spelling(property) != Some(property) => None,
            property => fallback(property, definitions).or_else(|| match definitions.kind(property) {
                Some(PropertyKind::Number) => Some(NUMBER.to_owned()),
                Some(PropertyKind::String) | None => Some(property.to_owned()),
            }),
        };
        Self {
            id: None,
            address: ADDRESS.to_owned(),
            first_name: Some(FIRST_NAME.to_owned()),
            last_name: Some(LAST_NAME.to_owned()),
            values: of_names(names, value),
        }
    }

    /// Returns the values for a rendering.
    pub(super) fn merge_values(&self) -> MergeValues<'_> {
        MergeValues { address: &self.address, values: &self.values }
    }
}

fn of_names(names: &[String], value: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    names.iter().filter_map(|name| Some((name.clone(), without_placeholders(value(name)?)))).collect()
}

/// Separates braces in a value with zero-width spaces. A preview and a test email keep the placeholders of the unsubscribe
/// link, which are replaced later. A value must not become one of them.
fn without_placeholders(value: String) -> String {
    if value.contains("{{{") { value.replace("{{{", "{\u{200b}{\u{200b}{") } else { value }
}

/// Returns the value of a field for a contact, or the fallback of its property; `None` if both are missing or empty.
pub(super) fn value_of<'c>(row: &'c ContactRow, name: &str, definitions: &'c PropertyDefinitions) -> Option<&'c str> {
    let value = match field_of_value(name).0 {
        "FIRST_NAME" => row.first_name.as_deref(),
        "LAST_NAME" => row.last_name.as_deref(),
        property => row.properties.get(property).map(String::as_str),
    };
    value.filter(|value| !value.is_empty()).or_else(|| own_fallback(name, definitions))
}

/// Returns whether [`value_of`] returns `None` for a contact.
pub(super) fn is_missing(view: &ContactRef<'_>, name: &str, definitions: &PropertyDefinitions) -> bool {
    let value = match name {
        "FIRST_NAME" => view.first_name(),
        "LAST_NAME" => view.last_name(),
        name => view.property(name),
    };
    value.unwrap_or_default().is_empty() && own_fallback(name, definitions).is_none()
}

fn fallback(name: &str, definitions: &PropertyDefinitions) -> Option<String> {
    own_fallback(name, definitions).map(str::to_owned)
}

/// Returns the fallback of the property with exactly this key.
fn own_fallback<'d>(name: &str, definitions: &'d PropertyDefinitions) -> Option<&'d str> {
    if definitions.spelling(name) != Some(name) {
        return None;
    }
    definitions.fallback(name).filter(|fallback| !fallback.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact_properties::PropertyDefinition;

    #[test]
    fn a_contact_is_an_id_an_address_or_none() {
        let id = "0199a3f0-0000-7000-8000-000000000001";
        for (text, expected) in [
            ("none", Some(SampleContact::Empty)),
            (id, Some(SampleContact::Id(ContactId::parse(id).unwrap()))),
            ("ada@example.net", Some(SampleContact::Address(EmailAddress::parse("ada@example.net").unwrap()))),
            ("ada", None),
            ("", None),
        ] {
            assert_eq!(SampleContact::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_value_is_no_placeholder() {
        let names = ["FIRST_NAME".to_owned()];
        let of = |value: &str| of_names(&names, |_| Some(value.to_owned()))[0].1.clone();

        assert!(!of("{{{UNSUBSCRIBE_URL}}}").contains("{{{"));
        assert!(!of("{{{{{{{UNSUBSCRIBE_URL}}}").contains("{{{"));
        assert_eq!(of("{{Ada}}"), "{{Ada}}");
    }

    #[test]
    fn a_value_is_that_of_the_contact_or_the_fallback_of_its_property() {
        let string = |fallback: Option<&str>| PropertyDefinition {
            kind: PropertyKind::String,
            fallback: fallback.map(str::to_owned),
        };
        let number = PropertyDefinition { kind: PropertyKind::Number, fallback: None };
        let definitions: PropertyDefinitions =
            [("plan", string(Some("free"))), ("city", string(None)), ("age", number)]
                .map(|(key, it)| (key.to_owned(), it))
                .into_iter()
                .collect();
        let mut row = ContactRow::new(EmailAddress::parse("bob@example.net").unwrap());
        row.first_name = Some(String::new());
        row.properties = [("city", "Oslo"), ("own", "x")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let names = ["FIRST_NAME", "plan", "city", "age", "own", "Plan", "plan|", "city|"].map(str::to_owned);

        let values = names.clone().map(|name| value_of(&row, &name, &definitions));
        let built_in = SampleValues::built_in(&names, &definitions);

        assert_eq!(values, [None, Some("free"), Some("Oslo"), None, Some("x"), None, None, Some("Oslo")]);
        let built_in: Vec<(&str, &str)> =
            built_in.values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [("FIRST_NAME", "Ada"), ("plan", "free"), ("city", "city"), ("age", "42")];
        assert_eq!(built_in[..4], expected);
        assert_eq!(built_in[4..], [("plan|", "free"), ("city|", "city")]);
    }
}
