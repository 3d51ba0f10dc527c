//! Tests of segments on a temporary store.

mod deleting;
mod resolving;

use super::filter::{ConditionText, Filter, Match};
use super::*;
use crate::base::address::EmailAddress;
use crate::base::id::{ContactId, Id, SegmentId, TeamId};
use crate::base::patch::Patch;
use crate::contacts::{ContactChanges, ContactWriter, NewContact, PropertyChange};
use crate::context::Context;
use crate::events::ChangeSource;
use crate::store::page::{Cursor, PageQuery};
use crate::store::{StoreError, WriteTx};

const TEAM: TeamId = Id::MIN;
const OTHER: TeamId = Id::MAX;

/// First name and plan of a contact.
type Person = (&'static str, &'static str);

fn new_contact(number: usize, (name, plan): Person) -> NewContact {
    NewContact {
        email: EmailAddress::parse(&format!("c{number}@example.com")).unwrap(),
        changes: ContactChanges {
            first_name: Patch::Set(name.to_owned()),
            properties: vec![("plan".into(), PropertyChange::Set(plan.to_owned()))],
            ..ContactChanges::default()
        },
    }
}

/// Changes the contacts of a team, in one transaction.
async fn change<T: Send + 'static>(
    context: &Context,
    team: TeamId,
    work: impl Fn(&mut ContactWriter<'_, '_>, &WriteTx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    let of = context.clone();
    let apply = move |tx: &WriteTx<'_>| {
        let mut writer = ContactWriter::new(tx, &of, team, ChangeSource::Api);
        let done = work(&mut writer, tx)?;
        writer.finish()?;
        Ok(done)
    };
    context.commit(apply).await
}

/// Adds contacts and returns their ids, oldest first.
async fn add(context: &Context, team: TeamId, people: Vec<Person>) -> Vec<ContactId> {
    change(context, team, move |writer, _| {
        let mut ids = Vec::new();
        for (number, person) in people.iter().enumerate() {
            let new = new_contact(number, *person);
            ids.push(writer.create(&new, &new.email.identity_hash())?);
        }
        Ok(ids)
    })
    .await
}

/// Makes contacts members of a segment.
async fn join(context: &Context, team: TeamId, segment: SegmentId, contacts: Vec<ContactId>) {
    change(context, team, move |writer, tx| {
        for contact in &contacts {
            let row = crate::contacts::find(tx, team, *contact)?.unwrap();
            let changes = ContactChanges { segments: vec![segment], ..ContactChanges::default() };
            let (resubscribe, opt_ins) = (crate::contacts::Resubscribe::Never, crate::contacts::OptIns::Allowed);
            writer.update(*contact, &row, &changes, resubscribe, opt_ins)?;
        }
        Ok(())
    })
    .await;
}

fn plan_is(plan: &str) -> Filter {
    let condition = ConditionText { field: "property:plan".into(), op: "equals".into(), value: Some(plan.to_owned()) };
    Filter::parse(Match::All, vec![condition]).unwrap()
}

async fn segment(segments: &Segments, team: TeamId, filter: Option<Filter>) -> Segment {
    segments.create(team, NewSegment { name: SegmentName::parse("Some").unwrap(), filter }).await.unwrap()
}

async fn count(segments: &Segments, team: TeamId, segment: &Segment) -> u64 {
    segments.count_contacts(team, segment).await.unwrap()
}

/// Reads all pages, newest first.
async fn listed(segments: &Segments, team: TeamId, id: SegmentId, limit: usize) -> Vec<ContactId> {
    let mut all = Vec::new();
    let mut cursor = Cursor::Newest;
    loop {
        let page = segments.contacts(team, id, PageQuery { limit, cursor }).await.unwrap();
        assert!(page.rows.len() <= limit && (page.rows.len() == limit || !page.has_more));
        all.extend(page.rows.iter().map(|(contact, _)| *contact));
        match (page.has_more, all.last()) {
            (true, Some(last)) => cursor = Cursor::After(*last),
            _ => return all,
        }
    }
}
