//! Runs and requests as resources: `signoff://runs/ID`, `signoff://requests/ID`.

use rmcp::model::{ReadResourceResult, ResourceContents, ResourceTemplate};
use signoff_core::{RequestId, RunId};

use super::call::Call;
use crate::error::ApiError;
use crate::shape;

const RUNS: &str = "signoff://runs/";
const REQUESTS: &str = "signoff://requests/";
const JSON: &str = "application/json";

/// What can be read.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |place: &str, name: &str, description: &str| {
        ResourceTemplate::new(format!("{place}{{id}}"), name)
            .with_description(description)
            .with_mime_type(JSON)
    };
    vec![
        template(RUNS, "run", "A run as it stands"),
        template(REQUESTS, "request", "A question to people as it stands"),
    ]
}

impl Call {
    /// What is at an address; nothing, if there is nothing or it is somebody else's.
    pub(super) async fn read(&self, uri: &str) -> Result<Option<ReadResourceResult>, ApiError> {
        let value = if let Some(id) = uri.strip_prefix(RUNS) {
            let id = RunId::new(id);
            let run = self.app.read(move |engine| shape::run(engine, &id)).await;
            run.and_then(|run| {
                serde_json::to_value(run).map_err(|error| ApiError::internal(&error))
            })
        } else if let Some(id) = uri.strip_prefix(REQUESTS) {
            self.request(RequestId::new(id)).await
        } else {
            return Ok(None);
        };
        match value {
            Ok(value) => {
                let contents = ResourceContents::text(value.to_string(), uri).with_mime_type(JSON);
                Ok(Some(ReadResourceResult::new(vec![contents])))
            }
            Err(error) if error.code().starts_with("unknown_") => Ok(None),
            Err(error) => Err(error),
        }
    }
}
