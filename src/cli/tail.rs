//! `ringmail tail`: a team's events as they happen.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::{Exit, Failure};
use super::output::{Output, put_line};
use super::store_args::{TeamArgs, unexpected};
use crate::admin::response::{LiveEventView, MissedView};
use crate::admin::{AdminClient, AdminClientError, Request, Response};
use crate::base::blocking;
use crate::live;

/// The pause between two looks for a server that has gone.
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Args)]
pub(super) struct TailArgs {
    /// Show events of this type alone, or of a group of types, as in email.*; may be repeated.
    #[arg(long = "type", value_name = "PATTERN", value_delimiter = ',')]
    types: Vec<String>,

    #[command(flatten)]
    team: TeamArgs,
}

/// Why nothing more is to be shown.
enum End {
    /// The server has stopped.
    ServerGone,
    /// Nobody reads standard output any more, as after `head`.
    ReaderGone,
}

/// Runs the verb, until it is told to stop: by SIGINT or SIGTERM.
///
/// # Errors
/// [`Exit::Unreachable`] without a running server, and what the server refuses.
pub(super) async fn run(args: TailArgs, output: Output) -> Result<(), Failure> {
    let TailArgs { types, team: TeamArgs { team, place } } = args;
    let request = Request::Tail { team, types: types.join(",") };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let data_dir = place.data_dir().await?;
    tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        ended = follow(&data_dir, request, output) => ended,
    }
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::failed(format!("signals cannot be listened for: {error}")))
}

async fn follow(data_dir: &Path, request: Request, output: Output) -> Result<(), Failure> {
    let Some(mut door) = begin(data_dir, &request).await? else {
        let sentence = format!(
            "no server answers over {}; `ringmail tail` shows what happens at a running one",
            data_dir.display()
        );
        return Err(Failure::new(Exit::Unreachable, sentence));
    };
    eprintln!("Watching events. Ctrl-C ends it.");
    loop {
        match show(&mut door, output).await? {
            End::ReaderGone => return Ok(()),
            End::ServerGone => {}
        }
        eprintln!("The server has stopped. Events from here until it is back are not shown.");
        door = loop {
            tokio::time::sleep(PAUSE).await;
            if let Some(door) = begin(data_dir, &request).await? {
                break door;
            }
        };
        eprintln!("The server is back. Watching events.");
    }
}

/// Begins to watch; none where no server answers.
async fn begin(data_dir: &Path, request: &Request) -> Result<Option<AdminClient>, Failure> {
    let Ok(mut door) = AdminClient::connect(data_dir).await else { return Ok(None) };
    match door.request(request.clone()).await {
        Ok(Response::Watching) => Ok(Some(door)),
        Ok(Response::Refused(refusal)) => Err(refusal.into()),
        Ok(other) => Err(unexpected(&other)),
        Err(AdminClientError::Unreachable { .. }) => Ok(None),
        Err(unreadable) => Err(unreadable.into()),
    }
}

async fn show(door: &mut AdminClient, output: Output) -> Result<End, Failure> {
    loop {
        let line = match door.next_response().await {
            Ok(Some(Response::Event(LiveEventView { id, body }))) => match output {
                Output::Json => body,
                Output::Text => live::line(&id.to_string(), &body),
            },
            Ok(Some(Response::Missed(MissedView { count }))) => {
                eprintln!("{count} events are not shown: they came too fast, or waited when an address was erased.");
                continue;
            }
            Ok(Some(other)) => return Err(unexpected(&other)),
            Ok(None) | Err(AdminClientError::Unreachable { .. }) => return Ok(End::ServerGone),
            Err(unreadable) => return Err(unreadable.into()),
        };
        // Off this thread, so that Ctrl-C is heard while a pager stands still.
        if !blocking::run(move || put_line(&line)).await? {
            return Ok(End::ReaderGone);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{UnixListener, UnixStream};

    use super::*;

    /// A directory with a server's socket in it.
    fn listening() -> (tempfile::TempDir, UnixListener) {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("ringmail.sock")).unwrap();
        (directory, listener)
    }

    /// Shows what a server says before it hangs up.
    async fn shown(said: &[u8]) -> Result<End, Failure> {
        let (directory, listener) = listening();
        let mut door = AdminClient::connect(directory.path()).await.unwrap();
        let saying = async {
            let (mut server, _) = listener.accept().await.unwrap();
            // The other side hangs up on what is too long.
            let _ = server.write_all(said).await;
            drop(server);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            ended = show(&mut door, Output::Json) => ended,
            () = saying => unreachable!("nothing follows"),
        }
    }

    #[tokio::test]
    async fn a_line_that_does_not_read_is_a_failure_and_no_stop_of_the_server() {
        let too_long = "x".repeat(17 << 20);
        for (said, fails) in [
            ("", false),
            (r#"{"kind":"mis"#, false),
            ("{\n", true),
            ("no JSON at all\n", true),
            ("{\"kind\":\"not known yet\"}\n", true),
            ("{\"kind\":\"watching\"}\n", true),
            (too_long.as_str(), true),
        ] {
            match shown(said.as_bytes()).await {
                Ok(End::ServerGone) => assert!(!fails, "{said:.40}"),
                Ok(End::ReaderGone) => panic!("{said:.40}"),
                Err(failure) => assert!(fails, "{said:.40}: {failure:?}"),
            }
        }
    }

    /// Begins to watch at a server that answers with `line` and has not read the request. Returns the
    /// server's end too.
    async fn begun(line: &str) -> (Result<Option<AdminClient>, Failure>, UnixStream) {
        let (directory, listener) = listening();
        let request = Request::Tail { team: None, types: String::new() };
        let answering = async {
            let (mut server, _) = listener.accept().await.unwrap();
            server.write_all(line.as_bytes()).await.unwrap();
            server
        };
        tokio::join!(begin(directory.path(), &request), answering)
    }

    #[tokio::test]
    async fn a_server_that_breaks_off_is_gone() {
        let (begun, server) = begun("{\"kind\":\"watching\"}\n").await;
        let mut door = begun.unwrap().expect("the server answers");

        // A close with the request unread arrives as a reset.
        drop(server);

        assert!(matches!(show(&mut door, Output::Json).await, Ok(End::ServerGone)));
    }

    #[tokio::test]
    async fn an_answer_that_does_not_read_is_no_absent_server() {
        let (begun, _server) = begun("no JSON at all\n").await;

        assert!(begun.is_err());
    }
}
