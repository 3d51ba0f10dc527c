//! What is shown of many contacts at once.

use super::*;
use crate::store::page::{Cursor, Page, PageQuery};
use crate::tables::CONTACTS;
use crate::topics::TOPICS_MAX;

const WHOLE: IncludedFields = IncludedFields { properties: true, topics: true };

impl Audience {
    /// Adds contacts and topics as large as they can be, in JSON.
    fn fill(&self, contacts: usize, topics: usize) {
        self.write(move |tx, context| {
            for _ in 0..topics {
                let row = TopicRow {
                    name: "\u{1f600}".repeat(50),
                    description: Some("\u{1f600}".repeat(200)),
                    default_subscription: Subscription::OptIn,
                    visibility: Visibility::Private,
                    created_ms: 0,
                };
                tx.put(&TOPICS, &(TEAM, context.id()), &row).unwrap();
            }
            for number in 0..contacts {
                let mut row = ContactRow::named(format!("{number}@example.com"));
                row.first_name = Some("\u{1f600}".repeat(500));
                row.properties = (0..32).map(|key| (format!("key{key:02}"), "\u{1}".repeat(2_000))).collect();
                tx.put(&CONTACTS, &(TEAM, context.id()), &row).unwrap();
            }
        });
    }

    fn list(&self, limit: usize, facets: IncludedFields) -> Result<Page<ContactView>, ShowError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let query = PageQuery { limit, cursor: Cursor::Newest };
        runtime.block_on(Contacts::new(self.context.clone()).list(TEAM, query, facets))
    }
}

#[test]
fn a_list_of_twenty_is_shown_however_large_they_are_and_one_of_a_hundred_is_not() {
    let audience = Audience::new();
    audience.fill(100, TOPICS_MAX);

    let page = audience.list(20, WHOLE).unwrap();

    assert_eq!((page.rows.len(), page.has_more), (20, true));
    let first = page.rows[0].topics.as_ref().unwrap();
    assert_eq!(first.len(), TOPICS_MAX);
    let second = page.rows[1].topics.as_ref().unwrap();
    assert!(first.iter().zip(second).all(|(one, other)| Arc::ptr_eq(&one.topic, &other.topic)), "topics are shared");
    assert!(matches!(audience.list(100, WHOLE), Err(ShowError::TooLarge)));
    assert_eq!(audience.list(100, IncludedFields::default()).unwrap().rows.len(), 100);
}

#[test]
fn what_is_counted_is_never_less_than_what_is_answered() {
    let audience = Audience::new();
    audience.fill(1, 2);

    for facets in [IncludedFields::default(), IncludedFields::PROPERTIES, WHOLE] {
        let contact = audience.list(1, facets).unwrap().rows.remove(0);
        let answered = serde_json::to_vec(&crate::contacts::api::ContactResponse::from(contact.clone())).unwrap().len();

        let counted = audience
            .context
            .store
            .read_now::<_, ShowError>(|tx| {
                let mut room = view::Viewer::new(tx, TEAM, facets)?.room();
                let before = room.left();
                room.take(&contact)?;
                Ok(before - room.left())
            })
            .unwrap();

        assert!((answered..answered + 1_000).contains(&counted), "{counted} for {answered}");
    }
}
