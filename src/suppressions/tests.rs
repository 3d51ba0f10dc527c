//! The rows of the list over a real store.

use super::lift_opt_out;
use super::model::{Origin, SendKind, Suppression, SuppressionCause};
use super::store::{Added, EraseSelector, add, blocks, erase, find, find_listed, is_opted_out, list, remove};
use crate::base::address::EmailAddress;
use crate::base::id::{EmailId, Id, SuppressionId, TeamId};
use crate::context::Context;
use crate::events::{AudienceEvent, AudienceSubject, ChangeSource, ERASED};
use crate::store::page::{Cursor, Page, PageError, PageQuery};
use crate::store::{NEXT, Order, Reads, StoreError, WriteTx};
use crate::tables::{AUDIENCE_EVENTS, SUPPRESSION_ORIGINS};

const TEAM: TeamId = Id::MIN;

fn address(text: &str) -> EmailAddress {
    EmailAddress::parse(text).unwrap()
}

/// Returns what the events say: the type, the address, the origin and who did it.
fn told(tx: &impl Reads) -> Vec<(&'static str, String, String, Option<ChangeSource>)> {
    let mut told = Vec::new();
    tx.scan(&AUDIENCE_EVENTS, &(TEAM, Id::MIN), &(TEAM, Id::MAX), Order::Ascending, |_, row| {
        let AudienceEvent { kind, subject, .. } = row.decode()?;
        let AudienceSubject::Suppression(entry) = subject else { panic!("no other events") };
        told.push((kind.as_str(), entry.email, entry.origin, entry.source));
        NEXT
    })
    .unwrap();
    told
}

fn ids(tx: &impl Reads, origin: Option<Origin>) -> Vec<SuppressionId> {
    let query = PageQuery { limit: 100, cursor: Cursor::Newest };
    list(tx, TEAM, origin, query).unwrap().rows.into_iter().map(|entry| entry.id).collect()
}

/// Runs `apply` in one transaction of a store of its own.
async fn within(apply: impl Fn(&WriteTx<'_>, &Context) + Send + 'static) {
    let (_directory, context) = Context::temporary();
    let store = context.store.clone();
    let applied = move |tx: &WriteTx<'_>| {
        apply(tx, &context);
        Ok(())
    };
    store.write::<_, StoreError>(applied).await.unwrap();
}

#[tokio::test]
async fn an_opt_out_is_raised_in_place_and_no_other_origin_changes() {
    within(|tx, context| {
        let ada = address("ada@example.com");
        let blocked = |kind| blocks(tx, TEAM, &ada.identity_hash(), kind).unwrap();
        let add = |cause| add(tx, context, TEAM, &ada, cause).unwrap();
        let email = context.id();

        let first = add(SuppressionCause::listed(Origin::Unsubscribe, ChangeSource::OneClick));
        let Added::New(id) = first else { panic!("{first:?}") };
        assert!(!blocked(SendKind::Transactional) && blocked(SendKind::Topic));
        assert_eq!(add(SuppressionCause::listed(Origin::Unsubscribe, ChangeSource::HostedPage)), Added::Listed(id));
        assert_eq!(ids(tx, Some(Origin::Unsubscribe)), [id]);
        assert_eq!(add(SuppressionCause::bounce(email)), Added::Raised(id));
        assert!(blocked(SendKind::Transactional) && blocked(SendKind::Topic));
        assert_eq!(find(tx, TEAM, id).unwrap().unwrap().source, Some(email));
        assert!(is_opted_out(tx, TEAM, &ada.identity_hash()).unwrap(), "raising takes no opt-out back");
        assert_eq!((ids(tx, Some(Origin::Unsubscribe)), ids(tx, Some(Origin::Bounce))), (vec![], vec![id]));
        for later in [Origin::Complaint, Origin::Unsubscribe, Origin::Manual] {
            assert_eq!(add(SuppressionCause::listed(later, ChangeSource::Api)), Added::Listed(id));
            assert_eq!(find(tx, TEAM, id).unwrap().unwrap().origin, Origin::Bounce);
        }

        let added = ("suppression.added", "ada@example.com".into(), "unsubscribe".into(), Some(ChangeSource::OneClick));
        assert_eq!(told(tx), [added]);
    })
    .await;
}

