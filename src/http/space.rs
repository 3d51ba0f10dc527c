//! Refusal of requests that add data while the disk has little free space.

use salvo::http::Method;
use salvo::{Depot, FlowCtrl, Handler, Request, Response, async_trait};

use super::error::ApiError;
use super::path::api_route;
use crate::store::{Space, Store};

/// Matched paths of the POST requests that add no data.
const WITHOUT_DATA: &[&str] = &[
    "contacts/batch/get",
    "contacts/batch/remove",
    "contacts/{id}/preferences-link",
    "emails/{id}/cancel",
    "suppressions/batch/remove",
    // Below the dashboard.
    "health/run",
    "queue/{site}/flush",
    "queue/{site}/pause",
    "queue/{site}/resume",
];

/// Handler that refuses the requests that add data. Reads, deletions and cancellations continue.
pub(crate) struct SpaceGuard(pub(crate) Store);

#[async_trait]
impl Handler for SpaceGuard {
    async fn handle(&self, req: &mut Request, _depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        if self.0.space() == Space::Ample || !adds_data(req.method(), api_route(req)) {
            return;
        }
        let message = "The server has little free disk space and accepts no new data. Try again later. Accepted emails \
                       are delivered.";
        ApiError::disk_unavailable(message).render(req, res);
        ctrl.skip_rest();
    }
}

fn adds_data(method: &Method, matched_path: &str) -> bool {
    match *method {
        Method::POST => !WITHOUT_DATA.contains(&matched_path),
        Method::PATCH | Method::PUT => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_deletions_and_cancellations_add_no_data() {
        for (method, path, expected) in [
            (Method::POST, "emails", true),
            (Method::POST, "contacts/batch", true),
            (Method::PATCH, "contacts/{id}", true),
            (Method::POST, "emails/{id}/cancel", false),
            (Method::POST, "contacts/batch/get", false),
            (Method::GET, "emails", false),
            (Method::HEAD, "emails", false),
            (Method::DELETE, "emails/{id}", false),
        ] {
            assert_eq!(adds_data(&method, path), expected, "{method} {path}");
        }
    }
}
