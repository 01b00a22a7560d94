//! Everything that people do with a request, from a terminal, over the real server.

use std::time::Duration;

use serde_json::json;

use crate::support::{Place, Screen, Server};

const HELP: &str =
    "I need help with order 12345. I want a replacement and need to know when it will arrive.";

fn open(place: &Place, server: &Server, args: &[&str]) -> Screen {
    let args = [&args[..1], &["--server", &server.url], &args[1..]].concat();
    place.open(&args, &[], (110, 40))
}

/// Long enough that a key is not taken for one that was on its way.
async fn moment() {
    tokio::time::sleep(Duration::from_millis(400)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_looked_after_put_off_and_comes_back() {
    let place = Place::new();
    let server = place.serve();
    server.start("support_handoff", HELP).await;
    let request = server.pending(1).await.remove(0);
    let path = format!("/v1/requests/{}", request["id"].as_str().unwrap());
    let mut screen = open(&place, &server, &["inbox"]);
    // What was said before it was asked is there.
    screen.shows("said before:");
    let shown = screen.shows("I pass you to our replacement specialist");
    assert!(shown.contains("local: I need help with order 12345"), "{shown}");
    moment().await;
    screen.keys("tada");
    screen.shows("give to: ada");
    screen.keys("\r");
    screen.shows("@ada");
    screen.keys("xphone first");
    screen.shows("comment: phone first");
    screen.keys("\r");
    screen.shows("local commented: phone first");
    screen.keys("zsoon\r");
    screen.shows("! how long?");
    screen.keys("\u{15}3s at lunch");
    screen.shows("put off for: 3s at lunch");
    screen.keys("\r");
    screen.shows("Nothing waits for a person.");
    let found = server.get(&path).await;
    assert_eq!((&found["status"], &found["assignee"]), (&json!("pending"), &json!("ada")));
    let notes = found["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["what"] == "deferred"), "{notes:?}");
    // It comes back by itself.
    screen.shows("1 waiting");
    screen.shows("@ada");
    // The same from the chat that it belongs to.
    let conversation = request["conversation"].as_str().unwrap();
    let mut chat = open(&place, &server, &["chat", "--conversation", conversation]);
    chat.shows("The workflow asks you");
    chat.shows("looked after by ada");
    chat.keys("\u{1b}");
    chat.shows("put away, undecided");
    chat.say("/reassign");
    chat.shows("nobody looks after it now");
    chat.say("/claim");
    chat.shows("claimed");
    screen.shows("@local");
    chat.say("/defer 1h");
    chat.shows("put off for 1h");
    screen.shows("0 waiting");
    // Put off or not, it can be decided.
    chat.say("/answer The box was crushed.");
    chat.shows("Where should");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_shown_as_it_is_and_remembered() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("workspace")).unwrap();
    std::fs::write(place.path("signoff.toml"), "[tools.files]\nroot = \"workspace\"\n").unwrap();
    let flow = "workflow: clerk\npattern: sequential\nsequential: { agents: [clerk] }\nagents:\n  \
                clerk: { instructions: Work., tools: [write_file] }\ngates:\n  - { name: before_file_edit }\n";
    std::fs::write(place.path("flows/clerk.yaml"), flow).unwrap();
    let script = "- { turn: 1, call: [{ tool: write_file, arguments: { path: a.txt, content: hello } }] }\n- { turn: 2, text: done }\n";
    std::fs::write(place.path("flows/clerk.script.yaml"), script).unwrap();
    let server = place.serve();
    let mut chat = open(&place, &server, &["chat", "clerk"]);
    chat.shows("You talk to clerk");
    chat.say("go");
    let shown = chat.shows("[ Change and approve ]");
    // What it would do as a diff, its arguments as fields, why it is asked, how much can go wrong.
    for part in ["+hello", "content", "because: before_file_edit", "risk: high"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("Remember it  only this once"), "{shown}");
    moment().await;
    // From the buttons up to what goes with them, then back.
    chat.keys("a");
    chat.shows("[▸Approve◂]");
    chat.keys("\u{1b}[Z\u{1b}[Z");
    chat.shows("◂ only this once ▸");
    chat.keys("\u{1b}[C");
    chat.shows("◂ for this run ▸");
    chat.keys("\r");
    chat.shows("you approved");
    chat.shows("done; nothing waits");
    assert_eq!(std::fs::read_to_string(place.path("workspace/a.txt")).unwrap(), "hello");
    let grants = server.get("/v1/grants").await;
    assert_eq!(grants["data"][0]["reach"], "run", "{grants}");
}

/// One of two terminals is first; the HTTP client and the other terminal are told.
#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_is_first_wins_as_well() {
    let place = Place::new();
    let server = place.serve();
    server.start("ask", "one").await;
    let request = server.pending(1).await.remove(0);
    let conversation = request["conversation"].as_str().unwrap();
    let mut one = open(&place, &server, &["inbox"]);
    let two = open(&place, &server, &["chat", "--conversation", conversation]);
    one.shows("May I go on?");
    two.shows("The workflow asks you");
    moment().await;
    one.keys("a");
    one.shows("0 waiting");
    two.shows("you approved");
    two.hides("The workflow asks you");
    let path = format!("/v1/requests/{}/decision", request["id"].as_str().unwrap());
    let (status, refused) = server.post(&path, &json!({ "decision": "reject" })).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("already_decided")), "{refused}");
}

/// What scripts print: one object a line, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn scripts_read_and_write_json() {
    let place = Place::new();
    let server = place.serve();
    server.start("ask", "one").await;
    server.pending(1).await;
    let signoff = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_signoff"));
        command.arg("inbox").args(args).args(["--json", "--server", &server.url]);
        let output = command.current_dir(place.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|_| json!(text))
    };
    assert_eq!(signoff(&["list"])["status"], "pending");
    assert_eq!(signoff(&["show", "_1"])["prompt"], "May I go on?");
    assert!(signoff(&["defer", "_1", "1h", "--note", "later"])["deferred_until"].is_string());
    assert_eq!(signoff(&["list"]), json!(""));
    let request = signoff(&["list", "--deferred"])["id"].as_str().unwrap().to_owned();
    let decided = signoff(&["answer", &request, "no, too early"]);
    assert_eq!(decided["decision"]["reason"], "too early");
}
