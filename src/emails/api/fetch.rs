//! Remote attachments of a request: fetched after the rules are checked, and before the emails are accepted.

use std::sync::Arc;

use salvo::extract::Metadata;
use salvo::oapi::{Components, EndpointArgRegister, Operation};
use salvo::{Depot, Extractible, Request};
use tokio::time::Instant;

use super::request::{ParsedEmail, Rules, invalid};
use crate::api_keys::Caller;
use crate::base::clock::TimestampMs;
use crate::base::compat::Compat;
use crate::base::id::TeamId;
use crate::emails::attachments::{AttachmentError, EntryFault, RemoteAttachment};
use crate::emails::model::SendEmail;
use crate::emails::{FETCH_TIMEOUT, RemoteFileError, RemoteFiles};
use crate::http::{ApiError, ApiResult, BodyLimits, BudgetShare, service};
use crate::http_client::{CustomerUrl, FetchError, FetchedFile};

/// Maximum number of files that one request fetches.
const FILES_MAX: usize = 100;

/// Extractor of the opt-in compatibility of sends, and of the services that it needs.
pub(super) struct SendOptions {
    pub(super) compat: Compat,
    files: Arc<RemoteFiles>,
    bodies: Arc<BodyLimits>,
}

impl SendOptions {
    /// Returns the fetcher of one request.
    pub(super) fn files(&self, caller: Caller, rules: Rules) -> RequestFiles<'_> {
        RequestFiles {
            files: &self.files,
            memory: self.bodies.empty_share(),
            team: caller.team,
            now_ms: rules.now_ms,
            deadline: Instant::now() + FETCH_TIMEOUT,
            attachment_bytes_max: rules.attachment_bytes_max,
            files_left: FILES_MAX,
            bytes_max: self.bodies.email_bytes_max,
            bytes_left: self.bodies.email_bytes_max,
        }
    }
}

impl<'ex> Extractible<'ex> for SendOptions {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("SendOptions");
        &METADATA
    }

    async fn extract(_req: &'ex mut Request, depot: &'ex mut Depot) -> Result<Self, ApiError> {
        let compat: Arc<Compat> = service(depot)?;
        Ok(Self { compat: *compat, files: service(depot)?, bodies: service(depot)? })
    }
}

impl EndpointArgRegister for SendOptions {
    fn register(_components: &mut Components, _operation: &mut Operation, _arg: &str) {}
}

/// Fetches the remote attachments of one request. Holds the memory of their bytes until it is dropped.
pub(super) struct RequestFiles<'a> {
    files: &'a RemoteFiles,
    memory: BudgetShare,
    team: TeamId,
    now_ms: TimestampMs,
    deadline: Instant,
    /// Maximum size of all attachments of an email.
    attachment_bytes_max: u64,
    /// Number of files that the request can still fetch.
    files_left: usize,
    /// Maximum size of all files of the request, which is that of its body.
    bytes_max: usize,
    /// Bytes that the request can still fetch.
    bytes_left: usize,
}

impl RequestFiles<'_> {
    /// Returns the email with all attachments.
    ///
    /// # Errors
    /// 422 for the first file that cannot be fetched; 503 without memory for it.
    pub(super) async fn complete(&mut self, parsed: ParsedEmail) -> ApiResult<SendEmail> {
        let ParsedEmail { mut email, remote } = parsed;
        self.files_left = self.files_left.checked_sub(remote.len()).ok_or_else(|| {
            invalid("attachments", format_args!("the request has more than {FILES_MAX} attachments with a `path`"))
        })?;
        let mut bytes: u64 = email.attachments.iter().map(|attachment| attachment.content().len() as u64).sum();
        for attachment in remote {
            let index = attachment.index();
            let file = self.fetch(&attachment, self.attachment_bytes_max.saturating_sub(bytes)).await?;
            bytes += file.content.len() as u64;
            // Attachments are completed in the order of the request, so that each index is its final position.
            email.attachments.insert(index, attachment.complete(file));
        }
        Ok(email)
    }

    async fn fetch(&mut self, attachment: &RemoteAttachment, bytes_max: u64) -> ApiResult<FetchedFile> {
        let refused = |why: String| {
            let fault = EntryFault::NotFetched(why);
            invalid("attachments", AttachmentError::Entry { index: attachment.index(), fault })
        };
        let url =
            CustomerUrl::parse(attachment.path(), self.files.policy()).map_err(|error| refused(error.to_string()))?;
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX).min(self.bytes_left);
        let memory = &mut self.memory;
        let mut reserve = |bytes| memory.extend(bytes).is_ok();
        let fetched = self.files.fetch(self.team, url, bytes_max, self.deadline, self.now_ms, &mut reserve).await;
        if let Ok(file) = &fetched {
            self.bytes_left -= file.content.len();
        }
        fetched.map_err(|error| match error {
            RemoteFileError::Busy => {
                ApiError::unavailable("The server fetches too many files at the moment. Try again.")
            }
            RemoteFileError::Fetch(FetchError::NoMemory) => BudgetShare::exhausted(),
            RemoteFileError::Fetch(FetchError::TooLarge) if bytes_max == self.bytes_left => {
                let bytes_max = self.bytes_max;
                invalid(
                    "attachments",
                    format_args!("the files of the request are larger than {bytes_max} bytes together"),
                )
            }
            RemoteFileError::Fetch(FetchError::TooLarge) => {
                invalid("attachments", AttachmentError::TooLarge { bytes_max: self.attachment_bytes_max })
            }
            RemoteFileError::Fetch(error) => refused(error.to_string()),
        })
    }
}
