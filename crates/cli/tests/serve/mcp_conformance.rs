//! The conformance suite of the protocol against the real server.
//!
//! Most of its scenarios call tools, prompts and resources that only a server made for it has (`test_simple_text` and
//! the like). Those are left out: a server that has them for the suite's sake says nothing of the one that people run. What
//! is run is what holds for any server; what they would look at in tools is tested with the libraries (`mcp.rs`).

use signoff_testkit::Process;

use crate::mcp_support::{installed, node};
use crate::support::Place;

/// Scenarios that need nothing but a server, with the version they are run for.
const SCENARIOS: [(&str, &str); 13] = [
    ("server-initialize", "2025-11-25"),
    ("server-session-lifecycle", "2025-11-25"),
    ("server-sse-multiple-streams", "2025-11-25"),
    ("ping", "2025-11-25"),
    ("tools-list", "2025-11-25"),
    ("resources-list", "2025-11-25"),
    ("dns-rebinding-protection", "2025-11-25"),
    ("tools-list", "2026-07-28"),
    ("dns-rebinding-protection", "2026-07-28"),
    ("sep-2164-resource-not-found", "2026-07-28"),
    ("http-header-validation", "2026-07-28"),
    ("caching", "2026-07-28"),
    ("input-required-result-unsupported-methods", "2026-07-28"),
];

#[test]
fn what_holds_for_any_server_holds() {
    let place = Place::new();
    let server = place.serve();
    let folder = installed();
    for (scenario, version) in SCENARIOS {
        let mut command = node(&folder);
        let program = folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
        command.arg(program).args(["server", "--url", &format!("{}/mcp", server.url)]);
        command
            .args(["--scenario", scenario, "--spec-version", version])
            .current_dir(place.path(""));
        let ended = Process::start(&mut command).wait();
        let said = ended.stdout.join("\n");
        assert_eq!(ended.code, Some(0), "{scenario} {version}:\n{said}\n{}", ended.stderr);
        assert!(said.contains("Passed: ") && said.contains(" 0 failed"), "{scenario}:\n{said}");
    }
}
