//! Tests of the size of responses.

use std::sync::Arc;

use super::*;
use crate::store::page::{Cursor, Page, PageQuery};
use crate::tables::CONTACTS;
use crate::topics::TOPICS_MAX;

const ALL_FIELDS: IncludedFields = IncludedFields { properties: true, topics: true };

impl Audience {
    /// Adds contacts and topics with the maximum JSON size.
    fn fill(&self, contacts: usize, topics: usize) {
        self.write(move |tx, context| {
            for _ in 0..topics {
                let row = TopicRow {
                    name: "\u{1f600}".repeat(50),
                    description: Some("\u{1f600}".repeat(200)),
                    default_subscription: Subscription::OptIn,
                    visibility: TopicVisibility::Private,
                    created_ms: 0,
                };
                tx.put(&TOPICS, &(TEAM, context.id()), &row).unwrap();
            }
            for number in 0..contacts {
                let mut row = ContactRow::new(EmailAddress::parse(&format!("{number}@example.com")).unwrap());
                row.first_name = Some("\u{1f600}".repeat(500));
                row.properties = (0..32).map(|key| (format!("key{key:02}"), "\u{1}".repeat(2_000))).collect();
                tx.put(&CONTACTS, &(TEAM, context.id()), &row).unwrap();
            }
        });
    }

    fn list(&self, limit: usize, include: IncludedFields) -> Result<Page<ContactView>, ShowError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let query = PageQuery { limit, cursor: Cursor::Newest };
        runtime.block_on(Contacts::new(self.context.clone()).list(TEAM, query, include))
    }
}

#[test]
fn twenty_contacts_of_maximum_size_fit_into_a_response_and_a_hundred_do_not() {
    let audience = Audience::new();
    audience.fill(100, TOPICS_MAX);

    let page = audience.list(20, ALL_FIELDS).unwrap();

    assert_eq!((page.rows.len(), page.has_more), (20, true));
    let first = page.rows[0].topics.as_ref().unwrap();
    assert_eq!(first.len(), TOPICS_MAX);
    let second = page.rows[1].topics.as_ref().unwrap();
    assert!(first.iter().zip(second).all(|(one, other)| Arc::ptr_eq(&one.topic, &other.topic)), "topics are shared");
    assert!(matches!(audience.list(100, ALL_FIELDS), Err(ShowError::TooLarge)));
    assert_eq!(audience.list(100, IncludedFields::default()).unwrap().rows.len(), 100);
}

#[test]
fn the_estimated_size_is_never_below_the_size_of_the_response() {
    let audience = Audience::new();
    audience.fill(1, 2);

    for include in [IncludedFields::default(), IncludedFields::PROPERTIES, ALL_FIELDS] {
        let contact = audience.list(1, include).unwrap().rows.remove(0);
        let actual = serde_json::to_vec(&crate::contacts::api::ContactResponse::from(contact.clone())).unwrap().len();

        let estimated = audience
            .context
            .store
            .read_now::<_, ShowError>(|tx| {
                let mut budget = view::ContactViewer::new(tx, TEAM, include)?.response_budget();
                let before = budget.left();
                budget.take(&contact)?;
                Ok(before - budget.left())
            })
            .unwrap();

        assert!((actual..actual + 1_000).contains(&estimated), "{estimated} for {actual}");
    }
}
