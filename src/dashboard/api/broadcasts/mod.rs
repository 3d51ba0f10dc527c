//! Broadcasts: their list with progress, the fields and the content of the composer, the check, previews, test emails,
//! and the report.
//!
//! The API has the rest: creation, deletion, sending, cancellation and recipients.
//!
//! Files in reading order: `list.rs`, `draft.rs` (fields), `content.rs` (content and Markdown), `check.rs`, `preview.rs`
//! (previews and test emails), `report.rs` (progress), `names.rs` (names of segments and topics).

mod check;
mod content;
mod draft;
mod list;
mod names;
mod preview;
mod report;

use salvo::Router;

use crate::http::ApiError;

/// Returns the routes.
pub(super) fn routes() -> Router {
    let one = Router::with_path("{id}")
        .get(draft::get_broadcast)
        .patch(draft::update_broadcast)
        .push(Router::with_path("content").get(content::get_content).put(content::put_content))
        .push(Router::with_path("check").post(check::check_broadcast))
        .push(Router::with_path("preview").get(preview::get_preview))
        .push(Router::with_path("rendered").get(preview::get_rendered))
        .push(Router::with_path("test").post(preview::send_test))
        .push(Router::with_path("report").get(report::get_report));
    Router::new()
        .push(Router::with_path("broadcasts").get(list::list_broadcasts).push(one))
        .push(Router::with_path("markdown").post(content::render_markdown))
}

fn not_found() -> ApiError {
    ApiError::not_found("Broadcast")
}
