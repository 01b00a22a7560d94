//! What a run gave, as artifacts. A workflow may say itself what clients of A2A get, by an object whose only key is
//! `a2a`; anything else is one artifact.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;
use signoff_a2a::wire::{Artifact, Part};

/// The most artifacts of one output, pieces of one artifact, and parts of one piece.
const MAX: usize = 100;

/// What an output leads to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Given {
    /// Artifacts, each in the pieces in which it is told.
    pub(super) artifacts: Vec<Vec<Artifact>>,
    /// What is said at the end.
    pub(super) message: Option<Vec<Part>>,
    /// Why the run will not do what is wanted.
    pub(super) rejected: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shaped {
    a2a: Wanted,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    artifacts: Vec<WantedArtifact>,
    #[serde(default)]
    message: Option<Vec<WantedPart>>,
    #[serde(default)]
    rejected: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedArtifact {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parts: Vec<WantedPart>,
    #[serde(default)]
    chunks: Vec<Vec<WantedPart>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum WantedPart {
    Text(String),
    Data(Value),
    File(WantedFile),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WantedFile {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    bytes: Option<String>,
    #[serde(default)]
    url: Option<String>,
}

/// What `value`, the output of this number, leads to.
pub(super) fn given(number: usize, value: &Value) -> Given {
    shaped(number, value).unwrap_or_else(|| {
        let part = match value {
            Value::String(text) => Part::text(text.as_str()),
            other => Part::data(other.clone()),
        };
        let artifact = Artifact {
            artifact_id: format!("output-{number}"),
            name: Some("output".to_owned()),
            description: None,
            parts: vec![part],
        };
        Given { artifacts: vec![vec![artifact]], ..Given::default() }
    })
}

/// What a workflow wants clients to get. None, if it does not say so, or not so that it can be done.
fn shaped(number: usize, value: &Value) -> Option<Given> {
    value.as_object().filter(|fields| fields.len() == 1 && fields.contains_key("a2a"))?;
    let Shaped { a2a: wanted } = Shaped::deserialize(value).ok()?;
    if wanted.artifacts.len() > MAX {
        return None;
    }
    let artifacts = (1..).zip(wanted.artifacts);
    let artifacts = artifacts.map(|(n, wanted)| pieces(format!("output-{number}.{n}"), wanted));
    let given = Given {
        artifacts: artifacts.collect::<Option<_>>()?,
        message: wanted.message.map(parts).map_or(Some(None), |parts| parts.map(Some))?,
        rejected: wanted.rejected,
    };
    (given != Given::default()).then_some(given)
}

fn pieces(artifact_id: String, wanted: WantedArtifact) -> Option<Vec<Artifact>> {
    let WantedArtifact { name, description, parts: first, chunks } = wanted;
    let chunks = Some(first).filter(|first| !first.is_empty()).into_iter().chain(chunks);
    let chunks: Vec<Vec<Part>> = chunks.map(parts).collect::<Option<_>>()?;
    let whole = Artifact { artifact_id, name, description, parts: Vec::new() };
    let fits = (1..=MAX).contains(&chunks.len());
    fits.then(|| chunks.into_iter().map(|parts| Artifact { parts, ..whole.clone() }).collect())
}

fn parts(wanted: Vec<WantedPart>) -> Option<Vec<Part>> {
    let fits = (1..=MAX).contains(&wanted.len());
    fits.then(|| wanted.into_iter().map(part).collect())?
}

fn part(wanted: WantedPart) -> Option<Part> {
    Some(match wanted {
        WantedPart::Text(text) => {
            Part { media_type: Some("text/plain".into()), ..Part::text(text) }
        }
        WantedPart::Data(data) => Part::data(data),
        WantedPart::File(WantedFile { name, media_type, bytes, url }) => {
            let is_base64 = |bytes: &String| BASE64_STANDARD.decode(bytes).is_ok();
            if bytes.is_some() == url.is_some() || !bytes.as_ref().is_none_or(is_base64) {
                return None;
            }
            Part { raw: bytes, url, filename: name, media_type, ..Part::default() }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_workflow_says_what_clients_get() {
        let value = json!({ "a2a": { "artifacts": [
            { "name": "n", "parts": [{ "text": "a" }], "chunks": [[{ "data": [1] }], [{ "file": { "url": "x://y" } }]] },
        ], "message": [{ "text": "hi" }], "rejected": "no" } });
        let given = given(2, &value);
        let [pieces] = &given.artifacts[..] else { panic!("{given:?}") };
        assert_eq!(pieces.len(), 3);
        assert!(
            pieces.iter().all(|piece| piece.artifact_id == "output-2.1" && piece.parts.len() == 1)
        );
        assert_eq!(given.message.unwrap()[0].text.as_deref(), Some("hi"));
        assert_eq!(given.rejected.as_deref(), Some("no"));
    }

    #[test]
    fn what_is_said_otherwise_is_a_value() {
        for value in [
            json!({ "a2a": {} }),
            json!({ "a2a": { "artifacts": [{}] } }),
            json!({ "a2a": { "artifacts": [{ "parts": [{ "text": "x", "data": 1 }] }] } }),
            json!({ "a2a": { "artifacts": [{ "parts": [{ "file": {} }] }] } }),
            json!({ "a2a": { "artifacts": [{ "parts": [{ "file": { "bytes": "?" } }] }] } }),
            json!({ "a2a": { "message": [] } }),
            json!({ "a2a": { "message": [{ "text": "x" }] }, "more": 1 }),
            json!({ "a2a": { "artifacts": vec![json!({ "parts": [{ "text": "x" }] }); MAX + 1] } }),
            json!([1]),
        ] {
            let given = given(1, &value);
            let data = &given.artifacts[0][0].parts[0].data;
            assert_eq!((data.as_ref(), given.artifacts.len()), (Some(&value), 1));
        }
        assert_eq!(given(1, &json!("x")).artifacts[0][0].parts[0], Part::text("x"));
    }
}
