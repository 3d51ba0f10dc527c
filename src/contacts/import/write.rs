//! Access of an import to the store: reads the properties of the team, and writes batches.

use super::row::ImportItem;
use super::{ExistingContacts, ImportOutcome, ImportProperty, RunMode};
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
use crate::store::{Reads, StoreError, from_store_error};
use crate::topics::{self, Subscription};

/// Maximum number of default segments, and of default topics.
const DEFAULTS_MAX: usize = 100;

/// Segments and topics for every contact of an import, in addition to those of its row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportDefaults {
    /// Segments that the contact becomes a member of.
    pub segments: Vec<SegmentId>,
    /// Topics that the contact is opted in to, unless it has opted out.
    pub topics: Vec<TopicId>,
}

/// Options of [`write_batch`].
#[derive(Clone, Debug)]
pub struct WriteOptions {
    pub existing: ExistingContacts,
    pub run: RunMode,
    pub defaults: ImportDefaults,
}

/// Reason why an import cannot begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(
        "a batch has at most {BATCH_MAX} contacts, and at most {DEFAULTS_MAX} segments and {DEFAULTS_MAX} topics \
         for all of them"
    )]
    TooMany,
    #[error("the team has no segment {0}")]
    SegmentNotFound(SegmentId),
    #[error("the team has no topic {0}")]
    TopicNotFound(TopicId),
    #[error("{0}")]
    Store(StoreError),
}

from_store_error!(ImportError);

/// Checks that the team has the default segments and topics. Returns the properties of the team, oldest
/// first.
pub async fn begin(
    context: &Context,
    team: TeamId,
    defaults: ImportDefaults,
) -> Result<Vec<ImportProperty>, ImportError> {
    check_length(&defaults)?;
    context.store.read(move |tx| check_defaults(tx, team, &defaults)).await?;
    Ok(properties(context, team).await?)
}

async fn properties(context: &Context, team: TeamId) -> Result<Vec<ImportProperty>, StoreError> {
    let all = PageQuery { limit: PROPERTIES_MAX, cursor: Cursor::Newest };
    let page = ContactProperties::new(context.clone()).list(team, all).await.map_err(|error| match error {
        PageError::UnknownCursor => unreachable!("the newest page has no cursor"),
        PageError::Store(error) => error,
    })?;
    let properties = page.rows.into_iter().rev();
    Ok(properties.map(|property| ImportProperty { key: property.key, kind: property.kind }).collect())
}

fn check_length(defaults: &ImportDefaults) -> Result<(), ImportError> {
    let ImportDefaults { segments, topics } = defaults;
    if segments.len() > DEFAULTS_MAX || topics.len() > DEFAULTS_MAX { Err(ImportError::TooMany) } else { Ok(()) }
}

fn check_defaults(tx: &impl Reads, team: TeamId, defaults: &ImportDefaults) -> Result<(), ImportError> {
    for id in &defaults.segments {
        if !segments::exists(tx, team, *id)? {
            return Err(ImportError::SegmentNotFound(*id));
        }
    }
    for id in &defaults.topics {
        if topics::find(tx, team, *id)?.is_none() {
            return Err(ImportError::TopicNotFound(*id));
        }
    }
    Ok(())
}

/// Writes a batch through the bulk write queue and returns the outcome of each item. With
/// [`RunMode::Check`] it returns the same outcomes and writes nothing. If the items have more than
/// [`BATCH_CHOICES_MAX`] topic choices, the batch is split into several transactions.
pub async fn write_batch(
    context: &Context,
    team: TeamId,
    options: WriteOptions,
    items: Vec<ImportItem>,
) -> Result<Vec<ImportOutcome>, ImportError> {
    let WriteOptions { existing, run, defaults } = options;
    let count = items.len();
    if count > BATCH_MAX {
        return Err(ImportError::TooMany);
    }
    check_length(&defaults)?;
    let options = BatchOptions {
        on_conflict: match existing {
            ExistingContacts::Upsert => OnConflict::Upsert,
            ExistingContacts::Skip => OnConflict::Skip,
        },
        validation: Validation::Permissive,
        opt_ins: OptIns::KeepOptOuts,
        source: ChangeSource::Dashboard,
    };
    let items = items.into_iter().map(|item| new_contact(item, &defaults)).enumerate().collect();
    let contacts = Contacts::new(context.clone());
    let outcome = match run {
        RunMode::Check => contacts.dry_run(team, items, options).await,
        RunMode::Write => write(&contacts, team, items, options).await,
    };
    match outcome {
        Ok(outcome) => Ok(outcomes(count, outcome)),
        Err(ContactBatchError::Store(error)) => Err(error.into()),
        Err(ContactBatchError::Item { .. }) => unreachable!("a permissive batch lists failed items"),
    }
}

/// Writes the items in one transaction for each [`BATCH_CHOICES_MAX`] topic choices.
async fn write(
    contacts: &Contacts,
    team: TeamId,
    items: Vec<(usize, NewContact)>,
    options: BatchOptions,
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
        let BatchOutcome { items: written, failed } = contacts.batch(team, batch, options).await?;
        outcome.items.extend(written);
        outcome.failed.extend(failed);
    }
    Ok(outcome)
}

fn new_contact(item: ImportItem, defaults: &ImportDefaults) -> NewContact {
    let ImportItem { email, first_name, last_name, unsubscribed, properties, segments, opt_ins, opt_outs } = item;
    let set = |name: Option<String>| name.map_or(Patch::Keep, Patch::Set);
    let mut changes = ContactChanges {
        first_name: set(first_name),
        last_name: set(last_name),
        unsubscribed,
        properties: properties.into_iter().map(|(key, text)| (key, PropertyChange::Set(text))).collect(),
        ..ContactChanges::default()
    };
    segments.iter().chain(&defaults.segments).for_each(|segment| changes.join(*segment));
    // The opt-outs come last, so that they replace opt-ins for the same topic.
    opt_ins.iter().chain(&defaults.topics).for_each(|topic| changes.choose(*topic, Subscription::OptIn));
    opt_outs.iter().for_each(|topic| changes.choose(*topic, Subscription::OptOut));
    NewContact { email, changes }
}

/// Returns the outcome of each of the `count` items, in order.
fn outcomes(count: usize, outcome: BatchOutcome) -> Vec<ImportOutcome> {
    let BatchOutcome { items, failed } = outcome;
    let missing = ImportOutcome::Failed("the batch has no outcome for this row".to_owned());
    let mut outcomes = vec![missing; count];
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
            ItemError::NotANumber(key) => format!("the property `{key}` requires a number, and the value is not one"),
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
