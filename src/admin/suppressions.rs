//! The suppression list of a team.

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use super::pages::{page_after, unknown};
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::Actor;
use crate::base::address::{ERASED, Mailbox};
use crate::base::clock::to_iso;
use crate::base::id::{EmailId, SuppressionId, TeamId};
use crate::base::id_or_email::IdOrEmail;
use crate::events::ChangeSource;
use crate::suppressions::{BATCH_MAX, Suppression, SuppressionOrigin};

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum SuppressionVerb {
    /// List the suppressed addresses, newest first.
    #[serde(rename = "suppression_list")]
    List {
        /// Only the entries with this origin.
        #[arg(long, value_parser = origins())]
        origin: Option<SuppressionOrigin>,
        /// Maximum number of entries.
        #[arg(long, value_name = "N", default_value_t = super::LISTED_DEFAULT, value_parser = super::listed_max())]
        #[serde(skip)]
        limit: usize,
        #[arg(skip)]
        after: Option<SuppressionId>,
    },
    /// Add addresses, so that the team does not send to them. A listed address keeps its entry.
    #[serde(rename = "suppression_add")]
    Add {
        /// Addresses, up to 1000.
        #[arg(required = true, value_name = "ADDRESS", num_args = 1..=BATCH_MAX)]
        addresses: Vec<String>,
        /// Origin of the entries.
        #[arg(long, default_value = "manual", value_parser = origins())]
        origin: SuppressionOrigin,
    },
    /// Remove an entry, so that the team can send to the address again. An opt-out of the recipient remains.
    #[serde(rename = "suppression_remove")]
    Remove {
        /// Address, or id of the entry.
        suppression: String,
    },
}

fn origins() -> impl TypedValueParser<Value = SuppressionOrigin> {
    PossibleValuesParser::new(SuppressionOrigin::ALL.map(SuppressionOrigin::as_str))
        .map(|word| SuppressionOrigin::parse(&word).expect("every value is an origin"))
}

/// An entry of the suppression list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuppressionView {
    pub id: SuppressionId,
    pub email: String,
    pub origin: String,
    /// The email that bounced or that the recipient reported.
    pub source_id: Option<EmailId>,
    pub created_at: String,
}

/// A removed entry of the suppression list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemovedSuppressionView {
    pub id: SuppressionId,
    pub email: String,
    pub deleted: bool,
}

impl From<Suppression> for SuppressionView {
    fn from(suppression: Suppression) -> Self {
        let Suppression { id, email, origin, email_id, created_ms } = suppression;
        Self {
            id,
            email: email.unwrap_or_else(|| ERASED.to_owned()),
            origin: origin.as_str().to_owned(),
            source_id: email_id,
            created_at: to_iso(created_ms),
        }
    }
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: SuppressionVerb) -> VerbResult {
    let suppressions = &services.suppressions;
    match verb {
        SuppressionVerb::List { origin, limit: _, after } => {
            Ok(Rows::of(suppressions.list(team, origin, page_after(after)).await?, SuppressionView::from).into())
        }
        SuppressionVerb::Add { addresses, origin } => add(services, team, &addresses, origin).await,
        SuppressionVerb::Remove { suppression } => {
            let target = IdOrEmail::parse(&suppression).map_err(|_| unknown("suppression", &suppression))?;
            let found = suppressions.find(team, target).await?.ok_or_else(|| unknown("suppression", &suppression))?;
            let SuppressionView { id, email, .. } = found.into();
            match suppressions
                .remove(Actor::CommandLine.in_team(team), IdOrEmail::Id(id), ChangeSource::Dashboard)
                .await?
            {
                Some(id) => Ok(RemovedSuppressionView { id, email, deleted: true }.into()),
                None => Err(unknown("suppression", &suppression)),
            }
        }
    }
}

async fn add(services: &AdminServices, team: TeamId, addresses: &[String], origin: SuppressionOrigin) -> VerbResult {
    if addresses.len() > BATCH_MAX {
        return Err(AdminError::invalid(format!("more than {BATCH_MAX} addresses; add them in parts")));
    }
    // A client often copies an address with a display name, and the API accepts one too.
    let parse = |text: &String| match Mailbox::parse(text) {
        Ok(mailbox) => Ok(mailbox.address().clone()),
        Err(error) => Err(AdminError::invalid(format!("`{text}` is not an address: {error}"))),
    };
    let addresses = addresses.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let by = Actor::CommandLine.in_team(team);
    let ids = services.suppressions.add_all(by, addresses, origin, ChangeSource::Dashboard).await?;
    let mut added = Vec::with_capacity(ids.len());
    for id in ids {
        // Another request can remove an entry at any time.
        added.extend(services.suppressions.find(team, IdOrEmail::Id(id)).await?.map(SuppressionView::from));
    }
    Ok(Rows::whole(added).into())
}
