//! Searches over a store, and the index behind them.

use std::time::Duration;

use super::find::search;
use super::{EmailIndex, EmailSearchPage, EmailSearchQuery, SearchFilter, index, late};
use crate::base::address::{AddressSet, EmailAddress};
use crate::base::id::{EmailId, ErasureId, TeamId};
use crate::base::sync;
use crate::context::Context;
use crate::emails::store::{EmailRow, RecipientRow, RecipientState};
use crate::emails::{LastEvent, prepare_erasure};
use crate::store::{ScanLimit, WriteTx};
use crate::tables::{EMAIL_SEARCH_BLOCKS, EMAILS};
use crate::teams;

/// Bounds that no search in a test reaches.
const WIDE: ScanLimit = ScanLimit { rows_max: 1_000_000, time_max: Duration::from_secs(60) };

struct Instance {
    context: Context,
    team: TeamId,
    index: EmailIndex,
    _directory: tempfile::TempDir,
}

impl Instance {
    async fn start() -> Self {
        let (directory, context) = Context::temporary();
        let team = teams::create(&context, "Shop").await.unwrap().unwrap().id;
        Self { index: EmailIndex::new(context.clone()), context, team, _directory: directory }
    }

    /// Stores emails, one a millisecond. Returns their ids.
    async fn put(&self, recipients: impl IntoIterator<Item = String>) -> Vec<EmailId> {
        let mut emails = Vec::new();
        for recipient in recipients {
            self.context.clock.advance(Duration::from_millis(1));
            let recipient = RecipientRow::example(&recipient, RecipientState::Settled, LastEvent::Delivered);
            emails.push((self.context.id(), EmailRow::example(vec![recipient], LastEvent::Delivered)));
        }
        let ids = emails.iter().map(|(id, _)| *id).collect();
        let team = self.team;
        self.context.commit(move |tx| emails.iter().try_for_each(|(id, row)| tx.put(&EMAILS, &(team, *id), row))).await;
        ids
    }

    /// Lets time pass, and runs the worker once.
    async fn index_after(&self, passed: Duration) {
        self.context.clock.advance(passed);
        self.index.run_round().await.unwrap();
    }

    fn search(&self, filter: SearchFilter, after: Option<EmailId>, bounds: ScanLimit) -> EmailSearchPage {
        let query = EmailSearchQuery { filter, after, limit: 50 };
        self.context.read(|tx| search(tx, self.team, query.clone(), bounds))
    }

    fn found(&self, to: &str) -> Vec<EmailId> {
        let filter = SearchFilter { to: Some(to.to_owned()), ..SearchFilter::default() };
        self.search(filter, None, WIDE).rows.into_iter().map(|(id, _)| id).collect()
    }

    /// Returns the number of emails in the blocks.
    fn indexed(&self) -> usize {
        let blocks = self.context.rows(&EMAIL_SEARCH_BLOCKS);
        blocks.iter().map(|(_, block)| super::block::BlockEmails::of(&block.0).count()).sum()
    }

    /// Returns the newest email as of the last round without a complete block.
    fn incomplete_at(&self) -> Option<EmailId> {
        sync::lock(&self.index.incomplete).get(&self.team)?.0
    }
}

/// Returns `count` recipients, of which every 100th is Ada.
fn many(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| match number % 100 {
        0 => "ada@example.com".to_owned(),
        _ => format!("r{number}@example.net"),
    })
}

#[tokio::test]
async fn a_recipient_is_found_in_blocks_and_in_newer_emails() {
    let instance = Instance::start().await;
    let ids = instance.put(many(600)).await;
    let ada: Vec<EmailId> = ids.iter().copied().step_by(100).rev().collect();
    assert_eq!(instance.found("ada@example.com"), ada, "before the first block");

    instance.index_after(Duration::from_secs(11)).await;

    assert_eq!(instance.indexed(), 512, "an incomplete block is not written");
    assert_eq!(instance.found("Ada@example.com"), ada);
    let newer = instance.put(["ada@example.com".to_owned()]).await;
    assert_eq!(instance.found("ada@example.com"), [newer, ada].concat());
}

