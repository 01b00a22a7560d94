//! What a model's section may say.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::Timestamp;
use signoff_models::{Deps, Provider, ProviderConfig, Scripted, build};

fn built(config: Value) -> Result<Arc<dyn Provider>, String> {
    let config: ProviderConfig =
        serde_json::from_value(config).map_err(|error| error.to_string())?;
    let deps = Deps {
        env: &|_| Some("key".to_owned()),
        now: Arc::new(|| Timestamp(0)),
        chance: Arc::new(|| 0.5),
        script: &|path| match path {
            "there.yaml" => {
                let script = json!([{ "text": "hi" }]);
                Ok(Arc::new(Scripted::from_value(script).map_err(|error| error.to_string())?))
            }
            _ => Err("there is no such file".to_owned()),
        },
    };
    build("m", &config, &deps).map_err(|error| error.to_string())
}

#[tokio::test]
async fn good_sections_become_providers() {
    for config in [
        json!({ "provider": "openai", "model": "gpt-x" }),
        json!({ "provider": "openai-chat", "model": "qwen", "base_url": "http://localhost:11434/v1/" }),
        json!({
            "provider": "anthropic", "model": "claude", "max_output_tokens": 100,
            "reasoning_effort": "high", "timeout": "5m", "max_retries": 0, "max_concurrent": 1,
            "headers": { "x-team": "events" }, "prices": { "input": 3, "output": 15.5 },
            "structured_output": true, "temperature": 0.5,
        }),
        json!({ "provider": "scripted", "script": "there.yaml" }),
    ] {
        built(config.clone()).unwrap_or_else(|error| panic!("{config}: {error}"));
    }
}

#[tokio::test]
async fn bad_sections_say_what_is_wrong_and_where() {
    for (config, problem) in [
        (json!({ "provider": "openai" }), "models.m.model: "),
        (json!({ "provider": "openai", "model": "x", "modle": "y" }), "unknown field `modle`"),
        (json!({ "provider": "gemini", "model": "x" }), "unknown variant `gemini`"),
        (
            json!({ "provider": "openai", "model": "x", "base_url": "nowhere" }),
            "models.m.base_url: ",
        ),
        (
            json!({ "provider": "openai", "model": "x", "base_url": "file:///etc" }),
            "models.m.base_url: ",
        ),
        (json!({ "provider": "openai", "model": "x", "base_url": "https://u:p@x" }), "password"),
        (
            json!({ "provider": "openai", "model": "x", "max_concurrent": 0 }),
            "models.m.max_concurrent",
        ),
        (json!({ "provider": "openai", "model": "x", "temperature": 3 }), "models.m.temperature"),
        (
            json!({ "provider": "openai", "model": "x", "headers": { "Authorization": "Bearer x" } }),
            "api_key_env",
        ),
        (
            json!({ "provider": "openai", "model": "x", "headers": { "a b": "c" } }),
            "models.m.headers",
        ),
        (
            json!({ "provider": "openai", "model": "x", "prices": { "input": -1, "output": 0 } }),
            "prices",
        ),
        (json!({ "provider": "openai", "model": "x", "script": "there.yaml" }), "models.m.script"),
        (json!({ "provider": "scripted" }), "models.m.script"),
        (json!({ "provider": "scripted", "script": "gone.yaml" }), "no such file"),
    ] {
        let error = built(config.clone()).map(|_| ()).unwrap_err();
        assert!(error.contains(problem), "{config}: {error}");
    }
}
