//! A store that a verb opens itself because no server holds it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::request::AdminServices;
use crate::api_keys::ApiKeys;
use crate::base::clock::Clock;
use crate::config::Config;
use crate::context::Context;
use crate::delivery::{QueueControl, QueueNotifier};
use crate::dns::Resolver;
use crate::doctor::Doctor;
use crate::domains::{self, Domains};
use crate::emails::{EmailLimits, Emails, Idempotency};
use crate::logs::{Logs, Recording, RequestLog};
use crate::preferences::Links;
use crate::store::{FILE_NAME, OpenError, OpenOptions, open_with_key};
use crate::suppressions::Suppressions;
use crate::team_removal::TeamRemovals;
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
    ///
    /// # Errors
    /// [`DirectError`].
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
        let domains =
            Domains::new(context.clone(), resolver, config.domain_settings(config.listen), Arc::clone(&api_keys));
        let idempotency = Arc::new(Idempotency::new(context.clone()));
        let links = Links::new(context.keyring.clone(), config.link_settings(config.listen));
        let emails = Emails::new(context.clone(), QueueNotifier::default(), idempotency, tasks.clone(), links)
            .delivering_only(config.routes.deliver_only.clone());
        let webhooks = Webhooks::new(context.clone(), DispatchNotifier::default(), config.webhooks.policy.clone());
        let webhooks = Arc::new(webhooks);
        let team_removals = TeamRemovals::new(context.clone(), Arc::clone(&api_keys), Arc::clone(&webhooks));
        let suppressions = Suppressions::new(context.clone());
        let doctor = Doctor {
            settings: config.doctor_settings(),
            resolver: config.resolver().map_err(|error| error.to_string()),
            domains: Some(Arc::clone(&domains)),
            engine: None,
        };
        let queue = QueueControl::new(context.clone(), QueueNotifier::default(), None);
        // No request is logged here.
        let log = RequestLog::new(context.clone(), Recording::Off, tasks.clone());
        let logs = Logs::new(context.clone(), log);
        let services = AdminServices {
            context,
            kind,
            api: None,
            api_keys,
            emails: Arc::new(emails),
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
