//! `ringmail theme`: colours and texts of a team's preference page.

use super::failure::Failure;
use super::output::Output;
use super::store_args::TeamVerbArgs;
use crate::admin::themes::{ColoursView, ThemeArgs, ThemeVerb, ThemeView};
use crate::preferences::ThemeTexts;

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(TeamVerbArgs { verb, team }: TeamVerbArgs<ThemeVerb>, output: Output) -> Result<(), Failure> {
    if matches!(&verb, ThemeVerb::Set(args) if *args == ThemeArgs::default()) {
        return Err(Failure::usage("name a part to change, such as --brand or --accent; see --help"));
    }
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