#[tokio::test]
async fn an_opt_out_is_kept_with_an_entry_of_any_origin_and_outlives_it() {
    within(|tx, context| {
        for (number, origin) in [Origin::Bounce, Origin::Complaint, Origin::Manual].into_iter().enumerate() {
            let ada = address(&format!("ada{number}@example.com"));
            let email = context.id();
            let opted_out = || is_opted_out(tx, TEAM, &ada.identity_hash()).unwrap();
            let cause = SuppressionCause { origin, email: Some(email), source: Some(ChangeSource::Api) };
            let id = add(tx, context, TEAM, &ada, cause).unwrap().id();
            assert!(!opted_out());

            let opt_out = SuppressionCause::listed(Origin::Unsubscribe, ChangeSource::OneClick);
            assert_eq!(add(tx, context, TEAM, &ada, opt_out).unwrap(), Added::OptedOut(id));
            assert_eq!(add(tx, context, TEAM, &ada, opt_out).unwrap(), Added::Listed(id));
            let row = find(tx, TEAM, id).unwrap().unwrap();
            assert!(opted_out());
            assert_eq!((row.origin, row.source), (origin, Some(email)));

            remove(tx, context, TEAM, id, row, ChangeSource::Api).unwrap();
            let row = find(tx, TEAM, id).unwrap().unwrap();
            assert_eq!((row.origin, row.source), (Origin::Unsubscribe, None));
            assert_eq!((ids(tx, Some(origin)), ids(tx, Some(Origin::Unsubscribe))), (vec![], vec![id]));
            let blocked = |kind| blocks(tx, TEAM, &ada.identity_hash(), kind).unwrap();
            assert!(blocked(SendKind::Topic) && !blocked(SendKind::Transactional));

            remove(tx, context, TEAM, id, row, ChangeSource::Api).unwrap();
            assert!(find(tx, TEAM, id).unwrap().is_none());
            let told = told(tx);
            let [.., added, removed] = told.as_slice() else { panic!("{told:?}") };
            assert_eq!((added.0, added.2.as_str()), ("suppression.added", origin.as_str()));
            assert_eq!((removed.0, removed.2.as_str()), ("suppression.removed", "unsubscribe"));
        }
        assert_eq!(told(tx).len(), 6, "one event when the entry comes and one when it goes");
    })
    .await;
}

#[tokio::test]
async fn an_opt_out_is_taken_back_from_an_entry_of_any_origin_and_the_rest_stays() {
    within(|tx, context| {
        let ada = address("ada@example.com");
        let lift =
            |only| lift_opt_out(tx, context, TEAM, &ada.identity_hash(), only, ChangeSource::HostedPage).unwrap();
        let listed = SuppressionCause::listed(Origin::Manual, ChangeSource::Api);
        let id = add(tx, context, TEAM, &ada, listed).unwrap().id();
        assert!(!lift(None), "nothing to take back");
        add(tx, context, TEAM, &ada, SuppressionCause::listed(Origin::Unsubscribe, ChangeSource::HostedPage)).unwrap();

        assert!(!lift(Some(context.id())), "of another entry");
        assert!(lift(Some(id)));

        let row = find(tx, TEAM, id).unwrap().unwrap();
        assert_eq!((row.origin, row.is_opted_out()), (Origin::Manual, false));
        remove(tx, context, TEAM, id, row, ChangeSource::Api).unwrap();
        assert!(find(tx, TEAM, id).unwrap().is_none(), "nothing is left of it");
    })
    .await;
}

#[tokio::test]
async fn an_erased_address_goes_on_blocking_and_is_found_by_its_id_alone() {
    within(|tx, context| {
        let ada = address("Ada@example.com");
        let id =
            add(tx, context, TEAM, &ada, SuppressionCause::listed(Origin::Manual, ChangeSource::Api)).unwrap().id();

        for (which, erased) in [
            (EraseSelector::CausedUpTo(Id::MAX), None),
            (EraseSelector::Until(Id::MIN), None),
            (EraseSelector::Until(id), Some(id)),
            (EraseSelector::Until(id), None),
        ] {
            assert_eq!(erase(tx, TEAM, &ada.identity_hash(), which).unwrap(), erased, "{which:?}");
        }

        assert!(blocks(tx, TEAM, &ada.identity_hash(), SendKind::Transactional).unwrap());
        assert!(find_listed(tx, TEAM, &ada.identity_hash()).unwrap().is_none());
        assert_eq!((ids(tx, None), ids(tx, Some(Origin::Manual))), (vec![], vec![]));
        let row = find(tx, TEAM, id).unwrap().unwrap();
        assert_eq!(row.email, None);
        let again = add(tx, context, TEAM, &ada, SuppressionCause::listed(Origin::Manual, ChangeSource::Api)).unwrap();
        assert_eq!(again, Added::Listed(id));
        assert_eq!(find(tx, TEAM, id).unwrap().unwrap().email, None);

        remove(tx, context, TEAM, id, row, ChangeSource::Api).unwrap();
        assert!(!blocks(tx, TEAM, &ada.identity_hash(), SendKind::Topic).unwrap());
        assert_eq!(told(tx)[1], ("suppression.removed", ERASED.into(), "manual".into(), Some(ChangeSource::Api)));
    })
    .await;
}

#[tokio::test]
async fn an_address_is_erased_by_the_email_that_brought_it_whenever_that_was() {
    within(|tx, context| {
        let ada = address("ada@example.com");
        let (earlier, email): (EmailId, EmailId) = (context.id(), context.id());
        let id = add(tx, context, TEAM, &ada, SuppressionCause::complaint(email)).unwrap().id();

        for (up_to, erased) in [(earlier, None), (email, Some(id)), (email, None)] {
            let which = EraseSelector::CausedUpTo(up_to);
            assert_eq!(erase(tx, TEAM, &ada.identity_hash(), which).unwrap(), erased, "{which:?}");
        }

        assert_eq!(find(tx, TEAM, id).unwrap().unwrap().email, None);
    })
    .await;
}

