//! A store that a verb opens itself because no server holds it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::request::AdminServices;
use crate::api_keys::ApiKeys;
use crate::base::clock::Clock;
use crate::broadcast_rows;
use crate::broadcasts::check::BroadcastChecks;
use crate::broadcasts::{Broadcasts, SendEstimates};
use crate::config::Config;
use crate::context::Context;
use crate::deliverability::TeamDeliverability;
use crate::delivery::capture::CaptureMailbox;
use crate::delivery::{QueueControl, QueueNotifier};
use crate::dns::Resolver;
use crate::doctor::Doctor;
use crate::domains::{self, Domains};
use crate::emails::{EmailLimits, Emails, Idempotency};
use crate::http_client::{HttpClient, HttpTimeouts};
use crate::logs::{Logs, RequestLog, RequestLogging};
use crate::preferences::PreferenceLinks;
use crate::segments::Segments;
use crate::store::{FILE_NAME, OpenError, OpenOptions, open_with_key};
use crate::suppressions::Suppressions;
use crate::team_removal::TeamRemovals;
use crate::users::Accounts;
use crate::webhooks::{DispatchNotifier, Webhooks};

/// Error of [`DirectStore::open`].
#[derive(Debug)]
pub(super) enum DirectError {
    /// The file does not exist.
    NoStore(PathBuf),
    /// The store cannot be opened, for example because another process holds it.
    Open(OpenError),
}

/// An open store and the services over it. No worker runs: deliveries and checks stay queued for the
/// next server.
pub(super) struct DirectStore {
    pub(super) services: AdminServices,
    tasks: TaskTracker,
}

impl DirectStore {
    /// Opens the store of a data directory. Blocks the thread.
    pub(super) fn open(config: &Config) -> Result<Self, DirectError> {
        let path = config.data_dir.join(FILE_NAME);
        if !path.is_file() {
            return Err(DirectError::NoStore(path));
        }
        let kind = config.purpose.kind();
        let options = OpenOptions { directory: config.data_dir.clone(), kind, cache_bytes: config.cache_bytes };
        let (store, keyring) = open_with_key(&options, &config.master_key_file).map_err(DirectError::Open)?;
        let clock = Clock::System;
        let context = Context::new(store, clock, keyring);
        let tasks = TaskTracker::new();
        let api_keys = ApiKeys::load(context.clone(), tasks.clone(), |tx, team, id| domains::exists(tx, team, id))
            .map_err(|error| DirectError::Open(error.into()))?;
        // No worker checks domains here, so that this resolver is never used.
        let unused = SocketAddr::from((Ipv4Addr::LOCALHOST, 53));
        let resolver = Resolver::with_servers(&[unused]).expect("one server is enough for a resolver");
        let resolver_for_links = resolver.clone();
        let domains =
            Domains::new(context.clone(), resolver, config.domain_settings(config.listen), Arc::clone(&api_keys));
        let idempotency = Idempotency::new(context.clone()).with_lifetime(config.idempotency_retention_hours);
        let idempotency = Arc::new(idempotency);
        let links = PreferenceLinks::new(context.keyring.clone(), config.link_settings(config.listen));
        let dashboard_url = config.dashboard_url(config.listen);
        let deliverability = Arc::new(TeamDeliverability::new(context.clone(), config.guardrail, &dashboard_url));
        let emails = Emails::new(context.clone(), QueueNotifier::default(), idempotency, tasks.clone(), links.clone())
            .delivering_only(config.routes.deliver_only.clone())
            .guarded_by(deliverability.clone());
        let emails = Arc::new(emails);
        let segments = Segments::new(context.clone(), |tx, team, id| broadcast_rows::uses_segment(tx, team, id));
        let broadcasts = Broadcasts::new(
            context.clone(),
            links,
            Arc::new(segments),
            SendEstimates::new(config.send_limits, config.content_retention_days),
            deliverability.clone(),
            Arc::default(),
        );
        // A check that requests links needs the resolver of the system.
        let link_resolver = config.resolver().unwrap_or(resolver_for_links);
        let link_policy = BroadcastChecks::link_policy(config.file_policy.clone());
        let link_client = HttpClient::new(link_resolver, link_policy, HttpTimeouts::default())
            .expect("the policy of links has no certificates of its own");
        let broadcast_checks = BroadcastChecks::new(context.clone(), Arc::clone(&emails), link_client);
        let webhooks = Webhooks::new(context.clone(), DispatchNotifier::default(), config.webhooks.policy.clone());
        let webhooks = Arc::new(webhooks);
        let team_removals = TeamRemovals::new(context.clone(), Arc::clone(&api_keys), Arc::clone(&webhooks));
        let suppressions = Suppressions::new(context.clone());
        let doctor_resolver = config.resolver().map_err(|error| error.to_string());
        let doctor = Doctor::new(config.doctor_settings(), doctor_resolver).with_store(
            &context.store,
            &domains,
            &deliverability,
            None,
        );
        let queue = QueueControl::new(context.clone(), QueueNotifier::default(), None);
        // No request is logged here.
        let log = RequestLog::new(context.clone(), RequestLogging::Off, tasks.clone());
        let logs = Logs::new(context.clone(), log);
        let mailbox = Arc::new(CaptureMailbox::new(context.clone()));
        let services = AdminServices {
            context: context.clone(),
            kind,
            api: None,
            dashboard_url,
            accounts: Arc::new(Accounts::new(context.clone())),
            api_keys,
            broadcasts: Arc::new(broadcasts),
            broadcast_checks: Arc::new(broadcast_checks),
            deliverability,
            emails,
            email_limits: EmailLimits { attachment_bytes_max: config.attachment_bytes_max },
            compat: config.compat,
            domains,
            suppressions: Arc::new(suppressions),
            logs: Arc::new(logs),
            webhooks,
            team_removals: Arc::new(team_removals),
            queue_notifier: QueueNotifier::default(),
            release: config.routes.release.clone(),
            doctor: Arc::new(doctor),
            mailbox,
            queue: Arc::new(queue),
        };
        Ok(Self { services, tasks })
    }

    /// Waits for running commits and closes the store.
    pub(super) async fn close(self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.services.context.store.close().await;
    }
}
