//! What an import asks of the store: what it is made against, and writing its batches.

use std::fmt;

use super::row::ImportItem;
use super::{ExistingContacts, ImportOutcome, Property, RunMode};
use crate::base::id::{SegmentId, TeamId, TopicId};
use crate::base::patch::Patch;
use crate::contact_properties::{ContactProperties, PROPERTIES_MAX};
use crate::contacts::{
    BATCH_CHOICES_MAX, BATCH_MAX, BatchItem, BatchOptions, BatchOutcome, CONTACT_PROPERTIES_MAX, ContactBatchError,
    ContactChanges, Contacts, ItemError, ItemStatus, NewContact, OnConflict, OptIns, PROPERTIES_BYTES_MAX,
    PropertyChange, Validation,
};
use crate::context::Context;
use crate::events::ChangeSource;
use crate::segments;
use crate::store::page::{Cursor, PageError, PageQuery};
use crate::store::{Reads, StoreError};
use crate::topics::{self, Subscription};

/// Segments, and topics, that every row may be given.
const GIVEN_MAX: usize = 100;

/// What every contact of an import is given beside what its row says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportDefaults {
    /// Segments it is added to.
    pub segments: Vec<SegmentId>,
    /// Topics it is opted in to, unless it has opted out.
    pub topics: Vec<TopicId>,
}

/// How batches are written.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// What happens to contacts that are there already.
    pub existing: ExistingContacts,
    /// Whether anything is written.
    pub run: RunMode,
    /// What every contact is given.
    pub given: ImportDefaults,
}

