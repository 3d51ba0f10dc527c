//! The worker of the index: writes blocks behind the accept.
//!
//! A block is prepared on a thread for reads. Its transaction compares the position and copies the bytes, so that the
//! writer spends some microseconds on 256 emails. The worker rests after each block.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{SearchPositionRow, index, late};
use crate::base::id::{EmailId, TeamId};
use crate::base::sync;
use crate::context::Context;
use crate::store::{ReadTx, StoreError, WriteTx};
use crate::teams;
use crate::workers::every;

const ROUND_INTERVAL: Duration = Duration::from_secs(5);
/// Rest after a block: at most 50 blocks, or 12,800 emails, a second.
const REST: Duration = Duration::from_millis(20);
/// Age of an email at which it is indexed. The commits of older emails are complete, with few exceptions.
const SETTLE_MS: i64 = 10_000;
/// Age of an email at which the blocks are compared with the emails.
const LATE_MS: i64 = 600_000;
/// Blocks of a team in one round.
const BLOCKS_MAX: usize = 500;
/// Late emails that one transaction adds.
const LATE_MAX: usize = 50;

/// Newest email and position of a team, from which its next block follows.
pub(super) type BlockBasis = (Option<EmailId>, Option<SearchPositionRow>);

/// The search index of the instance.
pub struct EmailIndex {
    context: Context,
    /// Position of each team up to which late emails were looked for. The stored position can be lower.
    verified: Mutex<HashMap<TeamId, EmailId>>,
    /// Basis of the last incomplete block of each team. While it is the same, the block is not prepared again.
    pub(super) incomplete: Mutex<HashMap<TeamId, BlockBasis>>,
}

impl EmailIndex {
    /// Returns the index of an instance.
    pub fn new(context: Context) -> Self {
        Self { context, verified: Mutex::default(), incomplete: Mutex::default() }
    }

    /// Writes blocks until `stop`.
    pub async fn run(&self, stop: CancellationToken) -> Result<(), StoreError> {
        for team in self.context.store.read(teams::ids).await? {
            self.reset_ahead(team).await?;
        }
        every(ROUND_INTERVAL, stop, || self.run_round()).await
    }

    /// Writes all complete blocks of all teams, and adds late emails.
    pub async fn run_round(&self) -> Result<(), StoreError> {
        let teams = self.context.store.read(teams::ids).await?;
        sync::lock(&self.verified).retain(|team, _| teams.contains(team));
        sync::lock(&self.incomplete).retain(|team, _| teams.contains(team));
        for team in teams {
            for _ in 0..BLOCKS_MAX {
                if !self.write_block(team).await? {
                    break;
                }
                tokio::time::sleep(REST).await;
            }
            // A bound that followed the clock would make the comparison endless.
            let until = EmailId::first_at(self.context.now_ms() - LATE_MS);
            while self.add_late(team, until).await? {
                tokio::time::sleep(REST).await;
            }
        }
        Ok(())
    }

    /// Writes the next block of a team. Returns whether it was complete.
    async fn write_block(&self, team: TeamId) -> Result<bool, StoreError> {
        let until = EmailId::first_at(self.context.now_ms() - SETTLE_MS);
        let known = sync::lock(&self.incomplete).get(&team).copied();
        let prepare = move |tx: &ReadTx| {
            let basis: BlockBasis = (index::newest(tx, team, until)?, index::position(tx, team)?);
            let block = if known == Some(basis) { None } else { index::prepare(tx, team, until)? };
            Ok::<_, StoreError>((basis, block))
        };
        let (basis, prepared) = self.context.store.read(prepare).await?;
        let Some(block) = prepared else {
            sync::lock(&self.incomplete).insert(team, basis);
            return Ok(false);
        };
        let verified = sync::lock(&self.verified).get(&team).copied().unwrap_or(EmailId::MIN);
        let bytes = block.bytes();
        let put = move |tx: &WriteTx<'_>| index::put(tx, team, &block, verified);
        // A block that is not valid any more is prepared again in the next round.
        self.context.store.write_bulk_sized::<_, StoreError>(bytes, put).await
    }

    /// Compares a page of emails with the blocks. Returns whether there can be more.
    async fn add_late(&self, team: TeamId, until: EmailId) -> Result<bool, StoreError> {
        let known = sync::lock(&self.verified).get(&team).copied();
        let find = move |tx: &ReadTx| {
            let stored = index::position(tx, team)?.unwrap_or_default().verified;
            late::find(tx, team, known.map_or(stored, |known| known.max(stored)), until)
        };
        let page = self.context.store.read::<_, StoreError>(find).await?;
        for missing in page.missing.chunks(LATE_MAX) {
            let missing = missing.to_vec();
            let add = move |tx: &WriteTx<'_>| missing.iter().try_for_each(|id| late::add(tx, team, *id));
            self.context.store.write_bulk::<_, StoreError>(add).await?;
        }
        let Some(verified) = page.verified else { return Ok(false) };
        sync::lock(&self.verified).insert(team, verified);
        Ok(true)
    }

    /// Removes the blocks of emails whose ids are in the future.
    pub(super) async fn reset_ahead(&self, team: TeamId) -> Result<(), StoreError> {
        let bound = EmailId::first_at(self.context.now_ms() - SETTLE_MS);
        let is_ahead =
            move |tx: &ReadTx| Ok(index::position(tx, team)?.is_some_and(|position| position.indexed > bound));
        if !self.context.store.read::<_, StoreError>(is_ahead).await? {
            return Ok(());
        }
        let reset = move |tx: &WriteTx<'_>| index::reset_from(tx, team, bound);
        while self.context.store.write_bulk::<_, StoreError>(reset).await? {}
        // The position in memory can be above the new one.
        sync::lock(&self.verified).remove(&team);
        Ok(())
    }
}
