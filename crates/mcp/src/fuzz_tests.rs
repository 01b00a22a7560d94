//! A server may say anything: it is understood or refused.

use std::time::Duration;

use serde_json::Value;
use signoff_core::schema;
use signoff_fuzz::{Target, drive};

use crate::content::outcome;
use crate::listing::{Standing, usable};
use crate::question::{Asker, Question};

const SEEDS: &[&str] = &[
    r#"{"message":"Which?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","enum":["a","b"]},"ok":{"type":"boolean"}},"required":["name"]}}"#,
    r#"{"mode":"url","message":"Pay","url":"https://pay.example/x?id=1"}"#,
    r#"{"content":[{"type":"text","text":"hi"},{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"resource","resource":{"uri":"file:///x","text":"y"}}],"structuredContent":{"a":1},"isError":false}"#,
    r#"{"isError":true,"content":[{"type":"text","text":"no"}]}"#,
    r#"[{"name":"order","title":"Order","description":"Orders.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"annotations":{"readOnlyHint":true,"destructiveHint":false}},{"name":"a b","inputSchema":{"type":"object"}}]"#,
];

fn said_by_a_server(bytes: &[u8]) {
    let Ok(said) = serde_json::from_slice::<Value>(bytes) else { return };
    let _ = outcome(&said);
    if let Ok(question) = Question::read(&said) {
        let body = question.request(Asker { server: "shop", tool: "order" });
        assert!(!body.prompt.is_empty() && !body.allowed.is_empty(), "it can be answered");
        assert!(schema::compile(&body.response_schema).is_ok(), "answers can be checked");
    }
    let Ok(tools) = serde_json::from_value::<Vec<rmcp::model::Tool>>(said) else { return };
    for trusted in [true, false] {
        for listed in usable(&tools, Standing { server: "shop", trusted, network: true }) {
            assert!(schema::compile(&listed.spec.parameters).is_ok(), "arguments can be checked");
            assert!(trusted || listed.spec.effects.destructive, "nobody is believed");
        }
    }
}

#[test]
fn nothing_that_a_server_says_breaks_its_client() {
    let target = Target { name: "mcp", run: said_by_a_server, seeds: SEEDS };
    let driven = drive(&target, u64::from(std::process::id()), Duration::from_secs(1)).unwrap();
    assert!(driven.inputs > 100, "{driven:?}");
}
