//! The examples of `docs/examples`, as they stand there.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use signoff_core::Decision;
use signoff_mcp::{McpServerConfig, McpSource};
use signoff_testkit::peers::{copied, example, install, python};

use crate::durable::{decide, engine, output, pending, start};

fn read(name: &str, file: &str) -> String {
    std::fs::read_to_string(example(name).join(file)).unwrap()
}

/// The one server of an example's `signoff.toml`.
fn server(folder: &Path, name: &str) -> (String, McpServerConfig) {
    let text = read(name, "signoff.toml");
    let mut file: toml::Table = text.parse().unwrap();
    let servers = file.remove("mcp").unwrap();
    let (server, config) = servers.as_table().unwrap().iter().next().unwrap();
    let mut config: McpServerConfig = config.clone().try_into().unwrap();
    // The test's own Python is where its packages are.
    if let Some(program) = config.command.as_mut().and_then(|command| command.first_mut())
        && program == "python3"
    {
        *program = folder.join("venv/bin/python").display().to_string();
    }
    (server.clone(), config)
}

#[tokio::test(flavor = "multi_thread")]
async fn python_functions_are_tools() {
    let folder = copied("mcp-python");
    python(&folder, "mcp");
    let (name, config) = server(&folder, "mcp-python");
    let make = || McpSource::new(&name, &config, &folder).unwrap();
    let (workflow, script) =
        (read("mcp-python", "workflow.yaml"), read("mcp-python", "script.yaml"));

    let runs = tempfile::tempdir().unwrap();
    let first = engine(runs.path(), make(), &workflow, &script);
    let run = start(&first, "shipping").await;
    let asked = pending(&first, &run).body.prompt;
    assert_eq!(asked, "Where and when shall the red box be picked up?");
    drop(first);
    let second = engine(runs.path(), make(), &workflow, &script);
    let answer = Decision::respond(json!({ "address": "Mill Lane 3", "day": "Monday" }));
    decide(&second, &run, answer).await;
    assert_eq!(
        output(&second, &run),
        "the red box is picked up at Mill Lane 3 on Monday. It costs 15.8 euros."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_functions_are_tools() {
    let folder = copied("mcp-typescript");
    let done = folder.join("node_modules/.bin/tsx");
    install(&folder, &done, &["npm", "install", "--no-audit", "--no-fund"]);
    let (name, config) = server(&folder, "mcp-typescript");
    let make = || McpSource::new(&name, &config, &folder).unwrap();
    let workflow = read("mcp-typescript", "workflow.yaml");
    let script = read("mcp-typescript", "script.yaml");

    let runs = tempfile::tempdir().unwrap();
    let first = engine(runs.path(), make(), &workflow, &script);
    let run = start(&first, "warehouse").await;
    assert_eq!(pending(&first, &run).body.prompt, "Order 500 nuts?");
    drop(first);
    let second = engine(runs.path(), make(), &workflow, &script);
    decide(&second, &run, Decision::approve()).await;
    assert_eq!(output(&second, &run), "There were 80 nuts; 500 nuts ordered.");
}

#[test]
fn the_examples_say_what_they_need() {
    let node = Command::new("node").arg("--version").output();
    assert!(node.is_ok(), "`node` is needed for these tests and cannot be run");
}
