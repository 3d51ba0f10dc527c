//! How teams' preference pages look.

use super::super::response::{AdminError, ColoursView, Response, ThemeView};
use super::super::services::AdminServices;
use super::{Answer, teams};
use crate::preferences::{self, Palette, Theme, ThemeTexts};

pub(super) async fn show(services: &AdminServices, team: Option<String>) -> Answer {
    let team = teams::chosen(services, team).await?;
    let theme = services.context.store.read(move |tx| preferences::theme_of(tx, team)).await?;
    Ok(Response::Theme(view(&theme)))
}

pub(super) async fn set(services: &AdminServices, team: Option<String>, texts: ThemeTexts) -> Answer {
    let team = teams::chosen(services, team).await?;
    match preferences::change_theme(&services.context, team, texts).await? {
        Ok(theme) => Ok(Response::Theme(view(&theme))),
        Err((name, error)) => Err(AdminError::invalid(format!("--{name}: {error}"))),
    }
}

pub(super) async fn reset(services: &AdminServices, team: Option<String>) -> Answer {
    let team = teams::chosen(services, team).await?;
    preferences::reset_theme(&services.context, team).await?;
    Ok(Response::Theme(view(&Theme::default())))
}

fn view(theme: &Theme) -> ThemeView {
    ThemeView { texts: theme.texts(), light: colours(&theme.light()), dark: colours(&theme.dark()) }
}

fn colours(palette: &Palette) -> ColoursView {
    let Palette { background, text, accent, .. } = palette;
    ColoursView { background: background.to_string(), text: text.to_string(), accent: accent.to_string() }
}
