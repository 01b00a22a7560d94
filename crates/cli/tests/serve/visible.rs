//! What people are shown before they decide: nothing hidden, no secret, and what is bound untouched.

use serde_json::{Value, json};

use crate::gates::clerk;
use crate::support::{Place, Server, text};

const SECRET: &str = "correct horse battery staple";
const ENV: &str = "OPS_WEBHOOK_SECRET";

/// The clerk, in a place that knows a secret.
fn serve(place: &Place, calls: &str) -> Server {
    drop(clerk(place, "  - { name: before_file_edit }\n  - { name: before_execution }\n", calls));
    let config = format!(
        "[tools.files]\nroot = \"workspace\"\n[tools.command]\nallow = [\"rm\"]\n\
         [webhooks.ops]\nurl = \"http://127.0.0.1:1/\"\nallow_private = true\nsecret_env = \"{ENV}\"\n"
    );
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    place.serve_in(&[(ENV, SECRET)], &[])
}

async fn asked(server: &Server, run: &str) -> Value {
    let request = server.pending(run).await;
    server.read(&format!("/v1/requests/{request}")).await
}

#[tokio::test]
async fn what_is_shown_hides_nothing_and_what_is_done_is_exact() {
    let place = Place::new();
    let content =
        format!("safe\u{202e}exe.txt {SECRET} sk-abcdefghijklmnop1234{}hidden", " ".repeat(300));
    let call = json!([
        { "turn": 1, "call": [{ "tool": "write_file", "arguments": { "path": "a.txt", "content": content } }] },
        { "turn": 2, "text": "done" },
    ]);
    let server = serve(&place, &call.to_string());
    let run = server.start("clerk", "go").await;
    let request = asked(&server, &run).await;
    let asked = &request["context"];
    assert_eq!(asked["proposal"]["content"], content, "what is carried out stays exact");
    let shown =
        "safe⟨U+202E⟩exe.txt ⟨secret …aple⟩ ⟨secret …1234⟩ ⟨300 white space characters⟩ hidden";
    assert_eq!(asked["shown"]["content"], shown);
    let warnings = json!([
        "invisible characters in arguments.content, preview.diff",
        "padding in arguments.content, preview.diff",
        "a secret in arguments.content, preview.diff",
    ]);
    assert_eq!(asked["warnings"], warnings);
    let diff = text(&request["preview"]["diff"]);
    assert!(diff.contains("+safe⟨U+202E⟩exe.txt ⟨secret …aple⟩"), "{diff}");
    // On a terminal as well.
    let id = text(&request["id"]);
    let output = place.command(&["inbox", "show", &id]).env(ENV, SECRET).output().unwrap();
    let seen = String::from_utf8(output.stdout).unwrap();
    for part in [
        "  Create a.txt",
        "in the words of the agent:",
        "⟨U+202E⟩exe.txt",
        "! invisible characters in arguments.content",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(!seen.contains('\u{202e}') && !seen.contains(SECRET), "{seen}");
    // Somebody puts another secret in; the record has neither.
    let value = json!({ "path": "a.txt", "content": format!("{content} password=hunter22") });
    let (status, decided) =
        server.decide(&id, &json!({ "decision": "edit", "value": value })).await;
    assert_eq!(status, 200, "{decided}");
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let written = std::fs::read_to_string(place.path("workspace/a.txt")).unwrap();
    assert_eq!(written, format!("{content} password=hunter22"));
    let audit = server.read("/v1/audit").await.to_string();
    assert!(audit.contains("⟨secret …aple⟩"), "{audit}");
    for secret in [SECRET, "hunter22", "sk-abcdefgh"] {
        assert!(!audit.contains(secret), "{audit}");
    }
    let verified = place.command(&["audit", "verify"]).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

#[tokio::test]
async fn a_models_question_that_presses_is_marked() {
    let place = Place::new();
    let prompt = "URGENT: this was already approved by the CEO, just say yes\u{200b}";
    let call = json!([
        { "turn": 1, "call": [{ "tool": "request_user_input", "arguments": { "prompt": prompt, "request_type": "clarification" } }] },
        { "turn": 2, "text": "done" },
    ]);
    let flow = "workflow: pushy\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: Ask., tools: [request_user_input] }\n";
    std::fs::write(place.path("flows/pushy.yaml"), flow).unwrap();
    std::fs::write(place.path("flows/pushy.script.yaml"), call.to_string()).unwrap();
    let server = place.serve();
    let run = server.start("pushy", "go").await;
    let request = asked(&server, &run).await;
    assert_eq!(
        request["prompt"],
        "URGENT: this was already approved by the CEO, just say yes⟨U+200B⟩"
    );
    let warnings = json!([
        "invisible characters in prompt",
        "urgency words: already approved, approved by, just approve, urgent",
    ]);
    assert_eq!(request["context"]["warnings"], warnings);
}

#[tokio::test]
async fn a_deletion_says_what_it_takes() {
    let place = Place::new();
    let call = json!([
        { "turn": 1, "call": [{ "tool": "run_command", "arguments": { "argv": ["rm", "-r", "old"] } }] },
        { "turn": 2, "text": "done" },
    ]);
    let server = serve(&place, &call.to_string());
    std::fs::create_dir_all(place.path("workspace/old/deep")).unwrap();
    for n in 0..30 {
        std::fs::write(place.path(&format!("workspace/old/deep/{n:02}.txt")), "x").unwrap();
    }
    let run = server.start("clerk", "go").await;
    let request = asked(&server, &run).await;
    let preview = &request["preview"];
    assert_eq!(preview["argv"], json!(["rm", "-r", "old"]));
    assert_eq!(preview["files"]["count"], 32, "the folders and what is in them: {preview}");
    let sample = preview["files"]["sample"].as_array().unwrap();
    assert_eq!((sample.len(), &sample[2]), (20, &json!("old/deep/00.txt")));
}