#[tokio::test]
async fn the_index_holds_what_is_listed_and_nothing_that_is_stepped_over() {
    within(|tx, context| {
        let indexed = || {
            let mut indexed = Vec::new();
            let (from, to) = ((TEAM, 0, Id::MIN), (TEAM, u8::MAX, Id::MAX));
            tx.scan(&SUPPRESSION_ORIGINS, &from, &to, Order::Ascending, |(_, number, id), _| {
                indexed.push((number, id));
                NEXT
            })
            .unwrap();
            indexed
        };
        let [ada, bob, eve] = ["ada", "bob", "eve"].map(|name| address(&format!("{name}@example.com")));
        let list = |address, cause| add(tx, context, TEAM, address, cause).unwrap().id();
        let opt_out = SuppressionCause::listed(Origin::Unsubscribe, ChangeSource::Api);
        let manual = SuppressionCause::listed(Origin::Manual, ChangeSource::Api);
        let kept = list(&ada, opt_out);
        let lowered = list(&bob, opt_out);
        list(&bob, manual);
        let erased = list(&eve, manual);
        assert_eq!(indexed(), [(2, lowered), (2, erased), (3, kept), (255, kept), (255, lowered), (255, erased)]);

        erase(tx, TEAM, &eve.identity_hash(), EraseSelector::Until(Id::MAX)).unwrap();
        list(&eve, opt_out);
        remove(tx, context, TEAM, lowered, find(tx, TEAM, lowered).unwrap().unwrap(), ChangeSource::Api).unwrap();
        assert_eq!(indexed(), [(3, kept), (3, lowered), (255, kept), (255, lowered)]);
        assert_eq!(ids(tx, None), [lowered, kept]);

        for id in [kept, lowered, erased, erased] {
            remove(tx, context, TEAM, id, find(tx, TEAM, id).unwrap().unwrap(), ChangeSource::Api).unwrap();
        }
        assert_eq!(indexed(), []);
    })
    .await;
}

#[tokio::test]
async fn an_erased_opt_out_is_raised_without_being_listed() {
    within(|tx, context| {
        let ada = address("ada@example.com");
        let id = add(tx, context, TEAM, &ada, SuppressionCause::listed(Origin::Unsubscribe, ChangeSource::Api))
            .unwrap()
            .id();
        erase(tx, TEAM, &ada.identity_hash(), EraseSelector::Until(id)).unwrap();

        assert_eq!(add(tx, context, TEAM, &ada, SuppressionCause::complaint(context.id())).unwrap(), Added::Raised(id));

        assert!(blocks(tx, TEAM, &ada.identity_hash(), SendKind::Transactional).unwrap());
        assert_eq!((ids(tx, None), ids(tx, Some(Origin::Complaint))), (vec![], vec![]));
    })
    .await;
}

#[tokio::test]
async fn a_page_of_one_origin_holds_its_entries_and_takes_its_cursors_alone() {
    within(|tx, context| {
        let entries: Vec<(Origin, SuppressionId)> = (0..40)
            .map(|number| {
                let origin = Origin::ALL[number % 4];
                let address = address(&format!("r{number}@example.com"));
                (
                    origin,
                    add(tx, context, TEAM, &address, SuppressionCause::listed(origin, ChangeSource::Api)).unwrap().id(),
                )
            })
            .collect();
        for origin in Origin::ALL {
            let of_origin = entries.iter().rev().filter(|(its, _)| *its == origin).map(|(_, id)| *id);
            let expected: Vec<SuppressionId> = of_origin.collect();
            let query = |cursor| PageQuery { limit: 4, cursor };

            let first = list(tx, TEAM, Some(origin), query(Cursor::Newest)).unwrap();
            let next = list(tx, TEAM, Some(origin), query(Cursor::After(expected[3]))).unwrap();
            let back = list(tx, TEAM, Some(origin), query(Cursor::Before(expected[4]))).unwrap();

            let ids = |page: &Page<Suppression>| page.rows.iter().map(|entry| entry.id).collect::<Vec<_>>();
            assert_eq!((ids(&first), first.has_more), (expected[..4].to_vec(), true));
            assert_eq!((ids(&next), next.has_more), (expected[4..8].to_vec(), true));
            assert_eq!((ids(&back), back.has_more), (expected[..4].to_vec(), false));
            let other = entries.iter().find(|(its, _)| *its != origin).unwrap().1;
            let foreign = list(tx, TEAM, Some(origin), query(Cursor::After(other)));
            assert!(matches!(foreign, Err(PageError::UnknownCursor)));
        }
    })
    .await;
}
