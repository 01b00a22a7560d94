//! The page of `DevUI`, as it comes from its registry, in a real browser; and what it asks of the server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reqwest::Method;
use serde_json::{Value, json};
use signoff_testkit::peers::{cache, install};
use signoff_testkit::process::Process;

use crate::support::{PARTY, Place, Server};

const PAGE: &str = "agent-framework-devui==1.0.0b261022";
const BROWSER: &str = "playwright-core@1.65.0";

/// The folder with the page.
fn page() -> PathBuf {
    let folder = cache("devui");
    let ui = folder.join("page/agent_framework_devui/ui");
    let wanted = ["python3", "-m", "pip", "install", "-q", "--no-deps", "--target", "page", PAGE];
    install(&folder, &ui, &wanted);
    ui
}

/// The folder with what drives a browser.
fn browser() -> PathBuf {
    let folder = cache("browser");
    let done = folder.join("node_modules/playwright-core");
    install(&folder, &done, &["npm", "install", "--no-audit", "--no-fund", BROWSER]);
    folder
}

fn place() -> Place {
    let place = Place::new();
    let relay = "workflow: relay\npattern: sequential\nsequential: { agents: [a, b] }\nsamples: [go]\n\
                 agents:\n  a: { instructions: Say. }\n  b: { instructions: Wait. }\n";
    std::fs::write(place.path("flows/relay.yaml"), relay).unwrap();
    let script = "rules:\n  - { agent: a, text: first word }\n  - { agent: b, text: last word, delay: 4s }\n";
    std::fs::write(place.path("flows/relay.script.yaml"), script).unwrap();
    place
}

fn serve(place: &Place) -> Server {
    place.serve_with(&["--devui", page().to_str().unwrap()])
}

fn drive(server: &Server, scene: &str) -> Process {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/devui/drive.mjs");
    Process::start(Command::new("node").arg(script).arg(browser()).arg(&server.url).arg(scene))
}

/// A scene that needs nothing from outside.
#[track_caller]
fn plays(scene: &str) {
    let server = serve(&place());
    let _ = drive(&server, scene).wait().exits(0);
}

#[test]
fn the_page_shows_workflows_and_their_graphs() {
    plays("graph");
}