#[tokio::test]
async fn each_page_continues_where_the_one_before_stopped() {
    let instance = Instance::start().await;
    let ids = instance.put(many(600)).await;
    instance.index_after(Duration::from_secs(11)).await;
    for (filter, rows) in [
        (SearchFilter { to: Some("ada@example.com".to_owned()), ..SearchFilter::default() }, 3),
        (SearchFilter { to: Some("ada@".to_owned()), ..SearchFilter::default() }, 7),
    ] {
        let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = instance.search(filter.clone(), after, ScanLimit { rows_max: rows, ..WIDE });
            found.extend(page.rows.into_iter().map(|(id, _)| id));
            pages += 1;
            let Some(position) = page.position else { break };
            assert!(after.is_none_or(|after| position < after), "no progress");
            after = Some(position);
        }

        assert!(pages > 10, "{pages} pages");
        assert_eq!(found, ids.iter().copied().step_by(100).rev().collect::<Vec<_>>());
    }
    let late = ScanLimit { time_max: Duration::ZERO, ..WIDE };
    let page = instance.search(SearchFilter::default(), None, late);
    assert!(page.position.is_some() && page.rows.len() < 50, "the time is a bound too");
}

#[tokio::test]
async fn a_time_range_limits_rows_and_blocks() {
    let instance = Instance::start().await;
    let ids = instance.put(many(600)).await;
    instance.index_after(Duration::from_secs(11)).await;
    let filter = SearchFilter {
        since_ms: Some(ids[100].created_ms()),
        until_ms: Some(ids[300].created_ms()),
        ..SearchFilter::default()
    };

    let of_ada = SearchFilter { to: Some("ada@example.com".to_owned()), ..filter.clone() };
    let found: Vec<EmailId> = instance.search(of_ada, None, WIDE).rows.into_iter().map(|(id, _)| id).collect();

    assert_eq!(found, [ids[200], ids[100]]);
    let all = instance.search(filter, None, WIDE);
    assert_eq!((all.rows.len(), all.rows[0].0, all.position), (50, ids[299], Some(ids[250])));
}

#[tokio::test]
async fn an_id_is_found_at_once_only_in_its_team() {
    let instance = Instance::start().await;
    let ids = instance.put(many(3)).await;
    let by_text = |text: String| {
        let filter = SearchFilter { text: Some(text), ..SearchFilter::default() };
        instance.search(filter, None, ScanLimit { rows_max: 0, ..WIDE }).rows.len()
    };

    assert_eq!(by_text(ids[0].to_string()), 1);
    assert_eq!(by_text(format!("<{}@example.com>", ids[0])), 1);
    assert_eq!(by_text(format!("<{}@other.example>", ids[0])), 0);
    let query = EmailSearchQuery {
        filter: SearchFilter { text: Some(ids[0].to_string()), ..SearchFilter::default() },
        ..EmailSearchQuery::default()
    };
    assert!(instance.context.read(|tx| search(tx, TeamId::MIN, query.clone(), WIDE)).rows.is_empty());
}

#[tokio::test]
async fn deletions_and_erasures_change_the_blocks() {
    let instance = Instance::start().await;
    let ids = instance.put(many(256)).await;
    instance.index_after(Duration::from_secs(11)).await;
    assert_eq!(instance.indexed(), 256);
    let (team, deleted, erased) = (instance.team, ids[0], ids[100]);

    instance.context.commit(move |tx| crate::emails::retention::delete_email(tx, team, deleted)).await;
    assert_eq!(instance.indexed(), 255);
    assert_eq!(instance.found("ada@example.com"), [ids[200], ids[100]]);

    let addresses = AddressSet::new(&[EmailAddress::parse("ada@example.com").unwrap()]);
    let context = instance.context.clone();
    let erase = move |tx: &WriteTx<'_>| {
        let prepared = prepare_erasure(tx, &context.keyring, team, erased, &addresses)?;
        let erasure = (team, ErasureId::MIN);
        crate::emails::erase(tx, &context, erasure, &prepared, &addresses, &mut 100)
    };
    instance.context.commit(erase).await;
    let ada = EmailAddress::parse("ada@example.com").unwrap().identity_hash();
    let has_ada = instance.context.read(|tx| {
        let (_, bytes) = index::block_of(tx, team, erased)?.unwrap();
        let ada = super::block::Fingerprint::of(&ada);
        Ok(super::block::BlockEmails::of(&bytes).any(|email| email.id == erased && email.has(ada)))
    });
    assert!(!has_ada);
}

#[tokio::test]
async fn a_change_makes_a_block_invalid_that_is_being_prepared() {
    let instance = Instance::start().await;
    let ids = instance.put(many(300)).await;
    let (team, deleted) = (instance.team, ids[7]);
    let block = instance.context.read(move |tx| index::prepare(tx, team, EmailId::MAX)).unwrap();

    instance.context.commit(move |tx| crate::emails::retention::delete_email(tx, team, deleted)).await;

    let (first, again) = (block.clone(), block);
    assert!(!instance.context.commit(move |tx| index::put(tx, team, &first, EmailId::MIN)).await);
    instance.index_after(Duration::from_secs(11)).await;
    assert_eq!(instance.indexed(), 256);
    // A second worker with the same block writes nothing.
    assert!(!instance.context.commit(move |tx| index::put(tx, team, &again, EmailId::MIN)).await);
    assert_eq!(instance.indexed(), 256);
}

