//! The client libraries that a team uses, by the user agent of their requests.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::base::clock::TimestampMs;
use crate::base::id::TeamId;
use crate::base::sync;
use crate::context::Context;
use crate::store::{ReadTx, Reads as _, Row, StoreError, WriteTx};
use crate::tables::SDK_USES;
use crate::teams;

/// Pairs of team and library in memory. With more, they are read from the store again.
const KNOWN_MAX: usize = 100_000;

macro_rules! sdks {
    ($($variant:ident = $number:literal $name:literal [$($beginning:literal),+];)+) => {
        /// A client library or program. The numbers are stored and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Sdk {
            $($variant = $number,)+
        }

        impl Sdk {
            /// Every library.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name in the dashboard.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the beginnings of its user agents, in lower case.
            const fn beginnings(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($beginning),+]),+ }
            }
        }
    };
}

sdks! {
    Node = 1 "node" ["resend-node"];
    Python = 2 "python" ["resend-python"];
    Go = 3 "go" ["resend-go"];
    Php = 4 "php" ["resend-php"];
    Ruby = 5 "ruby" ["resend-ruby", "resend (ruby"];
    Java = 6 "java" ["resend-java"];
    Rust = 7 "rust" ["resend-rust", "resend-rs"];
    Dotnet = 8 "dotnet" ["resend-dotnet", "resend-net", "resend.net"];
    Elixir = 9 "elixir" ["resend-elixir"];
    Laravel = 10 "laravel" ["resend-laravel"];
    Cli = 11 "resend-cli" ["resend-cli"];
    Mcp = 12 "resend-mcp" ["resend-mcp"];
    Curl = 13 "curl" ["curl/"];
    Anymail = 14 "anymail" ["django-anymail"];
}

impl Sdk {
    /// Returns the library of a user agent.
    pub fn of(user_agent: &str) -> Option<Self> {
        let agent = user_agent.trim().to_ascii_lowercase();
        // A library inside of a framework can come second.
        let is_word = |beginning: &&str| {
            agent.find(*beginning).is_some_and(|at| at == 0 || agent.as_bytes().get(at - 1) == Some(&b' '))
        };
        Self::ALL.iter().copied().find(|sdk| sdk.beginnings().iter().any(is_word))
    }
}

/// First request of a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SdkUseRow {
    /// Time of the request.
    pub first_ms: TimestampMs,
}
impl Row for SdkUseRow {}

/// The libraries of all teams.
pub struct SdkUses {
    context: Context,
    /// Stored pairs of team and library. The store decides which request is the first.
    known: Mutex<HashSet<(TeamId, Sdk)>>,
    /// Writes. A shutdown waits for them.
    tasks: TaskTracker,
}

impl SdkUses {
    /// Returns the libraries in the store of `context`.
    pub fn new(context: Context, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self { context, known: Mutex::default(), tasks })
    }

    /// Stores the first request of a library in the background.
    pub fn note(self: &Arc<Self>, team: TeamId, user_agent: &str) {
        let Some(sdk) = Sdk::of(user_agent) else { return };
        {
            let mut known = sync::lock(&self.known);
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
            if !known.insert((team, sdk)) {
                return;
            }
        }
        let uses = Arc::clone(self);
        self.tasks.spawn(async move {
            if let Err(error) = uses.put(team, sdk).await {
                sync::lock(&uses.known).remove(&(team, sdk));
                warn!(%error, "could not store the first request of a client library: {error}");
            }
        });
    }

    async fn put(&self, team: TeamId, sdk: Sdk) -> Result<(), StoreError> {
        let (key, first_ms) = ((team, sdk as u8), self.context.now_ms());
        if self.context.store.read::<_, StoreError>(move |tx| tx.contains(&SDK_USES, &key)).await? {
            return Ok(());
        }
        let put = move |tx: &WriteTx<'_>| {
            if tx.contains(&SDK_USES, &key)? || teams::find(tx, team)?.is_none() {
                return Ok(());
            }
            tx.put(&SDK_USES, &key, &SdkUseRow { first_ms })
        };
        self.context.store.write_bulk::<_, StoreError>(put).await
    }

    /// Returns each library with the time of its first request; `None` if the team has not used it.
    pub async fn list(&self, team: TeamId) -> Result<Vec<(Sdk, Option<TimestampMs>)>, StoreError> {
        let list = move |tx: &ReadTx| {
            let row = |sdk: Sdk| tx.get_valid(&SDK_USES, &(team, sdk as u8));
            Sdk::ALL.iter().map(|sdk| Ok((*sdk, row(*sdk)?.map(|row: SdkUseRow| row.first_ms)))).collect()
        };
        self.context.store.read::<_, StoreError>(list).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_library_is_known_by_its_user_agent() {
        for (agent, expected) in [
            ("resend-node:6.1.0", Some(Sdk::Node)),
            ("resend-python:2.4.0", Some(Sdk::Python)),
            ("Resend-Go/2.0", Some(Sdk::Go)),
            ("curl/8.5.0", Some(Sdk::Curl)),
            ("acme/1.0 resend-php/0.1", Some(Sdk::Php)),
            ("python-requests/2.31", None),
            ("django-anymail/13.0-resend python-requests/2.31", Some(Sdk::Anymail)),
            ("curly/1", None),
            ("", None),
        ] {
            assert_eq!(Sdk::of(agent), expected, "{agent}");
        }
    }

    #[test]
    fn the_numbers_are_stored_and_differ() {
        let numbers: HashSet<u8> = Sdk::ALL.iter().map(|sdk| *sdk as u8).collect();

        assert_eq!(numbers.len(), Sdk::ALL.len());
        assert_eq!((Sdk::Node as u8, Sdk::Curl as u8), (1, 13));
    }

    #[tokio::test]
    async fn only_the_first_request_is_stored() {
        let (_directory, context) = Context::temporary();
        let team = teams::create(&context, "Shop").await.unwrap().unwrap().id;
        let first_ms = context.now_ms();
        for _ in 0..2 {
            // A new instance knows nothing from memory, as after a restart.
            let tasks = TaskTracker::new();
            let uses = SdkUses::new(context.clone(), tasks.clone());
            uses.note(team, "resend-node:6.1.0");
            uses.note(team, "browser");
            tasks.close();
            tasks.wait().await;
            context.clock.advance(Duration::from_secs(5));

            let seen: Vec<(Sdk, i64)> = uses
                .list(team)
                .await
                .unwrap()
                .into_iter()
                .filter_map(|(sdk, first_ms)| Some((sdk, first_ms?)))
                .collect();
            assert_eq!(seen, [(Sdk::Node, first_ms)]);
        }
    }
}