/// Why an import cannot begin, or go on.
#[derive(Debug)]
pub enum ImportError {
    /// There are more items than a batch takes, or too much is given to them.
    TooMany,
    /// The team has no such segment.
    SegmentNotFound(SegmentId),
    /// The team has no such topic.
    TopicNotFound(TopicId),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(
                f,
                "a batch has at most {BATCH_MAX} contacts, and at most {GIVEN_MAX} segments and topics for all of them"
            ),
            Self::SegmentNotFound(id) => write!(f, "the team has no segment {id}"),
            Self::TopicNotFound(id) => write!(f, "the team has no topic {id}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ImportError {}

/// Looks whether the team has what every contact is to be given, and returns its properties, oldest
/// first.
///
/// # Errors
/// [`ImportError`].
pub async fn begin(context: &Context, team: TeamId, given: ImportDefaults) -> Result<Vec<Property>, ImportError> {
    check_length(&given)?;
    context.store.read(move |tx| check_given(tx, team, &given)).await?;
    Ok(properties(context, team).await?)
}

async fn properties(context: &Context, team: TeamId) -> Result<Vec<Property>, StoreError> {
    let all = PageQuery { limit: PROPERTIES_MAX, cursor: Cursor::Newest };
    let page = ContactProperties::new(context.clone()).list(team, all).await.map_err(|error| match error {
        PageError::UnknownCursor => unreachable!("the newest page begins at no row"),
        PageError::Store(error) => error,
    })?;
    let properties = page.rows.into_iter().rev();
    Ok(properties.map(|property| Property { key: property.key, kind: property.kind }).collect())
}

fn check_length(given: &ImportDefaults) -> Result<(), ImportError> {
    let ImportDefaults { segments, topics } = given;
    if segments.len() > GIVEN_MAX || topics.len() > GIVEN_MAX { Err(ImportError::TooMany) } else { Ok(()) }
}

fn check_given(tx: &impl Reads, team: TeamId, given: &ImportDefaults) -> Result<(), ImportError> {
    for id in &given.segments {
        if !segments::exists(tx, team, *id)? {
            return Err(ImportError::SegmentNotFound(*id));
        }
    }
    for id in &given.topics {
        if topics::find(tx, team, *id)?.is_none() {
            return Err(ImportError::TopicNotFound(*id));
        }
    }
    Ok(())
}

/// Writes a batch in the bulk lane, and answers what came of each item; or decides the same and writes
/// nothing. It is one transaction, or a few where the items are given so many topics that one would
/// hold the writer for long.
///
/// # Errors
/// [`ImportError`].
pub async fn write_batch(
    context: &Context,
    team: TeamId,
    options: WriteOptions,
    items: Vec<ImportItem>,
) -> Result<Vec<ImportOutcome>, ImportError> {
    let WriteOptions { existing, run, given } = options;
    let count = items.len();
    if count > BATCH_MAX {
        return Err(ImportError::TooMany);
    }
    check_length(&given)?;
    let how = BatchOptions {
        on_conflict: match existing {
            ExistingContacts::Upsert => OnConflict::Upsert,
            ExistingContacts::Skip => OnConflict::Skip,
        },
        validation: Validation::Permissive,
        opt_ins: OptIns::KeepOptOuts,
        source: ChangeSource::Dashboard,
    };
    let items = items.into_iter().map(|item| contact(item, &given)).enumerate().collect();
    let contacts = Contacts::new(context.clone());
    let outcome = match run {
        RunMode::Check => contacts.rehearse(team, items, how).await,
        RunMode::Write => write(&contacts, team, items, how).await,
    };
    match outcome {
        Ok(outcome) => Ok(answered(count, outcome)),
        Err(ContactBatchError::Store(error)) => Err(error.into()),
        Err(ContactBatchError::Item { .. }) => unreachable!("a permissive batch lists what failed"),
    }
}

/// Writes items in as few batches as keep to the choices of one.
async fn write(
    contacts: &Contacts,
    team: TeamId,
    items: Vec<(usize, NewContact)>,
    how: BatchOptions,
) -> Result<BatchOutcome, ContactBatchError> {
    let mut items = items.into_iter().peekable();
    let mut outcome = BatchOutcome::default();
    while items.peek().is_some() {
        let mut choices = 0;
        let mut fits = |(_, item): &(usize, NewContact)| {
            let is_first = choices == 0;
            choices += item.changes.topics.len();
            is_first || choices <= BATCH_CHOICES_MAX
        };
        let batch = std::iter::from_fn(|| items.next_if(&mut fits)).collect();
        let BatchOutcome { items: written, failed } = contacts.batch(team, batch, how).await?;
        outcome.items.extend(written);
        outcome.failed.extend(failed);
    }
    Ok(outcome)
}

fn contact(item: ImportItem, given: &ImportDefaults) -> NewContact {
    let ImportItem { email, first_name, last_name, unsubscribed, properties, segments, opt_ins, opt_outs } = item;
    let set = |name: Option<String>| name.map_or(Patch::Keep, Patch::Set);
    let mut changes = ContactChanges {
        first_name: set(first_name),
        last_name: set(last_name),
        unsubscribed,
        properties: properties.into_iter().map(|(key, text)| (key, PropertyChange::Set(text))).collect(),
        ..ContactChanges::default()
    };
    segments.iter().chain(&given.segments).for_each(|segment| changes.join(*segment));
    // An opt-out stands, whatever else says an opt-in.
    opt_ins.iter().chain(&given.topics).for_each(|topic| changes.choose(*topic, Subscription::OptIn));
    opt_outs.iter().for_each(|topic| changes.choose(*topic, Subscription::OptOut));
    NewContact { email, changes }
}

fn answered(count: usize, outcome: BatchOutcome) -> Vec<ImportOutcome> {
    let BatchOutcome { items, failed } = outcome;
    let unanswered = ImportOutcome::Failed("the batch says nothing about it".to_owned());
    let mut outcomes = vec![unanswered; count];
    for BatchItem { index, id: _, status } in items {
        outcomes[index] = match status {
            ItemStatus::Created => ImportOutcome::Created,
            ItemStatus::Updated => ImportOutcome::Updated,
            ItemStatus::Skipped => ImportOutcome::Skipped,
        };
    }
    for (index, error) in failed {
        outcomes[index] = ImportOutcome::Failed(match error {
            ItemError::SegmentNotFound(id) => format!("the team has no segment {id}"),
            ItemError::TopicNotFound(id) => format!("the team has no topic {id}"),
            ItemError::NotANumber(key) => format!("the property `{key}` is a number, and the value is none"),
            ItemError::TooManyProperties => {
                format!("the contact would have more than {CONTACT_PROPERTIES_MAX} properties")
            }
            ItemError::PropertiesTooLong => {
                format!("the contact's properties would have more than {} KiB together", PROPERTIES_BYTES_MAX >> 10)
            }
            ItemError::Exists | ItemError::Repeats(_) => "the team has a contact with the address".to_owned(),
        });
    }
    outcomes
}
