//! A contact's row as it lies in the file: what a filter looks at, borrowed.

use super::store::ContactRow;
use crate::store::{Fields, StoreError, Stored};

/// What is known of a contact, read without decoding its row.
#[derive(Clone, Copy, Debug)]
pub struct BorrowedContact<'a> {
    email: &'a str,
    first_name: Option<&'a str>,
    last_name: Option<&'a str>,
    unsubscribed: bool,
    properties: Option<Fields<'a>>,
}

impl<'a> BorrowedContact<'a> {
    /// Looks at a stored contact.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub fn of(row: &Stored<'a, ContactRow>) -> Result<Self, StoreError> {
        let mut view = Self { email: "", first_name: None, last_name: None, unsubscribed: false, properties: None };
        for field in row.fields()? {
            let (name, value) = field?;
            match name {
                b"email" => view.email = value.text()?,
                b"first_name" => view.first_name = value.optional_text()?,
                b"last_name" => view.last_name = value.optional_text()?,
                b"unsubscribed_ms" => view.unsubscribed = !value.is_nil(),
                b"properties" => view.properties = Some(value.fields()?),
                _ => {}
            }
        }
        Ok(view)
    }

    /// Returns the address.
    pub fn email(&self) -> &'a str {
        self.email
    }

    /// Returns the first name.
    pub fn first_name(&self) -> Option<&'a str> {
        self.first_name
    }

    /// Returns the last name.
    pub fn last_name(&self) -> Option<&'a str> {
        self.last_name
    }

    /// Returns whether the contact opted out of all marketing email.
    pub fn unsubscribed(&self) -> bool {
        self.unsubscribed
    }

    /// Returns the text of the property of that key. One that does not read is none: the row as a
    /// whole has been stepped through, so only its text can be broken.
    pub fn property(&self, key: &str) -> Option<&'a str> {
        let properties = self.properties?;
        let (_, value) = properties.flatten().find(|(name, _)| *name == key.as_bytes())?;
        value.text().ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::strategy::ValueTree as _;

    use super::*;
    use crate::context::Context;
    use crate::id::ContactId;
    use crate::store::tables::CONTACTS;
    use crate::store::{Order, Reads as _, STOP};

    fn row() -> impl Strategy<Value = ContactRow> {
        let name = proptest::option::of(".{0,40}");
        let properties = proptest::collection::btree_map(".{0,40}", ".{0,300}", 0..20);
        (".{0,80}", name.clone(), name, proptest::option::of(any::<i64>()), properties).prop_map(
            |(email, first_name, last_name, unsubscribed_ms, properties)| ContactRow {
                email,
                first_name,
                last_name,
                unsubscribed_ms,
                properties,
                updated_ms: unsubscribed_ms,
            },
        )
    }

    #[tokio::test]
    async fn a_view_says_what_the_row_says() {
        let (_directory, context) = Context::temporary();
        let team = context.id();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let rows = proptest::collection::vec(row(), 300).new_tree(&mut runner).unwrap().current();
        let rows: Vec<(ContactId, ContactRow)> = rows.into_iter().map(|row| (context.id(), row)).collect();
        let written = rows.clone();
        context
            .store
            .write::<_, StoreError>(move |tx| {
                written.iter().try_for_each(|(id, row)| tx.put(&CONTACTS, &(team, *id), row))
            })
            .await
            .unwrap();

        for (id, row) in rows {
            let look = |tx: &crate::store::ReadTx| {
                tx.scan(&CONTACTS, &(team, id), &(team, id), Order::Ascending, |_, stored| {
                    let view = BorrowedContact::of(&stored)?;
                    assert_eq!(view.email(), row.email);
                    assert_eq!(view.first_name(), row.first_name.as_deref());
                    assert_eq!(view.last_name(), row.last_name.as_deref());
                    assert_eq!(view.unsubscribed(), row.unsubscribed());
                    for (key, value) in &row.properties {
                        assert_eq!(view.property(key), Some(value.as_str()));
                    }
                    assert_eq!(view.property("no such key, of that length or any other"), None);
                    STOP
                })
            };
            context.store.read_now::<_, StoreError>(look).unwrap();
        }
    }
}
