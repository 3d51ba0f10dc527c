//! `ringmail tail`: a team's events as they happen.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::{Exit, Failure};
use super::output::{Output, put_line};
use super::place::{TeamArgs, unexpected};
use crate::admin::response::{LiveEventView, MissedView};
use crate::admin::{Door, Request, Response};
use crate::blocking;
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
async fn begin(data_dir: &Path, request: &Request) -> Result<Option<Door>, Failure> {
    let Ok(mut door) = Door::connect(data_dir).await else { return Ok(None) };
    match door.ask(request.clone()).await {
        Ok(Response::Watching) => Ok(Some(door)),
        Ok(Response::Refused(refusal)) => Err(refusal.into()),
        Ok(other) => Err(unexpected(&other)),
        Err(_) => Ok(None),
    }
}

async fn show(door: &mut Door, output: Output) -> Result<End, Failure> {
    loop {
        let line = match door.next().await {
            Ok(Some(Response::Event(LiveEventView { id, body }))) => match output {
                Output::Json => body,
                Output::Text => live::line(&id.to_string(), &body),
            },
            Ok(Some(Response::Missed(MissedView { count }))) => {
                eprintln!("{count} events are not shown: they came too fast, or waited when an address was erased.");
                continue;
            }
            Ok(Some(other)) => return Err(unexpected(&other)),
            Ok(None) | Err(_) => return Ok(End::ServerGone),
        };
        // Off this thread, so that Ctrl-C is heard while a pager stands still.
        if !blocking::run(move || put_line(&line)).await? {
            return Ok(End::ReaderGone);
        }
    }
}
