//! Ringmail: an email API, its delivery and its dashboard, in one process with one data file.
//!
//! Resources of the API, one module each:
//! - Sending: [`emails`], [`insights`] (checks of their content), [`broadcasts`], [`broadcast_rows`], [`templates`],
//!   [`domains`], [`tracking`] (the pixel and the links of an email), [`captured`], [`api_keys`], [`usage`],
//!   [`logs`] (requests).
//! - Recipients: [`contacts`], [`contact_properties`], [`topics`], [`segments`], [`suppressions`],
//!   [`preferences`] (unsubscribe links and their page), [`erasure`].
//! - Events: [`events`], [`engagement`] (opens and clicks of people and of software), [`webhooks`], [`live`]
//!   (live streams), [`ingest`] (delivery reports of other systems), [`notices`] (messages to owners).
//! - Figures: [`email_metrics`] (counts of the events of emails), [`deliverability`] (score, and the guardrail
//!   that pauses sending).
//! - Tenants: [`teams`], [`users`], [`audit`] (administrative actions), [`team_removal`] (a team with all its data).
//!
//! Infrastructure:
//! - [`store`] (transactions on the data file) and [`tables`] (every table with its key and row).
//! - [`delivery`] (queue, retries, SMTP client, the built-in mailbox), [`dns`] (resolver, MX, address guard).
//! - [`mime`] (messages and DKIM signatures; pure), [`markdown`] (Markdown of emails; pure), [`merge_fields`] (fields of
//!   templates and broadcasts; pure).
//! - [`http`] (authentication, limits and errors of every endpoint), [`http_client`] (the only client
//!   for customer URLs).
//! - [`metrics`] (the text of `/metrics`), [`doctor`] (checks of the setup).
//! - [`event_bus`] (in-memory notifications after a commit), [`workers`] (supervised background work),
//!   [`context`] (store, clock, ids, keyring and event bus of an instance).
//! - [`base`] (small types: ids, addresses, clock, random values, signatures, patches).
//!
//! Programs:
//! - [`app`] connects the modules. `app/router.rs` lists all routes, `app/services.rs` the services of
//!   the handlers, and `app/background.rs` the workers.
//! - [`cli`] is the command line, [`admin`] its requests to an instance, [`config`] the settings, and
//!   [`dashboard`] the embedded web pages.
//!
//! A request passes from `app/router.rs` through the `api` module of a resource to its use cases and
//! its store module. Imports point in that direction only; `tests/it/architecture` checks the rules.

pub mod admin;
pub mod api_keys;
pub mod app;
pub mod audit;
pub mod base;
pub mod broadcast_rows;
pub mod broadcasts;
pub mod captured;
pub mod cli;
pub mod config;
pub mod contact_properties;
pub mod contacts;
pub mod context;
pub mod dashboard;
pub mod deliverability;
pub mod delivery;
pub mod dns;
pub mod doctor;
pub mod domains;
pub mod email_metrics;
pub mod emails;
pub mod engagement;
pub mod erasure;
pub mod event_bus;
pub mod events;
pub mod http;
pub mod http_client;
pub mod ingest;
pub mod insights;
pub mod live;
pub mod logs;
pub mod markdown;
pub mod merge_fields;
pub mod metrics;
pub mod mime;
pub mod notices;
pub mod preferences;
pub mod segments;
pub mod store;
pub mod suppressions;
pub mod tables;
pub mod team_removal;
pub mod teams;
pub mod templates;
pub mod topics;
pub mod tracking;
pub mod usage;
pub mod users;
pub mod webhooks;
pub mod workers;
