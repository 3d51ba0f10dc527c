//! Why a segment cannot be added, changed or removed.

use crate::store::StoreError;

/// Why a segment cannot be added.
#[derive(Debug)]
pub enum CreateSegmentError {
    /// The team has as many as a team can have.
    TooMany,
    /// The store failed.
    Store(StoreError),
}

/// Why a segment cannot be changed.
#[derive(Debug)]
pub enum UpdateSegmentError {
    /// The team has no segment of that id.
    NotFound,
    /// The store failed.
    Store(StoreError),
}

/// Why a segment cannot be removed.
#[derive(Debug)]
pub enum DeleteSegmentError {
    /// A broadcast goes to the segment: without it, it would go to everybody or to nobody.
    InUse,
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for CreateSegmentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<StoreError> for UpdateSegmentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<StoreError> for DeleteSegmentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