#[tokio::test]
async fn an_email_that_was_committed_late_is_added() {
    let instance = Instance::start().await;
    let before = instance.put(many(10)).await;
    let late_id: EmailId = instance.context.id();
    let after = instance.put(many(300)).await;
    instance.index_after(Duration::from_secs(11)).await;
    let team = instance.team;
    let row = EmailRow::example(
        vec![RecipientRow::example("late@example.com", RecipientState::Settled, LastEvent::Delivered)],
        LastEvent::Delivered,
    );
    instance.context.commit(move |tx| tx.put(&EMAILS, &(team, late_id), &row)).await;
    assert!(instance.found("late@example.com").is_empty(), "the block is written already");

    instance.index_after(Duration::from_secs(601)).await;

    assert_eq!(instance.found("late@example.com"), [late_id]);
    assert!(before[9] < late_id && late_id < after[0]);
    let page = instance.context.read(move |tx| late::find(tx, team, EmailId::MIN, EmailId::MAX));
    assert!(page.missing.is_empty(), "{page:?}");
}

#[tokio::test]
async fn emails_from_the_future_are_indexed_again() {
    let instance = Instance::start().await;
    instance.put(many(600)).await;
    instance.index_after(Duration::from_secs(11)).await;
    let (team, bound) = (instance.team, instance.context.now_ms() - 11_000 - 300);
    let bound = EmailId::first_at(bound);

    while instance.context.commit(move |tx| index::reset_from(tx, team, bound)).await {}

    assert!(instance.indexed() <= 256, "the blocks from the bound on are gone");
    instance.index_after(Duration::ZERO).await;
    assert_eq!(instance.indexed(), 512);
    assert_eq!(instance.found("ada@example.com").len(), 6);
}

#[tokio::test]
async fn a_late_email_is_added_after_a_step_of_the_clock_too() {
    let instance = Instance::start().await;
    instance.put(many(600)).await;
    instance.index_after(Duration::from_secs(700)).await;
    instance.context.clock.step(-720_000);
    instance.index.reset_ahead(instance.team).await.unwrap();
    assert_eq!(instance.indexed(), 0, "all emails are ahead of the clock");
    let (team, first_ms) = (instance.team, instance.context.now_ms());
    let row = |address: &str| {
        let recipient = RecipientRow::example(address, RecipientState::Settled, LastEvent::Delivered);
        EmailRow::example(vec![recipient], LastEvent::Delivered)
    };
    let (lower, late) = (row("lower@example.com"), row("late@example.com"));
    let put_lower = move |tx: &WriteTx<'_>| {
        (0..300).try_for_each(|number| tx.put(&EMAILS, &(team, EmailId::first_at(first_ms + 2 * number)), &lower))
    };
    instance.context.commit(put_lower).await;
    instance.index_after(Duration::from_secs(11)).await;
    assert_eq!(instance.indexed(), 256);
    let late_id = EmailId::first_at(first_ms + 1);
    instance.context.commit(move |tx| tx.put(&EMAILS, &(team, late_id), &late)).await;

    instance.index_after(Duration::from_secs(601)).await;

    assert_eq!(instance.found("late@example.com"), [late_id]);
}

#[tokio::test]
async fn an_incomplete_block_is_prepared_again_only_after_a_newer_email() {
    let instance = Instance::start().await;
    let before = instance.put(many(200)).await;
    instance.index_after(Duration::from_secs(11)).await;
    assert_eq!((instance.indexed(), instance.incomplete_at()), (0, Some(before[199])));

    let after = instance.put(many(100)).await;
    instance.index_after(Duration::from_secs(11)).await;

    assert_eq!((instance.indexed(), instance.incomplete_at()), (256, Some(after[99])));
}

#[tokio::test]
async fn a_removed_team_gets_no_block() {
    let instance = Instance::start().await;
    let ids = instance.put(many(300)).await;
    let (team, now_ms) = (instance.team, instance.context.now_ms());
    let block = instance.context.read(move |tx| index::prepare(tx, team, EmailId::MAX)).unwrap();
    instance.context.commit(move |tx| teams::remove(tx, team, now_ms)).await;

    assert!(!instance.context.commit(move |tx| index::put(tx, team, &block, EmailId::MIN)).await);
    let id = ids[0];
    instance.context.commit(move |tx| late::add(tx, team, id)).await;
    assert_eq!(instance.indexed(), 0);
}
