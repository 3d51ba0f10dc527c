//! The rows of themes. What is read is checked again: it is about to stand in a page.

use serde::{Deserialize, Serialize};

use super::theme::{self, Theme, ThemeError, ThemeTexts};
use crate::base::id::TeamId;
use crate::context::Context;
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::PREFERENCE_THEMES;

/// A theme on disk, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThemeRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    brand: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    success: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redirect: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    background: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accent: Option<String>,
}
impl Row for ThemeRow {}

impl From<&Theme> for ThemeRow {
    fn from(theme: &Theme) -> Self {
        let ThemeTexts { brand, message, success, redirect, background, text, accent } = theme.texts();
        Self { brand, message, success, redirect, background, text, accent }
    }
}

impl From<ThemeRow> for Theme {
    /// What breaks a rule of today is left out.
    fn from(row: ThemeRow) -> Self {
        fn read<T>(stored: Option<String>, rule: impl Fn(&str) -> Result<Option<T>, ThemeError>) -> Option<T> {
            rule(&stored?).ok().flatten()
        }

        let ThemeRow { brand, message, success, redirect, background, text, accent } = row;
        Self {
            brand: read(brand, theme::brand),
            message: read(message, theme::message),
            success: read(success, theme::message),
            redirect: read(redirect, theme::redirect),
            background: read(background, theme::colour),
            text: read(text, theme::colour),
            accent: read(accent, theme::colour),
        }
    }
}

/// Returns the theme of a team; the page's own where none is set.
///
/// # Errors
/// [`StoreError`].
pub fn theme_of(tx: &impl Reads, team: TeamId) -> Result<Theme, StoreError> {
    Ok(tx.get(&PREFERENCE_THEMES, &(team,))?.map_or_else(Theme::default, Theme::from))
}

/// Changes the theme of a team by what is said of it. Returns the theme as it is then.
///
/// # Errors
/// The inner ones as [`Theme::with`], and then nothing changes; [`StoreError`].
pub async fn change_theme(
    context: &Context,
    team: TeamId,
    texts: ThemeTexts,
) -> Result<Result<Theme, (&'static str, ThemeError)>, StoreError> {
    let write = move |tx: &WriteTx<'_>| {
        let changed = theme_of(tx, team)?.with(&texts);
        if let Ok(theme) = &changed {
            put_theme(tx, team, theme)?;
        }
        Ok(changed)
    };
    context.store.write(write).await
}

/// Gives a team the page's own look back.
///
/// # Errors
/// [`StoreError`].
pub async fn reset_theme(context: &Context, team: TeamId) -> Result<(), StoreError> {
    context.store.write(move |tx| put_theme(tx, team, &Theme::default())).await
}

/// Writes the theme of a team. One that sets nothing has no row.
fn put_theme(tx: &WriteTx<'_>, team: TeamId, theme: &Theme) -> Result<(), StoreError> {
    if *theme == Theme::default() {
        tx.delete(&PREFERENCE_THEMES, &(team,))?;
        return Ok(());
    }
    tx.put(&PREFERENCE_THEMES, &(team,), &ThemeRow::from(theme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::preferences::colour::Colour;
    use crate::preferences::redirect::RedirectUrl;

    const TEAM: TeamId = Id::MIN;

    #[tokio::test]
    async fn a_theme_reads_back_and_one_that_sets_nothing_leaves_no_row() {
        let (_directory, context) = Context::temporary();
        let theme = Theme {
            brand: Some("Acme".into()),
            message: Some("a\nb".into()),
            success: Some("Bye".into()),
            redirect: RedirectUrl::parse("https://example.com/bye"),
            background: Colour::parse("#ffffff"),
            text: Colour::parse("#101010"),
            accent: Colour::parse("#3b5bdb"),
        };
        let apply = move |tx: &WriteTx<'_>| {
            assert_eq!(theme_of(tx, TEAM)?, Theme::default());
            put_theme(tx, TEAM, &theme)?;
            assert_eq!(theme_of(tx, TEAM)?, theme);
            assert_eq!(theme_of(tx, Id::MAX)?, Theme::default());
            put_theme(tx, TEAM, &Theme::default())?;
            assert!(!tx.contains(&PREFERENCE_THEMES, &(TEAM,))?);
            Ok(())
        };

        context.store.write::<_, StoreError>(apply).await.unwrap();
    }

    #[test]
    fn what_no_longer_keeps_a_rule_is_left_out_of_the_page() {
        let row = ThemeRow {
            brand: Some("Acme".into()),
            message: Some("x".repeat(501)),
            redirect: Some("javascript:alert(1)".into()),
            background: Some("red;}body{display:none".into()),
            ..ThemeRow::default()
        };

        assert_eq!(Theme::from(row), Theme { brand: Some("Acme".into()), ..Theme::default() });
    }
}
