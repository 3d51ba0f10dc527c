//! What requests are answered from.

use std::sync::Arc;

use crate::api_keys::ApiKeys;
use crate::context::Context;
use crate::domains::Domains;
use crate::emails::{EmailLimits, Emails};
use crate::store::StoreKind;
use crate::webhooks::Webhooks;

/// The use cases that requests reach. Wired by `app.rs` for a running server and by the verb's own
/// end where there is none.
#[derive(Clone)]
pub struct AdminServices {
    /// The store, the time and the ids.
    pub context: Context,
    /// Which command's store it is.
    pub kind: StoreKind,
    /// The address of the API on this machine; none where no server runs.
    pub api: Option<String>,
    /// API keys.
    pub api_keys: Arc<ApiKeys>,
    /// Emails.
    pub emails: Arc<Emails>,
    /// What an email may hold.
    pub email_limits: EmailLimits,
    /// Sending domains.
    pub domains: Arc<Domains>,
    /// Webhook endpoints.
    pub webhooks: Arc<Webhooks>,
}
