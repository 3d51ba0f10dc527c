//! Remote attachments of a request: fetched after the rules are checked, and before the emails are accepted.

use std::sync::Arc;

use salvo::extract::Metadata;
use salvo::oapi::{Components, EndpointArgRegister, Operation};
use salvo::{Depot, Extractible, Request};
use tokio::time::Instant;

use super::request::{ParsedEmail, RequestRules, invalid};
use super::template::RequestTemplates;
use crate::api_keys::Caller;
use crate::base::clock::TimestampMs;
use crate::base::compat::Compat;
use crate::base::id::TeamId;
use crate::emails::attachments::{AttachmentError, EntryFault, RemoteAttachment};
use crate::emails::model::SendEmail;
use crate::emails::{FETCH_TIMEOUT, RemoteFileError, RemoteFiles};
use crate::http::{ApiError, ApiResult, BodyLimits, BudgetShare, service};
use crate::http_client::{CustomerUrl, FetchError, FetchedFile};
use crate::templates::Templates;

/// Maximum number of files that one request fetches.
const FILES_MAX: usize = 100;

/// Extractor of the opt-in compatibility of sends, and of the services that it needs.
pub(super) struct SendOptions {
    pub(super) compat: Compat,
    files: Arc<RemoteFiles>,
    templates: Arc<Templates>,
    bodies: Arc<BodyLimits>,
}

impl SendOptions {
    /// Returns the renderer of the templates of one request.
    pub(super) fn templates(&self, caller: Caller) -> RequestTemplates<'_> {
        RequestTemplates::new(&self.templates, &self.bodies, caller.team)
    }

    /// Returns the fetcher of one request.
    pub(super) fn files(&self, caller: Caller, rules: RequestRules) -> RequestFiles<'_> {
        RequestFiles {
            files: &self.files,
            bodies: &self.bodies,
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
        Ok(Self { compat: *compat, files: service(depot)?, templates: service(depot)?, bodies: service(depot)? })
    }
}

impl EndpointArgRegister for SendOptions {
    fn register(_components: &mut Components, _operation: &mut Operation, _arg: &str) {}
}

/// Fetches the remote attachments of one request. Holds the memory of their bytes until it is dropped.
pub(super) struct RequestFiles<'a> {
    files: &'a RemoteFiles,
    bodies: &'a BodyLimits,
    /// Memory of the files of all complete emails.
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

/// An email whose fetches are planned: their number and their URLs are allowed.
pub(super) struct PlannedEmail {
    /// The email without its remote attachments.
    email: SendEmail,
    files: Vec<(RemoteAttachment, CustomerUrl)>,
}

impl PlannedEmail {
    pub(super) fn has_files(&self) -> bool {
        !self.files.is_empty()
    }
}

impl AsRef<SendEmail> for PlannedEmail {
    fn as_ref(&self) -> &SendEmail {
        &self.email
    }
}

impl RequestFiles<'_> {
    /// Checks the number of files and their URLs. All emails of a request are planned before the first fetch.
    ///
    /// # Errors
    /// 422 for the first URL that is not allowed, and for more than [`FILES_MAX`] files in the request.
    pub(super) fn plan(&mut self, parsed: ParsedEmail) -> ApiResult<PlannedEmail> {
        let ParsedEmail { email, template: _, remote } = parsed;
        let files_left = self.files_left.checked_sub(remote.len()).ok_or_else(|| {
            invalid("attachments", format_args!("the request has more than {FILES_MAX} attachments with a `path`"))
        })?;
        let mut files = Vec::with_capacity(remote.len());
        for attachment in remote {
            let url = CustomerUrl::parse(attachment.path(), self.files.policy())
                .map_err(|error| not_fetched(attachment.index(), error.to_string()))?;
            files.push((attachment, url));
        }
        self.files_left = files_left;
        Ok(PlannedEmail { email, files })
    }

    /// Fetches the files of an email, and returns the email with all attachments. After a failure, the memory of its
    /// files is free, and their bytes still count against the maximum of the request.
    ///
    /// # Errors
    /// 422 for the first file that cannot be fetched; 503 without memory for it.
    pub(super) async fn complete(&mut self, planned: PlannedEmail) -> ApiResult<SendEmail> {
        let PlannedEmail { mut email, files } = planned;
        let mut memory = self.bodies.empty_share();
        let mut bytes: u64 = email.attachments.iter().map(|attachment| attachment.content().len() as u64).sum();
        for (attachment, url) in files {
            let index = attachment.index();
            let bytes_max = self.attachment_bytes_max.saturating_sub(bytes);
            let file = self.fetch(index, url, bytes_max, &mut memory).await?;
            bytes += file.content.len() as u64;
            // Attachments are completed in the order of the request, so that each index is its final position.
            email.attachments.insert(index, attachment.complete(file));
        }
        self.memory.join(memory);
        Ok(email)
    }

    async fn fetch(
        &mut self,
        index: usize,
        url: CustomerUrl,
        bytes_max: u64,
        memory: &mut BudgetShare,
    ) -> ApiResult<FetchedFile> {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX).min(self.bytes_left);
        let is_request_limit = bytes_max == self.bytes_left;
        let (bodies, mut buffer_bytes) = (self.bodies, 0);
        let mut reserve = |bytes| {
            let share = bodies.share(bytes)?;
            buffer_bytes = bytes;
            Some(share)
        };
        let fetched = self.files.fetch(self.team, url, bytes_max, self.deadline, self.now_ms, &mut reserve).await;
        let read_bytes = fetched.as_ref().map_or(buffer_bytes, |(file, _)| file.content.len());
        self.bytes_left = self.bytes_left.saturating_sub(read_bytes);
        let fetched = fetched.map_err(|error| match error {
            RemoteFileError::Busy => {
                ApiError::unavailable("The server fetches too many files at the moment. Try again.")
            }
            RemoteFileError::Fetch(FetchError::NoMemory) => BudgetShare::exhausted(),
            RemoteFileError::Fetch(FetchError::TooLarge) if is_request_limit => {
                let bytes_max = self.bytes_max;
                invalid(
                    "attachments",
                    format_args!("the files of the request are larger than {bytes_max} bytes together"),
                )
            }
            RemoteFileError::Fetch(FetchError::TooLarge) => {
                invalid("attachments", AttachmentError::TooLarge { bytes_max: self.attachment_bytes_max })
            }
            RemoteFileError::Fetch(error) => not_fetched(index, error.to_string()),
        });
        let (file, share) = fetched?;
        if let Some(share) = share {
            memory.join(share);
        }
        Ok(file)
    }
}

fn not_fetched(index: usize, why: String) -> ApiError {
    invalid("attachments", AttachmentError::Entry { index, fault: EntryFault::NotFetched(why) })
}
