//! `ringmail theme`: how a team's preference page looks and what it says.

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::output::Output;
use super::store_args::{TeamArgs, unexpected};
use crate::admin::response::{ColoursView, ThemeView};
use crate::admin::{Request, Response};
use crate::preferences::ThemeTexts;

#[derive(Subcommand)]
pub(super) enum ThemeVerb {
    /// Show what is set, and the colours as they are shown.
    Show(TeamArgs),
    /// Change what is named; an empty text takes the page's own again.
    Set(SetArgs),
    /// Take the page's own look again.
    Reset(TeamArgs),
}

#[derive(Args)]
pub(super) struct SetArgs {
    /// The name at the top of the page [default: the team's name].
    #[arg(long, value_name = "NAME")]
    brand: Option<String>,

    /// A text above what the page asks, up to 500 characters.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,

    /// A text for whoever has unsubscribed, up to 500 characters.
    #[arg(long, value_name = "TEXT")]
    success: Option<String>,

    /// Where whoever has unsubscribed is led: an http or https address that answers with a page itself.
    ///
    /// The policy of the preference page allows this address's host alone, and browsers hold every
    /// redirect that follows a form against it: when the address redirects to another host, such as
    /// from example.com to www.example.com, or from http to https, whoever has unsubscribed may see
    /// nothing happen. Name the last address.
    #[arg(long, value_name = "URL")]
    redirect: Option<String>,

    /// The colour of the page.
    #[arg(long, value_name = "#RRGGBB")]
    background: Option<String>,

    /// The colour of its text.
    #[arg(long, value_name = "#RRGGBB")]
    text: Option<String>,

    /// The colour of its buttons and links.
    #[arg(long, value_name = "#RRGGBB")]
    accent: Option<String>,

    #[command(flatten)]
    team: TeamArgs,
}

/// Runs the verb.
///
/// # Errors
/// What the server or the store refuses.
pub(super) async fn run(verb: ThemeVerb, output: Output) -> Result<(), Failure> {
    let (place, request) = match verb {
        ThemeVerb::Show(TeamArgs { team, place }) => (place, Request::ThemeShow { team }),
        ThemeVerb::Reset(TeamArgs { team, place }) => (place, Request::ThemeReset { team }),
        ThemeVerb::Set(args) => {
            let SetArgs { brand, message, success, redirect, background, text, accent, team: TeamArgs { team, place } } =
                args;
            let texts = ThemeTexts { brand, message, success, redirect, background, text, accent };
            if texts == ThemeTexts::default() {
                return Err(Failure::usage("name what to set, such as --brand or --accent; --help lists it all"));
            }
            (place, Request::ThemeSet { team, texts })
        }
    };
    match place.ask(request).await? {
        Response::Theme(theme) => output.print(&theme, text),
        other => Err(unexpected(&other)),
    }
}

fn text(theme: &ThemeView) -> String {
    let ThemeView { texts, light, dark } = theme;
    let ThemeTexts { brand, message, success, redirect, background, text, accent } = texts;
    let rows = [
        ("brand", brand),
        ("message", message),
        ("success", success),
        ("redirect", redirect),
        ("background", background),
        ("text", text),
        ("accent", accent),
    ];
    let mut lines: Vec<String> =
        rows.iter().map(|(name, value)| format!("{name:<12}{}", value.as_deref().unwrap_or("-"))).collect();
    lines.push(String::new());
    lines.push(format!("shown light {}", colours(light)));
    lines.push(format!("shown dark  {}", colours(dark)));
    lines.join("\n")
}

fn colours(colours: &ColoursView) -> String {
    let ColoursView { background, text, accent } = colours;
    format!("background {background}  text {text}  accent {accent}")
}
