//! Tests of the suppression list on a temporary store.

use super::lift_opt_out;
use super::model::{SendKind, Suppression, SuppressionCause, SuppressionOrigin};
use super::store::{AddResult, add, blocks, erase, find, find_listed, is_opted_out, list, remove};
use crate::base::address::{ERASED, EmailAddress};
use crate::base::id::{EmailId, ErasureId, Id, SuppressionId, TeamId};
use crate::context::Context;
use crate::events::{AudienceEvent, AudienceSubject, ChangeSource};
use crate::store::page::{Cursor, Page, PageError, PageQuery};
use crate::store::{Reads, WriteTx};
use crate::tables::{AUDIENCE_EVENTS, SUPPRESSION_ORIGINS};

const TEAM: TeamId = Id::MIN;

fn address(text: &str) -> EmailAddress {
    EmailAddress::parse(text).unwrap()
}

/// Returns the recorded events: type, address, origin and source.
fn recorded(tx: &impl Reads) -> Vec<(&'static str, String, String, Option<ChangeSource>)> {
    let mut events = Vec::new();
    for (_, AudienceEvent { kind, subject, .. }) in tx.rows(&AUDIENCE_EVENTS).unwrap() {
        let AudienceSubject::Suppression(entry) = subject else { panic!("no other events") };
        events.push((kind.as_str(), entry.email, entry.origin, entry.source));
    }
    events
}

fn ids(tx: &impl Reads, origin: Option<SuppressionOrigin>) -> Vec<SuppressionId> {
    let query = PageQuery { limit: 100, cursor: Cursor::Newest };
    list(tx, TEAM, origin, query).unwrap().rows.into_iter().map(|entry| entry.id).collect()
}

/// Runs `apply` in one transaction of a temporary store.
async fn within(apply: impl Fn(&WriteTx<'_>, &Context) + Send + 'static) {
    let (_directory, context) = Context::temporary();
    let of = context.clone();
    let applied = move |tx: &WriteTx<'_>| {
        apply(tx, &of);
        Ok(())
    };
    context.commit(applied).await;
}

#[tokio::test]
async fn only_the_origin_of_an_opt_out_is_replaced() {
    within(|tx, context| {
        let ada = address("ada@example.com");
        let blocked = |kind| blocks(tx, TEAM, &ada.identity_hash(), kind).unwrap();
        let add = |cause| add(tx, context, TEAM, &ada, cause).unwrap();
        let email = context.id();

        let first = add(SuppressionCause::listed(SuppressionOrigin::Unsubscribe, ChangeSource::OneClick));
        let AddResult::New(id) = first else { panic!("{first:?}") };
        assert!(!blocked(SendKind::Transactional) && blocked(SendKind::Topic));
        assert_eq!(
            add(SuppressionCause::listed(SuppressionOrigin::Unsubscribe, ChangeSource::HostedPage)),
            AddResult::Listed(id)
        );
        assert_eq!(ids(tx, Some(SuppressionOrigin::Unsubscribe)), [id]);
        assert_eq!(add(SuppressionCause::bounce(email)), AddResult::Raised(id));
        assert!(blocked(SendKind::Transactional) && blocked(SendKind::Topic));
        assert_eq!(find(tx, TEAM, id).unwrap().unwrap().source, Some(email));
        assert!(is_opted_out(tx, TEAM, &ada.identity_hash()).unwrap(), "the entry keeps the opt-out");
        assert_eq!(
            (ids(tx, Some(SuppressionOrigin::Unsubscribe)), ids(tx, Some(SuppressionOrigin::Bounce))),
            (vec![], vec![id])
        );
        for later in [SuppressionOrigin::Complaint, SuppressionOrigin::Unsubscribe, SuppressionOrigin::Manual] {
            assert_eq!(add(SuppressionCause::listed(later, ChangeSource::Api)), AddResult::Listed(id));
            assert_eq!(find(tx, TEAM, id).unwrap().unwrap().origin, SuppressionOrigin::Bounce);
        }

        let added = ("suppression.added", "ada@example.com".into(), "unsubscribe".into(), Some(ChangeSource::OneClick));
        assert_eq!(recorded(tx), [added]);
    })
    .await;
}

