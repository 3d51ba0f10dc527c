//! Tests of erasures with a real store.

mod contact_removal;
mod effects;
mod failing;
mod requests;
mod resuming;
mod sharing;
mod tables;
mod waiting;
mod webhook_data;

use super::pages::StepResult;
use super::store::{self, ErasureKey, ErasureRow};
use super::worker::Erasures;
use crate::base::address::EmailAddress;
use crate::base::id::{EmailId, Id, TeamId};
use crate::context::Context;
use crate::delivery::{Class, DueKey, DueRow, LaneKey};
use crate::emails::{self, EmailRow, LastEvent, RecipientRow, RecipientState};
use crate::logs::PendingEntries;
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::{DUE, EMAILS, ERASURES};

const TEAM: TeamId = Id::from_bytes([1; 16]);

fn address(text: &str) -> EmailAddress {
    EmailAddress::parse(text).unwrap()
}

/// Requests the erasure of addresses from the data of the team.
async fn request(context: &Context, addresses: &[&str]) -> ErasureKey {
    let addresses: Vec<EmailAddress> = addresses.iter().map(|text| address(text)).collect();
    let requesting = context.clone();
    context.commit(move |tx| super::request(tx, &requesting, TEAM, addresses.clone())).await;
    *pending(context).last().unwrap()
}

/// Returns the erasures that are not complete, oldest first.
fn pending(context: &Context) -> Vec<ErasureKey> {
    context.keys(&ERASURES)
}

/// Requests an erasure and runs one round.
async fn erase(context: &Context, addresses: &[&str]) {
    request(context, addresses).await;
    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();
}

/// Runs one step of an erasure.
async fn step(context: &Context, key: ErasureKey) -> StepResult {
    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    let mut run = erasures.begin(key).await.unwrap().expect("the erasure is not complete");
    erasures.step(&mut run).await.unwrap()
}

fn erasure(context: &Context, key: ErasureKey) -> Option<ErasureRow> {
    context.read(|tx| tx.get(&ERASURES, &key))
}

/// Returns an email whose recipients all have the given state.
fn email(recipients: &[&str], state: RecipientState) -> EmailRow {
    let recipient = |mailbox: &&str| RecipientRow::example(mailbox, state, LastEvent::Delivered);
    EmailRow {
        from: "Shop <shop@example.org>".into(),
        subject: "Hello".into(),
        ..EmailRow::example(recipients.iter().map(recipient).collect(), LastEvent::Delivered)
    }
}

async fn put_email(context: &Context, row: EmailRow) -> EmailId {
    let id = context.id();
    context.commit(move |tx| tx.put(&EMAILS, &(TEAM, id), &row)).await;
    id
}

/// Queues the first group of an email, due at 1.
async fn queue(context: &Context, id: EmailId) {
    let destination = emails::destination_of(&email_row(context, id).recipients[0]).into_owned();
    let put = move |tx: &WriteTx<'_>| {
        let lane = LaneKey::new(&destination, Class::Transactional, TEAM.cast());
        let key = DueKey { lane, due_ms: 1, email: id, group: 0 };
        tx.put(&DUE, &key.parts(), &DueRow::fresh(TEAM, destination.clone(), 1))
    };
    context.commit(put).await;
}

fn email_row(context: &Context, id: EmailId) -> EmailRow {
    context.read(|tx| tx.get(&EMAILS, &(TEAM, id))).unwrap()
}

fn mailboxes(context: &Context, id: EmailId) -> Vec<String> {
    email_row(context, id).recipients.into_iter().map(|recipient| recipient.mailbox.to_string()).collect()
}
