//! `GET /health`: whether the instance works, for monitoring and for orchestrators. It needs no key, so that it names
//! the parts of the program only.

use salvo::http::StatusCode;
use salvo::writing::Json;
use salvo::{Response, Writer as _, handler};
use serde::Serialize;

use super::error::ApiResult;
use super::state::State;

/// Function that returns the names of the failing parts of an instance.
type Problems = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// Health of an instance.
pub struct Health(Problems);

impl Health {
    /// Returns the health of an instance whose failing parts `problems` returns.
    pub fn new(problems: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        Self(Box::new(problems))
    }

    /// Returns the names of the failing parts.
    pub(crate) fn problems(&self) -> Vec<String> {
        (self.0)()
    }
}

#[derive(Serialize)]
struct HealthResponse {
    /// Whether every part works.
    ok: bool,
    /// `ok` or `failing`.
    status: &'static str,
    /// Failing parts; absent if every part works.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

/// Returns 200 if every part of the instance works, or 503 with the failing parts.
#[handler]
pub(crate) async fn health(instance: State<Health>, res: &mut Response) -> ApiResult<()> {
    let problems = instance.problems();
    let ok = problems.is_empty();
    if !ok {
        res.status_code(StatusCode::SERVICE_UNAVAILABLE);
    }
    res.render(Json(HealthResponse { ok, status: if ok { "ok" } else { "failing" }, problems }));
    Ok(())
}