#[tokio::test]
async fn an_opt_out_is_stored_in_an_entry_of_any_origin_and_remains_after_it() {
    within(|tx, context| {
        for (number, origin) in
            [SuppressionOrigin::Bounce, SuppressionOrigin::Complaint, SuppressionOrigin::Manual].into_iter().enumerate()
        {
            let ada = address(&format!("ada{number}@example.com"));
            let email = context.id();
            let opted_out = || is_opted_out(tx, TEAM, &ada.identity_hash()).unwrap();
            let cause = SuppressionCause { email: Some(email), ..SuppressionCause::listed(origin, ChangeSource::Api) };
            let id = add(tx, context, TEAM, &ada, cause).unwrap().id();
            assert!(!opted_out());

            let opt_out = SuppressionCause::listed(SuppressionOrigin::Unsubscribe, ChangeSource::OneClick);
            assert_eq!(add(tx, context, TEAM, &ada, opt_out).unwrap(), AddResult::OptedOut(id));
            assert_eq!(add(tx, context, TEAM, &ada, opt_out).unwrap(), AddResult::Listed(id));
            let row = find(tx, TEAM, id).unwrap().unwrap();
            assert!(opted_out());
            assert_eq!((row.origin, row.source), (origin, Some(email)));

            remove(tx, context, TEAM, id, row, ChangeSource::Api).unwrap();
            let row = find(tx, TEAM, id).unwrap().unwrap();
            assert_eq!((row.origin, row.source), (SuppressionOrigin::Unsubscribe, None));
            assert_eq!((ids(tx, Some(origin)), ids(tx, Some(SuppressionOrigin::Unsubscribe))), (vec![], vec![id]));
            let blocked = |kind| blocks(tx, TEAM, &ada.identity_hash(), kind).unwrap();
            assert!(blocked(SendKind::Topic) && !blocked(SendKind::Transactional));

            remove(tx, context, TEAM, id, row, ChangeSource::Api).unwrap();
            assert!(find(tx, TEAM, id).unwrap().is_none());
            let events = recorded(tx);
            let [.., added, removed] = events.as_slice() else { panic!("{events:?}") };
            assert_eq!((added.0, added.2.as_str()), ("suppression.added", origin.as_str()));
            assert_eq!((removed.0, removed.2.as_str()), ("suppression.removed", "unsubscribe"));
        }
        assert_eq!(recorded(tx).len(), 6, "one event for the new entry and one for the deleted entry");
    })
    .await;
}

#[tokio::test]
async fn taking_an_opt_out_back_keeps_an_entry_of_another_origin() {
    within(|tx, context| {
        let ada = address("ada@example.com");
        let lift =
            |only| lift_opt_out(tx, context, TEAM, &ada.identity_hash(), only, ChangeSource::HostedPage).unwrap();
        let listed = SuppressionCause::listed(SuppressionOrigin::Manual, ChangeSource::Api);
        let id = add(tx, context, TEAM, &ada, listed).unwrap().id();
        assert!(!lift(None), "there is no opt-out");
        add(
            tx,
            context,
            TEAM,
            &ada,
            SuppressionCause::listed(SuppressionOrigin::Unsubscribe, ChangeSource::HostedPage),
        )
        .unwrap();

        assert!(!lift(Some(context.id())), "the opt-out is in another entry");
        assert!(lift(Some(id)));

        let row = find(tx, TEAM, id).unwrap().unwrap();
        assert_eq!((row.origin, row.is_opted_out()), (SuppressionOrigin::Manual, false));
        remove(tx, context, TEAM, id, row, ChangeSource::Api).unwrap();
        assert!(find(tx, TEAM, id).unwrap().is_none(), "no opt-out remains");
    })
    .await;
}

/// Returns the id of an erasure request made when `id` was drawn.
fn request_at<R>(id: Id<R>) -> ErasureId {
    Id::from_bytes(*id.as_bytes())
}

#[tokio::test]
async fn an_erased_address_still_blocks_and_is_found_only_by_its_id() {
    within(|tx, context| {
        let ada = address("Ada@example.com");
        let id = add(tx, context, TEAM, &ada, SuppressionCause::listed(SuppressionOrigin::Manual, ChangeSource::Api))
            .unwrap()
            .id();

        for (request, erased) in [(Id::MIN, None), (request_at(id), Some(id)), (request_at(id), None)] {
            assert_eq!(erase(tx, TEAM, &ada.identity_hash(), request, 0).unwrap(), erased, "{request}");
        }

        assert!(blocks(tx, TEAM, &ada.identity_hash(), SendKind::Transactional).unwrap());
        assert!(find_listed(tx, TEAM, &ada.identity_hash()).unwrap().is_none());
        assert_eq!((ids(tx, None), ids(tx, Some(SuppressionOrigin::Manual))), (vec![], vec![]));
        let row = find(tx, TEAM, id).unwrap().unwrap();
        assert_eq!(row.email, None);
        let again =
            add(tx, context, TEAM, &ada, SuppressionCause::listed(SuppressionOrigin::Manual, ChangeSource::Api))
                .unwrap();
        assert_eq!(again, AddResult::Listed(id));
        assert_eq!(find(tx, TEAM, id).unwrap().unwrap().email, None);

        remove(tx, context, TEAM, id, row, ChangeSource::Api).unwrap();
        assert!(!blocks(tx, TEAM, &ada.identity_hash(), SendKind::Topic).unwrap());
        assert_eq!(recorded(tx)[1], ("suppression.removed", ERASED.into(), "manual".into(), Some(ChangeSource::Api)));
    })
    .await;
}

