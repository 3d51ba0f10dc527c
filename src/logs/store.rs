//! The rows of the log, and the copies of bodies: redacted, compressed if that is smaller, and sealed.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, LogId, TeamId};
use crate::store::{Blob, Encoded, Keyring, Reads, Row, StoreError, WriteTx, pack, skip_corrupt, unpack};
use crate::tables::{REQUEST_LOG_BODIES, REQUEST_LOGS};

/// Bytes of the copy of one body, at most.
pub const COPY_BYTES_MAX: usize = 16 << 10;
/// Characters of the detail of an error, at most.
pub(super) const DETAIL_CHARS_MAX: usize = 4_096;
/// Bytes of the two copies and the detail of one request before compression, with their encoding.
const PACKED_BYTES_MAX: usize = 2 * COPY_BYTES_MAX + 4 * DETAIL_CHARS_MAX + 1_024;

/// A request on disk. Its id contains the start time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRow {
    pub method: String,
    /// The path without the query, not decoded.
    pub endpoint: String,
    pub status: u16,
    /// The API key of the request.
    pub key: ApiKeyId,
    /// Time until the response was ready.
    pub duration_ms: u32,
    /// The `User-Agent` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}
impl Row for LogRow {}

/// The copies of the bodies of one request, each a JSON text, and the detail of its error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogBodies {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Text about the cause of an error. It can contain addresses, and is not in the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A request with its bodies, encoded and sealed.
pub(super) struct PreparedLog {
    key: (TeamId, LogId),
    row: Encoded<LogRow>,
    bodies: Option<Encoded<Blob>>,
}

impl PreparedLog {
    pub(super) fn new(keyring: &Keyring, key: (TeamId, LogId), row: &LogRow, bodies: &LogBodies) -> Self {
        let bodies = (*bodies != LogBodies::default()).then(|| Encoded::blob(seal(keyring, key.1, bodies)));
        Self { key, row: Encoded::new(row), bodies }
    }

    /// Returns the bytes on disk.
    pub(super) fn bytes(&self) -> usize {
        self.row.len() + self.bodies.as_ref().map_or(0, Encoded::len)
    }

    pub(super) fn put(&self, tx: &WriteTx<'_>) -> Result<(), StoreError> {
        tx.put_encoded(&REQUEST_LOGS, &self.key, &self.row)?;
        match &self.bodies {
            Some(bodies) => tx.put_encoded(&REQUEST_LOG_BODIES, &self.key, bodies),
            None => Ok(()),
        }
    }
}

/// Opens the copies of the bodies of a request; empty if it has none.
pub(super) fn bodies(tx: &impl Reads, keyring: &Keyring, team: TeamId, id: LogId) -> Result<LogBodies, StoreError> {
    match tx.get(&REQUEST_LOG_BODIES, &(team, id))? {
        Some(Blob(sealed)) => open(keyring, id, &sealed),
        None => Ok(LogBodies::default()),
    }
}

/// Does the same as [`bodies`]. Corrupt bodies are logged, and returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(super) fn valid_bodies(
    tx: &impl Reads,
    keyring: &Keyring,
    team: TeamId,
    id: LogId,
) -> Result<Option<LogBodies>, StoreError> {
    skip_corrupt(bodies(tx, keyring, team, id), format_args!("bodies of request {id}"))
}

/// Deletes a request with its bodies.
pub(crate) fn delete(tx: &WriteTx<'_>, team: TeamId, id: LogId, now_ms: TimestampMs) -> Result<(), StoreError> {
    tx.delete(&REQUEST_LOG_BODIES, &(team, id))?;
    tx.delete_listed(&REQUEST_LOGS, &(team, id), now_ms)?;
    Ok(())
}

fn seal(keyring: &Keyring, id: LogId, bodies: &LogBodies) -> Vec<u8> {
    let plain = rmp_serde::to_vec_named(bodies).expect("texts are serializable");
    keyring.seal(&associated_data(id), &pack(&plain))
}

fn open(keyring: &Keyring, id: LogId, sealed: &[u8]) -> Result<LogBodies, StoreError> {
    let corrupt = || StoreError::Corrupt(format!("the bodies of request {id} cannot be decoded"));
    let packed = keyring.open_sealed(&associated_data(id), sealed)?;
    let plain = unpack(&packed, PACKED_BYTES_MAX).ok_or_else(corrupt)?;
    rmp_serde::from_slice(&plain).map_err(|_| corrupt())
}

/// Returns the associated data of the sealed copies of a request.
fn associated_data(id: LogId) -> [u8; 17] {
    let mut data = [b'l'; 17];
    data[1..].copy_from_slice(id.as_bytes());
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::context::Context;

    #[test]
    fn sealed_copies_open_only_under_their_own_id() {
        let (_directory, context) = Context::temporary();
        let id: LogId = context.id();
        let largest = |text: &str| Some(text.repeat(COPY_BYTES_MAX / text.len()));
        for bodies in [
            LogBodies { request: Some("{}".into()), ..LogBodies::default() },
            LogBodies { response: Some(r#"{"id":"x"}"#.into()), ..LogBodies::default() },
            LogBodies {
                request: largest("ab"),
                response: largest(r#"{"a":1},"#),
                detail: Some("\u{10000}".repeat(DETAIL_CHARS_MAX)),
            },
        ] {
            let sealed = seal(&context.keyring, id, &bodies);

            assert_eq!(open(&context.keyring, id, &sealed).unwrap(), bodies);
            assert!(open(&context.keyring, Id::MIN, &sealed).is_err());
        }
    }
}
