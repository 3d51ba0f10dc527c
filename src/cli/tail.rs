//! `ringmail tail`: shows the events of a team as they happen.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::event_lines::missed;
use super::failure::{Exit, Failure};
use super::output::{Output, put_line};
use super::server::Signals;
use super::store_args::TeamArgs;
use super::terminal;
use crate::admin::response::{LiveEventView, MissedView, WatchingView};
use crate::admin::{AdminClient, AdminClientError, Response, ServerVerb};
use crate::base::blocking;
use crate::live;

/// Pause between two attempts to reconnect.
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Args)]
pub(super) struct TailArgs {
    /// Show only events of this type or group of types, such as email.*; may be repeated.
    #[arg(long = "type", value_name = "PATTERN", value_delimiter = ',')]
    types: Vec<String>,

    #[command(flatten)]
    team: TeamArgs,
}

enum StreamEnd {
    /// The server has stopped.
    ServerGone,
    /// Standard output is closed, for example by `head`.
    ReaderGone,
}

/// Runs the verb until SIGINT or SIGTERM.
///
/// # Errors
/// [`Exit::Unreachable`] without a running server, and any failure of the request.
pub(super) async fn run(args: TailArgs, output: Output) -> Result<(), Failure> {
    let TailArgs { types, team: TeamArgs { team, store } } = args;
    let types = types.join(",");
    let mut signals = Signals::listen()?;
    let tail = Tail { data_dir: store.data_dir().await?, team, types };
    tokio::select! {
        () = signals.next() => Ok(()),
        ended = follow(&tail, output) => ended,
    }
}

/// Parameters of a subscription.
struct Tail {
    data_dir: PathBuf,
    team: Option<String>,
    types: String,
}

async fn follow(tail: &Tail, output: Output) -> Result<(), Failure> {
    let Some(mut client) = subscribe(tail).await? else {
        let sentence = format!(
            "no server answers for {}; `ringmail tail` shows the events of a running server",
            tail.data_dir.display()
        );
        return Err(Failure::new(Exit::Unreachable, sentence));
    };
    eprintln!("Watching events. Ctrl-C ends it.");
    loop {
        match show(&mut client, output).await? {
            StreamEnd::ReaderGone => return Ok(()),
            StreamEnd::ServerGone => {}
        }
        eprintln!("The server has stopped. Events until its next start are not shown.");
        client = loop {
            tokio::time::sleep(PAUSE).await;
            if let Some(client) = subscribe(tail).await? {
                break client;
            }
        };
        eprintln!("The server is back. Watching events.");
    }
}

/// Subscribes to events; `None` if no server answers.
async fn subscribe(Tail { data_dir, team, types }: &Tail) -> Result<Option<AdminClient>, Failure> {
    let Ok(mut client) = AdminClient::connect(data_dir, team.clone()).await else { return Ok(None) };
    match client.request(ServerVerb::Tail { types: types.clone() }).await {
        Ok(WatchingView {}) => Ok(Some(client)),
        Err(AdminClientError::Unreachable { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn show(client: &mut AdminClient, output: Output) -> Result<StreamEnd, Failure> {
    loop {
        let line = match client.next_response().await {
            Ok(Some(Response::Event(LiveEventView { id, body }))) => match output {
                Output::Json => body,
                Output::Text => live::line(&id.to_string(), &body, terminal::line_style()),
            },
            Ok(Some(Response::Missed(MissedView { count }))) => {
                eprintln!("{}", missed(count));
                continue;
            }
            Ok(Some(other)) => return Err(AdminClientError::Unexpected(Box::new(other)).into()),
            Ok(None) | Err(AdminClientError::Unreachable { .. }) => return Ok(StreamEnd::ServerGone),
            Err(error) => return Err(error.into()),
        };
        // Writes block while a pager is idle. On another thread, they do not delay Ctrl-C.
        if !blocking::run(move || put_line(&line)).await? {
            return Ok(StreamEnd::ReaderGone);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{UnixListener, UnixStream};

    use super::*;

    /// Returns a directory with the socket of a server.
    fn listening() -> (tempfile::TempDir, UnixListener) {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("ringmail.sock")).unwrap();
        (directory, listener)
    }

    /// Shows the events of a server that writes `sent` and closes the connection.
    async fn shown(sent: &[u8]) -> Result<StreamEnd, Failure> {
        let (directory, listener) = listening();
        let mut client = AdminClient::connect(directory.path(), None).await.unwrap();
        let sending = async {
            let (mut server, _) = listener.accept().await.unwrap();
            // The client closes the connection if the line is too long.
            let _ = server.write_all(sent).await;
            drop(server);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            ended = show(&mut client, Output::Json) => ended,
            () = sending => unreachable!("nothing follows"),
        }
    }

    #[tokio::test]
    async fn an_invalid_line_is_a_failure_and_a_closed_connection_is_not() {
        let too_long = "x".repeat(17 << 20);
        for (sent, fails) in [
            ("", false),
            (r#"{"kind":"mis"#, false),
            ("{\n", true),
            ("no JSON at all\n", true),
            ("{\"kind\":\"not known yet\"}\n", true),
            ("{\"kind\":\"watching\"}\n", true),
            (too_long.as_str(), true),
        ] {
            match shown(sent.as_bytes()).await {
                Ok(StreamEnd::ServerGone) => assert!(!fails, "{sent:.40}"),
                Ok(StreamEnd::ReaderGone) => panic!("{sent:.40}"),
                Err(failure) => assert!(fails, "{sent:.40}: {failure:?}"),
            }
        }
    }

    /// Subscribes at a server that answers with `line` without reading the request. Also returns the
    /// connection of the server.
    async fn subscribed(line: &str) -> (Result<Option<AdminClient>, Failure>, UnixStream) {
        let (directory, listener) = listening();
        let tail = Tail { data_dir: directory.path().to_owned(), team: None, types: String::new() };
        let answering = async {
            let (mut server, _) = listener.accept().await.unwrap();
            server.write_all(line.as_bytes()).await.unwrap();
            server
        };
        tokio::join!(subscribe(&tail), answering)
    }

    #[tokio::test]
    async fn a_reset_connection_ends_the_stream() {
        let (client, server) = subscribed("{\"kind\":\"watching\"}\n").await;
        let mut client = client.unwrap().expect("the server answers");

        // A close with unread data resets the connection.
        drop(server);

        assert!(matches!(show(&mut client, Output::Json).await, Ok(StreamEnd::ServerGone)));
    }

    #[tokio::test]
    async fn an_invalid_response_is_a_failure_of_the_subscription() {
        let (client, _server) = subscribed("no JSON at all\n").await;

        assert!(client.is_err());
    }
}