#[tokio::test]
async fn an_address_is_erased_by_the_email_that_caused_its_entry() {
    within(|tx, context| {
        let ada = address("ada@example.com");
        let (earlier, email): (EmailId, EmailId) = (context.id(), context.id());
        let id = add(tx, context, TEAM, &ada, SuppressionCause::complaint(email)).unwrap().id();

        for (accepted, erased) in [(earlier, None), (email, Some(id)), (email, None)] {
            let request = request_at(accepted);
            assert_eq!(erase(tx, TEAM, &ada.identity_hash(), request, 0).unwrap(), erased, "{request}");
        }

        assert_eq!(find(tx, TEAM, id).unwrap().unwrap().email, None);
    })
    .await;
}

#[tokio::test]
async fn the_index_has_only_the_entries_that_lists_contain() {
    within(|tx, context| {
        let indexed = || {
            let keys = tx.keys(&SUPPRESSION_ORIGINS).unwrap().into_iter();
            keys.map(|(_, number, id)| (number, id)).collect::<Vec<_>>()
        };
        let [ada, bob, eve] = ["ada", "bob", "eve"].map(|name| address(&format!("{name}@example.com")));
        let list = |address, cause| add(tx, context, TEAM, address, cause).unwrap().id();
        let opt_out = SuppressionCause::listed(SuppressionOrigin::Unsubscribe, ChangeSource::Api);
        let manual = SuppressionCause::listed(SuppressionOrigin::Manual, ChangeSource::Api);
        let unchanged = list(&ada, opt_out);
        let reduced = list(&bob, opt_out);
        list(&bob, manual);
        let erased = list(&eve, manual);
        assert_eq!(
            indexed(),
            [(2, reduced), (2, erased), (3, unchanged), (255, unchanged), (255, reduced), (255, erased)]
        );

        erase(tx, TEAM, &eve.identity_hash(), Id::MAX, 0).unwrap();
        list(&eve, opt_out);
        remove(tx, context, TEAM, reduced, find(tx, TEAM, reduced).unwrap().unwrap(), ChangeSource::Api).unwrap();
        assert_eq!(indexed(), [(3, unchanged), (3, reduced), (255, unchanged), (255, reduced)]);
        assert_eq!(ids(tx, None), [reduced, unchanged]);

        for id in [unchanged, reduced, erased, erased] {
            remove(tx, context, TEAM, id, find(tx, TEAM, id).unwrap().unwrap(), ChangeSource::Api).unwrap();
        }
        assert_eq!(indexed(), []);
    })
    .await;
}

#[tokio::test]
async fn replacing_the_origin_of_an_erased_opt_out_does_not_list_it() {
    within(|tx, context| {
        let ada = address("ada@example.com");
        let id =
            add(tx, context, TEAM, &ada, SuppressionCause::listed(SuppressionOrigin::Unsubscribe, ChangeSource::Api))
                .unwrap()
                .id();
        erase(tx, TEAM, &ada.identity_hash(), request_at(id), 0).unwrap();

        assert_eq!(
            add(tx, context, TEAM, &ada, SuppressionCause::complaint(context.id())).unwrap(),
            AddResult::Raised(id)
        );

        assert!(blocks(tx, TEAM, &ada.identity_hash(), SendKind::Transactional).unwrap());
        assert_eq!((ids(tx, None), ids(tx, Some(SuppressionOrigin::Complaint))), (vec![], vec![]));
    })
    .await;
}

#[tokio::test]
async fn a_page_of_one_origin_has_only_its_entries_and_cursors() {
    within(|tx, context| {
        let entries: Vec<(SuppressionOrigin, SuppressionId)> = (0..40)
            .map(|number| {
                let origin = SuppressionOrigin::ALL[number % 4];
                let address = address(&format!("r{number}@example.com"));
                (
                    origin,
                    add(tx, context, TEAM, &address, SuppressionCause::listed(origin, ChangeSource::Api)).unwrap().id(),
                )
            })
            .collect();
        for origin in SuppressionOrigin::ALL {
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
