//! What goes over the wire, to the letter.

use serde_json::{Value, json};
use signoff_core::Message;
use signoff_models::{Effort, ModelRequest, ProviderConfig, ProviderKind};
use signoff_testkit::model_server::{ModelServer, Replies};

use super::support::{
    ALL, ask, call, long_conversation, long_request, provider, question, request, said, tool,
};

async fn sent(
    kind: ProviderKind,
    request: &ModelRequest,
    change: impl Fn(&mut ProviderConfig),
) -> Value {
    let server = ModelServer::start(Replies::text("{}")).await;
    let mut config = server.config(kind);
    change(&mut config);
    ask(&provider(&config), request).await.0.unwrap();
    server.requests().remove(0).body
}

#[tokio::test]
async fn a_request_with_everything() {
    for kind in ALL {
        let body = sent(kind, &long_request(), |config| {
            config.max_output_tokens = Some(500);
            config.temperature = Some(0.5);
        })
        .await;
        let name = format!("{}_everything", json!(kind).as_str().unwrap());
        insta::assert_json_snapshot!(name, body);
    }
}

#[tokio::test]
async fn thought_and_shape_are_asked_for_in_each_ones_words() {
    let schema = json!({ "type": "object", "properties": {} });
    let asked = request(vec![Message::user("Go.")], Vec::new(), Some(schema.clone()));
    let both = |config: &mut ProviderConfig| {
        config.structured_output = Some(true);
        config.reasoning_effort = Some(Effort::High);
    };
    let body = sent(ProviderKind::OpenAi, &asked, both).await;
    assert_eq!(body["reasoning"], json!({ "effort": "high", "summary": "auto" }));
    let format =
        json!({ "type": "json_schema", "name": "answer", "schema": schema, "strict": false });
    assert_eq!(body["text"], json!({ "format": format }));
    let body = sent(ProviderKind::OpenAiChat, &asked, both).await;
    assert_eq!(body["reasoning_effort"], "high");
    assert_eq!(body["response_format"]["json_schema"]["schema"], schema);
    let body = sent(ProviderKind::Anthropic, &asked, both).await;
    assert_eq!(body["thinking"], json!({ "type": "adaptive" }));
    assert_eq!(body["output_config"]["effort"], "high");
    assert_eq!(body["output_config"]["format"], json!({ "type": "json_schema", "schema": schema }));
    for kind in ALL {
        let body = sent(kind, &asked, |config| config.structured_output = Some(false)).await;
        let system = match kind {
            ProviderKind::OpenAi => &body["instructions"],
            ProviderKind::OpenAiChat => &body["messages"][0]["content"],
            _ => &body["system"],
        };
        assert!(system.as_str().unwrap().ends_with(&schema.to_string()), "{system}");
    }
    // A shape that is no object is asked for in words, whatever the server can do.
    let list = request(vec![Message::user("Go.")], Vec::new(), Some(json!({ "type": "array" })));
    for kind in ALL {
        let body = sent(kind, &list, both).await.to_string();
        assert!(body.contains("JSON Schema") && !body.contains("json_schema"), "{body}");
    }
}

#[tokio::test]
async fn a_conversation_begins_and_ends_with_somebody_else() {
    let own = vec![said("venue", vec![signoff_core::Part::Text("Mine.".to_owned())])];
    for messages in [Vec::new(), own] {
        let asked = request(messages, Vec::new(), None);
        let body = sent(ProviderKind::Anthropic, &asked, |_| {}).await;
        let messages = body["messages"].as_array().unwrap();
        assert_eq!(messages.first().unwrap()["role"], "user");
        assert_eq!(messages.last().unwrap()["role"], "user");
    }
}

#[tokio::test]
async fn roles_alternate_and_every_call_has_its_result_behind_it() {
    let mut messages = long_conversation();
    // The same id in another turn, a call without a result, arguments that are no object.
    messages.push(said("venue", vec![call("c1", "web_search", json!("not an object"))]));
    let asked = request(messages, vec![tool("web_search")], None);
    let body = sent(ProviderKind::OpenAiChat, &asked, |_| {}).await;
    let messages = body["messages"].as_array().unwrap();
    let mut ids = Vec::new();
    for pair in messages.windows(2) {
        let (before, after) = (&pair[0]["role"], &pair[1]["role"]);
        assert!(before == "tool" || before != after, "{pair:?}");
        for call in pair[0]["tool_calls"].as_array().into_iter().flatten() {
            ids.push(call["id"].as_str().unwrap());
            let arguments = call["function"]["arguments"].as_str().unwrap();
            assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
        }
    }
    let results: Vec<&str> =
        messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(ids, results);
    assert_eq!(ids, ["c1", "c2", "c3", "c1_2"]);
}

#[tokio::test]
async fn headers_say_who_and_what() {
    let server = ModelServer::start(Replies::text("hi")).await;
    for kind in ALL {
        let mut config = server.config(kind);
        config.organization = Some("org-1".to_owned());
        config.headers.insert("X-Team".to_owned(), "events".to_owned());
        ask(&provider(&config), &question("hi")).await.0.unwrap();
        let sent = server.requests().pop().unwrap();
        assert_eq!(sent.header("x-team"), Some("events"));
        assert_eq!(sent.header("openai-organization"), Some("org-1"));
        assert_eq!(sent.header("content-type"), Some("application/json"));
        assert!(sent.header("user-agent").unwrap().starts_with("signoff/"));
        assert_eq!(sent.header("authorization"), None);
        let version = sent.header("anthropic-version");
        assert_eq!(version.is_some(), kind == ProviderKind::Anthropic);
    }
}
