//! Ringmail: an email API, its delivery and its dashboard in one process and one file.
//!
//! The nouns of the API are folders: [`emails`], [`domains`], [`api_keys`], [`teams`], [`users`],
//! [`contacts`], [`contact_properties`], [`topics`], [`suppressions`], [`events`], [`webhooks`], [`logs`], [`usage`].
//! Around them: [`http`] (what every endpoint shares), [`store`] (the two doors of the one file), [`mime`]
//! (messages and signatures, pure), [`delivery`] (queue, routes, SMTP, outcomes), [`dns`],
//! [`outgoing`] (the one door for customers' URLs), [`preferences`] (unsubscribe links and their page),
//! [`ingest`] (what other systems report), [`live`] (watching events), [`notices`] (what owners are told).
//! Small shared values: [`address`], [`id`], [`id_or_email`], [`patch`], [`clock`], [`random`], [`announcer`],
//! [`context`], [`signature`]; `one_line` reads names.

pub mod address;
pub mod admin;
pub mod announcer;
pub mod api_keys;
pub mod app;
pub mod blocking;
pub mod cli;
pub mod clock;
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
pub mod events;
pub mod http;
pub mod id;
pub mod id_or_email;
pub mod ingest;
pub mod live;
pub mod logs;
pub mod mime;
pub mod notices;
mod one_line;
pub mod outgoing;
pub mod patch;
pub mod preferences;
pub mod random;
pub mod segments;
pub mod signature;
pub mod store;
pub mod suppressions;
pub mod teams;
pub mod topics;
pub mod usage;
pub mod users;
pub mod webhooks;
pub mod workers;
