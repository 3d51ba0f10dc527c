//! The use cases: create, show and delete contact properties; change a fallback.

use super::model::{ContactProperty, FallbackError, GivenFallback, NewProperty, PROPERTIES_MAX, PropertyFallback};
use super::store::{self, ContactPropertyRow};
use crate::base::id::{ContactPropertyId, TeamId};
use crate::base::patch::Patch;
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, is_full, page};
use crate::store::{Reads as _, StoreError, from_store_error};
use crate::tables::CONTACT_PROPERTIES;

/// Error of creating a property.
#[derive(Debug)]
pub enum CreatePropertyError {
    /// The team has a property of this key, in the same or another letter case.
    Taken(String),
    /// The team has [`PROPERTIES_MAX`] properties.
    TooMany,
    /// The store failed.
    Store(StoreError),
}

/// Error of changing a property.
#[derive(Debug)]
pub enum UpdatePropertyError {
    /// The team has no property of that id.
    NotFound,
    /// The fallback does not have the type of the property.
    Fallback(FallbackError),
    /// The store failed.
    Store(StoreError),
}

from_store_error!(CreatePropertyError, UpdatePropertyError);

/// The contact properties of all teams.
pub struct ContactProperties {
    context: Context,
}

impl ContactProperties {
    /// Returns the contact properties in the store of `context`.
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    /// Creates a property.
    pub async fn create(&self, team: TeamId, new: NewProperty) -> Result<ContactProperty, CreatePropertyError> {
        let NewProperty { key, kind, fallback } = new;
        let (key, fallback) = (key.into_string(), fallback.map(PropertyFallback::into_string));
        let ids = self.context.ids.clone();
        self.context
            .store
            .write(move |tx| {
                if store::is_taken(tx, team, &key)? {
                    return Err(CreatePropertyError::Taken(key.clone()));
                }
                if is_full(tx, &CONTACT_PROPERTIES, team, PROPERTIES_MAX)? {
                    return Err(CreatePropertyError::TooMany);
                }
                let id: ContactPropertyId = ids.draw();
                let (key, fallback, created_ms) = (key.clone(), fallback.clone(), id.created_ms());
                let row = ContactPropertyRow { key, kind, fallback, created_ms };
                store::put(tx, team, id, &row)?;
                Ok(row.property(id))
            })
            .await
    }

    /// Returns a page of the team's properties, newest first.
    pub async fn list(
        &self,
        team: TeamId,
        query: PageQuery<ContactPropertyId>,
    ) -> Result<Page<ContactProperty>, PageError> {
        self.context
            .store
            .read(move |tx| page(tx, &CONTACT_PROPERTIES, team, query, |id, row| Ok(Some(row.property(id)))))
            .await
    }

    /// Returns the team's property of that id.
    pub async fn find(&self, team: TeamId, id: ContactPropertyId) -> Result<Option<ContactProperty>, StoreError> {
        let row = self.context.store.read(move |tx| tx.get(&CONTACT_PROPERTIES, &(team, id))).await?;
        Ok(row.map(|row| row.property(id)))
    }

    /// Changes the fallback of a property and returns the changed property.
    pub async fn update(
        &self,
        team: TeamId,
        id: ContactPropertyId,
        fallback: Patch<GivenFallback>,
    ) -> Result<ContactProperty, UpdatePropertyError> {
        self.context
            .store
            .write(move |tx| {
                let before = tx.get(&CONTACT_PROPERTIES, &(team, id))?.ok_or(UpdatePropertyError::NotFound)?;
                let fallback = match &fallback {
                    Patch::Keep => before.fallback.clone(),
                    Patch::Clear => None,
                    Patch::Set(given) => {
                        let fallback = given.of_kind(before.kind).map_err(UpdatePropertyError::Fallback)?;
                        Some(fallback.into_string())
                    }
                };
                let row = ContactPropertyRow { fallback, ..before.clone() };
                if row != before {
                    store::put(tx, team, id, &row)?;
                }
                Ok(row.property(id))
            })
            .await
    }

