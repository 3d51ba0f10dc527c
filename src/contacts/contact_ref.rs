//! A borrowed view of a stored contact, for segment filters.

use super::store::ContactRow;
use crate::base::address::EmailAddress;
use crate::store::{RawValue, RowFields, StoreError, Stored};

/// Fields of a contact, borrowed from its encoded row. A text is decoded each time it is read. A field
/// that is not UTF-8 reads as absent, and so does a property that is truncated. Any other corruption is an error of
/// [`of`](Self::of).
pub struct ContactRef<'a> {
    row: &'a Stored<'a, ContactRow>,
    email: Option<RawValue<'a>>,
    first_name: Option<RawValue<'a>>,
    last_name: Option<RawValue<'a>>,
    unsubscribed: bool,
    properties: Option<RowFields<'a>>,
}

impl<'a> ContactRef<'a> {
    /// Finds the fields of a stored contact without decoding their texts.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the row is not a valid map of fields.
    #[inline]
    pub fn of(row: &'a Stored<'a, ContactRow>) -> Result<Self, StoreError> {
        let mut contact =
            Self { row, email: None, first_name: None, last_name: None, unsubscribed: false, properties: None };
        let mut fields = row.fields()?;
        while let Some(name) = fields.next_name()? {
            // The properties are most of the row, and no field of this type follows them.
            if name == b"properties" {
                contact.properties = Some(fields.inner()?);
                break;
            }
            let value = fields.next_value()?;
            match name {
                b"email" => contact.email = Some(value),
                b"first_name" => contact.first_name = Some(value),
                b"last_name" => contact.last_name = Some(value),
                b"unsubscribed_ms" => contact.unsubscribed = !value.is_nil(),
                _ => {}
            }
        }
        Ok(contact)
    }

    /// Decodes the row; `None` if it is corrupt, which is logged.
    pub fn valid_row(&self) -> Option<ContactRow> {
        self.row.valid()
    }

    /// Returns the address; empty if it is absent.
    pub fn email(&self) -> &'a str {
        text(self.email).unwrap_or_default()
    }

    /// Returns the parsed address; `None` if it is absent.
    pub fn address(&self) -> Option<EmailAddress> {
        EmailAddress::from_stored(self.email())
    }

    pub fn first_name(&self) -> Option<&'a str> {
        text(self.first_name)
    }

    pub fn last_name(&self) -> Option<&'a str> {
        text(self.last_name)
    }

    /// Returns whether the contact opted out of all marketing email.
    pub fn unsubscribed(&self) -> bool {
        self.unsubscribed
    }

    /// Returns the text of the property with exactly this key. Scans the properties.
    pub fn property(&self, key: &str) -> Option<&'a str> {
        let (_, value) = self.properties?.flatten().find(|(name, _)| *name == key.as_bytes())?;
        text(Some(value))
    }
}

fn text(value: Option<RawValue<'_>>) -> Option<&str> {
    value.filter(|value| !value.is_nil())?.text().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::strategy::ValueTree as _;

    use super::*;
    use crate::base::id::ContactId;
    use crate::context::Context;
    use crate::store::{Order, Reads as _, STOP};
    use crate::tables::CONTACTS;

    fn row() -> impl Strategy<Value = ContactRow> {
        let name = proptest::option::of(".{0,40}");
        let properties = proptest::collection::btree_map(".{0,40}", ".{0,300}", 0..20);
        ("[a-z]{1,20}@example\\.com", name.clone(), name, proptest::option::of(any::<i64>()), properties).prop_map(
            |(email, first_name, last_name, unsubscribed_ms, properties)| ContactRow {
                email: EmailAddress::parse(&email).unwrap(),
                first_name,
                last_name,
                unsubscribed_ms,
                properties,
                numbers: std::collections::BTreeSet::new(),
                updated_ms: unsubscribed_ms,
            },
        )
    }

    #[tokio::test]
    async fn a_reference_has_the_fields_of_its_row() {
        let (_directory, context) = Context::temporary();
        let team = context.id();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let rows = proptest::collection::vec(row(), 300).new_tree(&mut runner).unwrap().current();
        let rows: Vec<(ContactId, ContactRow)> = rows.into_iter().map(|row| (context.id(), row)).collect();
        let written = rows.clone();
        context.commit(move |tx| written.iter().try_for_each(|(id, row)| tx.put(&CONTACTS, &(team, *id), row))).await;

        for (id, row) in rows {
            context.read(|tx| {
                tx.scan(&CONTACTS, &(team, id), &(team, id), Order::Ascending, |_, stored| {
                    let contact = ContactRef::of(&stored)?;
                    assert_eq!(contact.email(), row.email.to_string());
                    assert_eq!(contact.first_name(), row.first_name.as_deref());
                    assert_eq!(contact.last_name(), row.last_name.as_deref());
                    assert_eq!(contact.unsubscribed(), row.unsubscribed());
                    for (key, value) in &row.properties {
                        assert_eq!(contact.property(key), Some(value.as_str()));
                    }
                    assert_eq!(contact.property("a key that no generated contact has, because it is too long"), None);
                    STOP
                })
            });
        }
    }
}
