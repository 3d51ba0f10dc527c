//! `ringmail key`: API keys.

use super::failure::Failure;
use super::output::{Output, or_dash};
use super::store_args::TeamVerbArgs;
use crate::admin::keys::{KeyVerb, KeyView};

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(TeamVerbArgs { verb, team }: TeamVerbArgs<KeyVerb>, output: Output) -> Result<(), Failure> {
    if matches!(verb, KeyVerb::List { .. }) {
        let page = |last: Option<&KeyView>| KeyVerb::List { after: last.map(|row| row.id) };
        let heading = ["ID", "NAME", "PERMISSION", "DOMAIN ID", "CREATED", "LAST USED"];
        let no_rows = "There is no key; create one with `ringmail key create NAME`.";
        return output.print_rows(&team.list(page).await?, no_rows, &heading, |key| {
            vec![
                key.id.to_string(),
                key.name.clone(),
                key.permission.clone(),
                or_dash(key.domain_id),
                key.created_at.clone(),
                or_dash(key.last_used_at.as_ref()),
            ]
        });
    }
    let key: KeyView = team.request(verb).await?;
    output.print(&key, |key| key.token.clone().unwrap_or_else(|| key.id.to_string()))?;
    if output == Output::Text && key.token.is_some() {
        eprintln!("Created the key \"{}\". Save the token: it is not shown again.", key.name);
    }
    Ok(())
}