    /// Deletes a property; contacts keep their values. Returns whether the team had a property of that
    /// id.
    pub async fn delete(&self, team: TeamId, id: ContactPropertyId) -> Result<bool, StoreError> {
        let now_ms = self.context.now_ms();
        self.context
            .store
            .write(move |tx| {
                let Some(row) = tx.get(&CONTACT_PROPERTIES, &(team, id))? else { return Ok(false) };
                store::remove(tx, team, id, &row, now_ms)?;
                Ok(true)
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::contact_properties::model::{PropertyKey, PropertyKind};
    use crate::contact_properties::{PropertyValue, definitions};
    use crate::store::WriteTx;

    const TEAM: TeamId = Id::MIN;
    const OTHER: TeamId = Id::MAX;

    fn new_property(key: &str, kind: PropertyKind) -> NewProperty {
        NewProperty { key: PropertyKey::parse(key).unwrap(), kind, fallback: None }
    }

    #[tokio::test]
    async fn definitions_are_those_of_the_current_properties_of_the_team() {
        let (_directory, context) = Context::temporary();
        let properties = ContactProperties::new(context.clone());
        let read = |key: &'static str| context.read(|tx| Ok(definitions(tx, TEAM)?.read_value(key, "12", false)));
        let text = PropertyValue::String("12".into());
        properties.create(OTHER, new_property("age", PropertyKind::Number)).await.unwrap();
        assert_eq!(read("age"), text, "the definition belongs to another team");

        let age = properties.create(TEAM, new_property("Age", PropertyKind::Number)).await.unwrap();
        properties.create(TEAM, new_property("plan", PropertyKind::String)).await.unwrap();

        assert_eq!((read("age"), read("plan")), (PropertyValue::Number(12.into()), text.clone()));
        assert!(properties.delete(TEAM, age.id).await.unwrap());
        assert!(!properties.delete(TEAM, age.id).await.unwrap());
        assert_eq!(read("age"), text);
    }

    #[tokio::test]
    async fn the_key_of_a_deleted_property_can_be_used_again() {
        let (_directory, context) = Context::temporary();
        let properties = ContactProperties::new(context);
        let first = properties.create(TEAM, new_property("Plan", PropertyKind::String)).await.unwrap();

        let refused = properties.create(TEAM, new_property("pLAN", PropertyKind::Number)).await;
        assert!(matches!(&refused, Err(CreatePropertyError::Taken(key)) if key == "pLAN"), "{refused:?}");
        assert!(!properties.delete(OTHER, first.id).await.unwrap());
        assert!(properties.delete(TEAM, first.id).await.unwrap());
        properties.create(TEAM, new_property("pLAN", PropertyKind::Number)).await.unwrap();
    }

    #[tokio::test]
    async fn a_team_has_at_most_500_properties() {
        let (_directory, context) = Context::temporary();
        let properties = ContactProperties::new(context.clone());
        let last = properties.create(TEAM, new_property("last", PropertyKind::String)).await.unwrap();
        let ids: Vec<ContactPropertyId> = (1..PROPERTIES_MAX).map(|_| context.id()).collect();
        let fill = move |tx: &WriteTx<'_>| {
            ids.iter().enumerate().try_for_each(|(number, id)| {
                let key = format!("key_{number}");
                let row = ContactPropertyRow { key, kind: PropertyKind::String, fallback: None, created_ms: 1 };
                store::put(tx, TEAM, *id, &row)
            })
        };
        context.commit(fill).await;

        let refused = properties.create(TEAM, new_property("one_more", PropertyKind::String)).await;
        assert!(matches!(refused, Err(CreatePropertyError::TooMany)), "{refused:?}");
        properties.create(OTHER, new_property("theirs", PropertyKind::String)).await.unwrap();
        properties.delete(TEAM, last.id).await.unwrap();
        properties.create(TEAM, new_property("one_more", PropertyKind::String)).await.unwrap();
    }
}
