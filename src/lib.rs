//! Ringmail: an email API, its delivery and its dashboard in one process and one file.
//!
//! The nouns of the API are folders: [`emails`], [`domains`], [`api_keys`], [`teams`], [`users`],
//! [`contacts`], [`contact_properties`], [`topics`], [`suppressions`], [`events`], [`webhooks`], [`logs`], [`usage`].
//! Around them: [`http`] (what every endpoint shares), [`store`] (the two doors of the one file), [`mime`]
//! (messages and signatures, pure), [`delivery`] (queue, routes, SMTP, outcomes), [`dns`],
//! [`http_client`] (the one door for customers' URLs), [`preferences`] (unsubscribe links and their page),
//! [`ingest`] (what other systems report), [`live`] (watching events), [`notices`] (what owners are told).
//! Small shared values: [`address`], [`id`], [`id_or_email`], [`patch`], [`clock`], [`random`], [`event_bus`],
//! [`context`], [`signature`]; `one_line` reads names.

pub mod admin;
pub mod api_keys;
pub mod app;
pub mod base;
pub mod cli;
pub mod config;
pub mod contact_properties;
pub mod contacts;
pub mod context;
pub mod dashboard;
pub mod delivery;
pub mod dns;
pub mod domains;
pub mod emails;
pub mod erasure;
pub mod event_bus;
pub mod events;
pub mod http;
pub mod http_client;
pub mod ingest;
pub mod live;
pub mod logs;
pub mod mime;
pub mod notices;
pub mod preferences;
pub mod segments;
pub mod store;
pub mod suppressions;
pub mod tables;
pub mod teams;
pub mod topics;
pub mod usage;
pub mod users;
pub mod webhooks;
pub mod workers;
