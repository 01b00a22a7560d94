//! A server's list of tools, as far as it can be used.

use std::collections::BTreeSet;
use std::time::Duration;

use rmcp::ServiceError;
use rmcp::model::{PaginatedRequestParams, Tool, ToolAnnotations};
use serde_json::{Value, json};
use signoff_core::text::clean;
use signoff_core::tool::Effects;
use signoff_core::{ToolSpec, schema};
use signoff_tools::ToolError;
use tokio::time::timeout;

use crate::name;
use crate::session::Session;

/// The most tools of one server.
const MAX_TOOLS: usize = 500;
/// The most pages they may come in.
const MAX_PAGES: usize = 100;
/// The longest description, in bytes.
const MAX_DESCRIPTION: usize = 4 * 1024;
/// The longest name a server may have for a tool, in bytes.
const MAX_REMOTE_NAME: usize = 256;
/// How long a page may take.
const PAGE_WITHIN: Duration = Duration::from_secs(30);

/// A tool of a server.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// What the server calls it.
    pub(crate) remote: String,
    pub(crate) spec: ToolSpec,
}

/// What is known of a server besides what it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing<'a> {
    pub(crate) server: &'a str,
    pub(crate) trusted: bool,
    pub(crate) network: bool,
}

/// Asks for the list, page by page, and says how long it is good for.
pub(crate) async fn fetch(session: &Session) -> Result<(Vec<Tool>, Option<u64>), ToolError> {
    let mut tools = Vec::new();
    let mut cursor: Option<String> = None;
    let mut good_for: Option<u64> = None;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let page = match timeout(PAGE_WITHIN, session.peer().list_tools(Some(params))).await {
            Ok(page) => page.map_err(problem)?,
            Err(_) => {
                return Err(ToolError::new("mcp_protocol", "the server does not list its tools"));
            }
        };
        tools.extend(page.tools);
        good_for = match (good_for, page.ttl_ms) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        if page.next_cursor.is_none() || page.next_cursor == cursor || tools.len() >= MAX_TOOLS {
            break;
        }
        cursor = page.next_cursor;
    }
    tools.truncate(MAX_TOOLS);
    Ok((tools, good_for))
}

fn problem(error: ServiceError) -> ToolError {
    match error {
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
            ToolError::new("mcp_disconnected", "the server went away")
        }
        ServiceError::McpError(error) => ToolError::new("mcp_protocol", clean(&error.message, 300)),
        _ => ToolError::new("mcp_protocol", "the server's list of tools cannot be read"),
    }
}

/// The tools as agents see them. What has no usable name is left out.
pub(crate) fn usable(tools: &[Tool], standing: Standing<'_>) -> Vec<Listed> {
    let mut seen = BTreeSet::new();
    let tools: Vec<&Tool> = tools
        .iter()
        .filter(|tool| !tool.name.is_empty() && tool.name.len() <= MAX_REMOTE_NAME)
        .filter(|tool| seen.insert(tool.name.clone()))
        .collect();
    let remote: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let names = name::names(standing.server, &remote);
    let mut taken = BTreeSet::new();
    tools
        .into_iter()
        .zip(names)
        .filter(|(_, name)| taken.insert(name.clone()))
        .map(|(tool, name)| {
            let said = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
            let spec = ToolSpec {
                name: name.into(),
                description: clean(said, MAX_DESCRIPTION),
                parameters: parameters(tool),
                effects: effects(tool.annotations.as_ref(), standing),
            };
            Listed { remote: tool.name.to_string(), spec }
        })
        .collect()
}

/// The schema of the arguments; that of any object, where the server's own cannot be used.
fn parameters(tool: &Tool) -> Value {
    let mut given = Value::Object((*tool.input_schema).clone());
    if let Value::Object(fields) = &mut given {
        // Whatever dialect it names, it is read as 2020-12.
        fields.remove("$schema");
        fields.entry("type").or_insert_with(|| "object".into());
    }
    let fits = given["type"] == "object" && schema::compile(&given).is_ok();
    if fits { given } else { json!({ "type": "object" }) }
}

/// What a tool does. A server that is not trusted is not believed that anything is harmless.
fn effects(hints: Option<&ToolAnnotations>, standing: Standing<'_>) -> Effects {
    let worst = Effects {
        destructive: true,
        open_world: true,
        network: standing.network,
        ..Effects::default()
    };
    if !standing.trusted {
        return worst;
    }
    let Some(hints) = hints else {
        return worst;
    };
    let read_only = hints.read_only_hint.unwrap_or(false);
    Effects {
        read_only,
        idempotent: hints.idempotent_hint.unwrap_or(false),
        destructive: !read_only && hints.destructive_hint.unwrap_or(true),
        open_world: hints.open_world_hint.unwrap_or(true),
        ..worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUSTED: Standing<'static> = Standing { server: "s", trusted: true, network: false };

    fn tool(value: Value) -> Tool {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn hints_count_only_where_they_are_trusted() {
        let hints = ToolAnnotations::new().read_only(true).open_world(false);
        let trusted = effects(Some(&hints), TRUSTED);
        assert!(trusted.read_only && trusted.repeatable() && !trusted.destructive);
        let doubted = effects(Some(&hints), Standing { trusted: false, network: true, ..TRUSTED });
        assert!(
            !doubted.repeatable() && doubted.destructive && doubted.open_world && doubted.network
        );
        assert!(effects(None, TRUSTED).destructive);
    }

    #[test]
    fn what_a_server_lists_is_cleaned() {
        let tools = [
            tool(json!({ "name": "a.b", "description": "x\u{1b}[31m", "inputSchema": {} })),
            tool(json!({ "name": "a.b", "inputSchema": {} })),
            tool(json!({ "name": "", "inputSchema": {} })),
            tool(json!({ "name": "bad", "inputSchema": { "type": "object", "required": 3 } })),
            tool(
                json!({ "name": "big", "inputSchema": { "type": "object", "title": "x".repeat(99_999) } }),
            ),
            tool(json!({ "name": "old", "inputSchema": {
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                "properties": { "n": { "type": "number" } }, "required": ["n"],
            } })),
        ];
        let found = usable(&tools, TRUSTED);
        let names: Vec<&str> = found.iter().map(|it| &*it.spec.name).collect();
        assert_eq!(names, ["s_a_b", "s_bad", "s_big", "s_old"]);
        assert_eq!(found[0].spec.description, "x[31m");
        assert_eq!(found[1].spec.parameters, json!({ "type": "object" }));
        assert_eq!(found[2].spec.parameters, json!({ "type": "object" }));
        assert_eq!(found[3].spec.parameters["required"], json!(["n"]));
    }
}
