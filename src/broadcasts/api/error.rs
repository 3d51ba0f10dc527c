//! Errors of broadcasts.

use crate::broadcast_rows::{ACTIVE_MAX, BroadcastStatus};
use crate::broadcasts::CONTENT_BYTES_MAX;
use crate::broadcasts::error::{CancelBroadcastError, DeleteBroadcastError, DraftError, SendBroadcastError};
use crate::emails::BroadcastPause;
use crate::http::{ApiError, ErrorCode, api_error};
use crate::preferences::{LinkError, PLACEHOLDERS_MAX};

pub(super) fn not_found() -> ApiError {
    ApiError::not_found("Broadcast")
}

/// Returns the error of a call that only drafts accept. `verb` is a past participle.
fn not_draft(verb: &str, status: BroadcastStatus) -> ApiError {
    let status = status.as_str();
    let message = format!("Only drafts can be {verb}. The status of this broadcast is `{status}`.");
    ApiError::new(ErrorCode::Forbidden, message)
}

fn other_domain() -> ApiError {
    ApiError::new(
        ErrorCode::RestrictedApiKey,
        "This API key is restricted to another domain. Send from an address of that domain, or use another key.",
    )
}

// The code of `StaleRevision` is not declared: the requests of the API have no revision.
api_error!(DraftError: Forbidden, RestrictedApiKey, NotFound, MissingRequiredField, Validation {
    DraftError::NotFound => not_found(),
    DraftError::NotDraft(status) => not_draft("changed", status),
    DraftError::StaleRevision => ApiError::stale_revision("draft"),
    DraftError::SegmentNotFound => ApiError::not_found("Segment"),
    DraftError::TopicNotFound => ApiError::not_found("Topic"),
    DraftError::KeyOfAnotherDomain => other_domain(),
    DraftError::TooMuchContent => ApiError::validation(format!(
        "Invalid `html` or `text` field: the content has more than {} KiB.",
        CONTENT_BYTES_MAX >> 10
    )),
    DraftError::TooMany => ApiError::validation(format!(
        "A team has at most {ACTIVE_MAX} drafts, scheduled and queued broadcasts. Delete a draft that is not \
         used."
    )),
});

api_error!(DeleteBroadcastError: Forbidden, RestrictedApiKey, NotFound {
    DeleteBroadcastError::NotFound => not_found(),
    DeleteBroadcastError::NotDraft(status) => not_draft("deleted", status),
    DeleteBroadcastError::KeyOfAnotherDomain => other_domain(),
});

api_error!(
    SendBroadcastError: Forbidden, RestrictedApiKey, SendingPaused, BroadcastsPaused, NotFound, Validation,
    BroadcastTooLarge
{
    SendBroadcastError::NotFound => not_found(),
    SendBroadcastError::NotDraft(status) => not_draft("sent", status),
    SendBroadcastError::SegmentNotFound => ApiError::not_found("Segment"),
    SendBroadcastError::TopicNotFound => ApiError::not_found("Topic"),
    SendBroadcastError::Link(LinkError::Loopback(public_url) | LinkError::PlaceholderLoopback(public_url)) => {
        ApiError::validation(format!(
            "The broadcast cannot be sent: its emails carry unsubscribe links, and recipients cannot open \
             {public_url}. Start the server with `--public-url` (or `RINGMAIL_PUBLIC_URL`) set to the address they \
             reach it under."
        ))
    },
    SendBroadcastError::Link(LinkError::TooManyPlaceholders) => ApiError::validation(format!(
        "Invalid `html` or `text` field: together they hold more than {PLACEHOLDERS_MAX} unsubscribe \
         placeholders."
    )),
    SendBroadcastError::Paused(BroadcastPause::Team(pause)) => {
        ApiError::new(ErrorCode::SendingPaused, pause.to_string())
    },
    SendBroadcastError::Paused(BroadcastPause::Region(pause)) => {
        ApiError::new(ErrorCode::BroadcastsPaused, pause.to_string())
    },
    SendBroadcastError::DomainNotVerified(domain) => ApiError::new(
        ErrorCode::Forbidden,
        format!("The {domain} domain is not verified. Please, add and verify your domain."),
    ),
    SendBroadcastError::KeyOfAnotherDomain => other_domain(),
    SendBroadcastError::NoContent => {
        ApiError::validation("The broadcast has no content. Set `html` or `text` before you send it.")
    },
    SendBroadcastError::TooLarge(days) => ApiError::new(
        ErrorCode::BroadcastTooLarge,
        format!(
            "The audience needs more than {days} days at the sending limits of this server. Send to a smaller \
             segment, or raise the limits `RINGMAIL_SEND_RATE` and `RINGMAIL_SEND_QUOTA`."
        ),
    ),
});

api_error!(CancelBroadcastError: Forbidden, RestrictedApiKey, NotFound {
    CancelBroadcastError::NotFound => not_found(),
    CancelBroadcastError::NotStarted => {
        ApiError::new(ErrorCode::Forbidden, "Only queued or scheduled broadcasts can be canceled")
    },
    CancelBroadcastError::KeyOfAnotherDomain => other_domain(),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emails::{RegionPause, SendingPause};

    fn region_pause() -> RegionPause {
        RegionPause { region: "us-east-1".into(), since_ms: 0 }
    }

    #[test]
    fn each_refusal_of_a_send_has_its_code() {
        let loopback = || "http://127.0.0.1".to_owned();
        for (error, status, name) in [
            (SendBroadcastError::NotFound, 404, "not_found"),
            (SendBroadcastError::NotDraft(BroadcastStatus::Sent), 403, "validation_error"),
            (SendBroadcastError::SegmentNotFound, 404, "not_found"),
            (SendBroadcastError::TopicNotFound, 404, "not_found"),
            (SendBroadcastError::Link(LinkError::Loopback(loopback())), 422, "validation_error"),
            (SendBroadcastError::Link(LinkError::PlaceholderLoopback(loopback())), 422, "validation_error"),
            (SendBroadcastError::Link(LinkError::TooManyPlaceholders), 422, "validation_error"),
            (SendBroadcastError::Paused(BroadcastPause::Team(SendingPause::example())), 403, "sending_paused"),
            (SendBroadcastError::Paused(BroadcastPause::Region(region_pause())), 403, "broadcasts_paused"),
            (SendBroadcastError::DomainNotVerified("example.org".into()), 403, "validation_error"),
            (SendBroadcastError::KeyOfAnotherDomain, 403, "restricted_api_key"),
            (SendBroadcastError::NoContent, 422, "validation_error"),
            (SendBroadcastError::TooLarge(24), 422, "broadcast_too_large"),
        ] {
            let shown = format!("{error:?}");
            let error = ApiError::from(error);

            assert_eq!((error.code.status(), error.code.name()), (status, name), "{shown}");
        }
    }
}
