//! Questions to people, as endpoints of Responses tell them.

use serde_json::Value;

/// A question that came on the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// The id to answer.
    pub id: String,
    /// Who asks.
    pub source: String,
    /// The question.
    pub prompt: String,
    /// What was said last: who, and what.
    pub recent: Vec<(String, String)>,
    /// What would be accepted, where it is said.
    pub allowed: Vec<String>,
}

/// A question as older clients have it.
pub(super) fn asked(data: &Value) -> Option<Asked> {
    let info = [
        &data["data"]["data"]["request_info"],
        &data["data"]["request_info"],
        &data["request_info"],
    ]
    .into_iter()
    .find(|it| it.is_object())?;
    let inner = &info["data"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let said = |message: &Value| {
        let who = message["author_name"].as_str().or(message["role"].as_str()).unwrap_or_default();
        (who.to_owned(), text(&message["text"]))
    };
    let recent: Vec<_> = inner["conversation"].as_array().into_iter().flatten().map(said).collect();
    let source = inner["awaiting_agent_id"].as_str().or(info["source_executor_id"].as_str());
    Some(Asked {
        id: info["request_id"].as_str()?.to_owned(),
        source: source.unwrap_or_default().to_owned(),
        prompt: text(if inner["question"].is_string() {
            &inner["question"]
        } else {
            &inner["prompt"]
        }),
        recent: recent.into_iter().rev().take(5).rev().collect(),
        allowed: words(&inner["allowed"]),
    })
}

/// The same as it is told today.
pub(super) fn requested(data: &Value) -> Asked {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let inner = &data["request_data"];
    let prompt = inner["prompt"].as_str().map_or_else(|| inner.to_string(), Into::into);
    Asked {
        id: text(&data["request_id"]),
        source: text(&data["source_executor_id"]),
        prompt,
        recent: Vec::new(),
        allowed: Vec::new(),
    }
}

fn words(list: &Value) -> Vec<String> {
    let words = list.as_array().into_iter().flatten();
    words.filter_map(|word| word.as_str().map(ToOwned::to_owned)).collect()
}
