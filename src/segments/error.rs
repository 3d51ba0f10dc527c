//! Errors of the use cases.

use crate::store::{StoreError, from_store_error};

/// Error of creating a segment.
#[derive(Debug)]
pub enum CreateSegmentError {
    /// The team has [`super::SEGMENTS_MAX`] segments.
    TooMany,
    /// The store failed.
    Store(StoreError),
}

/// Error of changing a segment.
#[derive(Debug)]
pub enum UpdateSegmentError {
    /// The team has no segment of that id.
    NotFound,
    /// The store failed.
    Store(StoreError),
}

/// Error of deleting a segment.
#[derive(Debug)]
pub enum DeleteSegmentError {
    /// A broadcast is addressed to the segment. Without the segment, the broadcast would go to every
    /// contact or to none.
    InUse,
    /// The store failed.
    Store(StoreError),
}

/// Error of a scan of the contacts of a segment.
#[derive(Debug)]
pub enum SegmentScanError {
    /// Other scans were running for as long as the request waits.
    Busy,
    /// The store failed.
    Store(StoreError),
}

/// Error of reading a page of the contacts of a segment.
#[derive(Debug)]
pub enum SegmentPageError {
    /// The team has no segment of that id.
    NotFound,
    /// The segment does not contain the contact of the cursor.
    UnknownCursor,
    /// The page needs a long scan, and other scans were running for as long as the request waits.
    Busy,
    /// The store failed.
    Store(StoreError),
}

impl From<SegmentScanError> for SegmentPageError {
    fn from(error: SegmentScanError) -> Self {
        match error {
            SegmentScanError::Busy => Self::Busy,
            SegmentScanError::Store(error) => Self::Store(error),
        }
    }
}

from_store_error!(CreateSegmentError, UpdateSegmentError, DeleteSegmentError, SegmentScanError, SegmentPageError);
