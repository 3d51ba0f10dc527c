//! `ringmail theme`: colours and texts of a team's preference page.

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::output::Output;
use super::store_args::TeamVerbArgs;
use crate::admin::themes::{ColoursView, ThemeVerb, ThemeView};
use crate::preferences::ThemeTexts;

#[derive(Subcommand)]
pub(super) enum ThemeCommand {
    /// Show the theme and the displayed colours.
    Show,
    /// Change the given parts of the theme. An empty text restores the default.
    Set(SetArgs),
    /// Restore the default theme.
    Reset,
}

#[derive(Args)]
pub(super) struct SetArgs {
    /// Name at the top of the page [default: the name of the team].
    #[arg(long, value_name = "NAME")]
    brand: Option<String>,

    /// Text above the form, up to 500 characters.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,

    /// Text after an unsubscribe, up to 500 characters.
    #[arg(long, value_name = "TEXT")]
    success: Option<String>,

    /// Page to show after an unsubscribe: an http or https URL that does not redirect.
    ///
    /// The security policy of the preference page allows only the host of this URL, and browsers apply
    /// it to every redirect after a form. If the URL redirects to another host, such as from example.com
    /// to www.example.com, or from http to https, the browser may block the navigation. Use the final
    /// URL.
    #[arg(long, value_name = "URL")]
    redirect: Option<String>,

    /// Background colour of the page.
    #[arg(long, value_name = "#RRGGBB")]
    background: Option<String>,

    /// Colour of the text.
    #[arg(long, value_name = "#RRGGBB")]
    text: Option<String>,

    /// Colour of buttons and links.
    #[arg(long, value_name = "#RRGGBB")]
    accent: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(
    TeamVerbArgs { verb, team }: TeamVerbArgs<ThemeCommand>,
    output: Output,
) -> Result<(), Failure> {
    let verb = match verb {
        ThemeCommand::Show => ThemeVerb::Show,
        ThemeCommand::Reset => ThemeVerb::Reset,
        ThemeCommand::Set(SetArgs { brand, message, success, redirect, background, text, accent }) => {
            let texts = ThemeTexts { brand, message, success, redirect, background, text, accent };
            if texts == ThemeTexts::default() {
                return Err(Failure::usage("name a part to change, such as --brand or --accent; see --help"));
            }
            ThemeVerb::Set(texts)
        }
    };
    let theme: ThemeView = team.request(verb).await?;
    output.print(&theme, text)
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
