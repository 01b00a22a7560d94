//! `signoff chat`.

use crate::support::{Place, Screen, Server};

const HELP: &str =
    "I need help with order 12345. I want a replacement and need to know when it will arrive.";

fn chat(place: &Place, server: &Server, more: &[&str], size: (u16, u16)) -> Screen {
    let args = [&["chat", "--server", &server.url], more].concat();
    place.open(&args, &[], size)
}

/// Start, question, answer, the server dies, comes back, answer, end.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_over_a_server_that_is_killed() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    let mut screen = chat(&place, &server, &["support_handoff"], (100, 40));
    screen.shows("for example: I need help");
    screen.say(HELP);
    // The question comes up with who asks, what, and what was said before it.
    let shown = screen.shows("The workflow asks you");
    assert!(shown.contains("Replacement specialist"), "{shown}");
    assert!(shown.contains("Please send me a photo of the damage"), "{shown}");
    assert!(shown.contains("hands over to Replacement specialist"), "{shown}");
    screen.shows("awaiting an answer");
    screen.keys("The box was crushed.");
    screen.shows("┃ The box was crushed.");
    screen.shows("Enter answers");
    screen.keys("\r");
    screen.shows("Question from Delivery specialist");
    server.kill();
    screen.shows("no server");
    // Typing goes on while nobody is there.
    screen.keys("12 Main St");
    screen.shows("12 Main St");
    let server = place.serve_at(&address);
    screen.hides("no server");
    screen.keys("reet\r");
    screen.shows("It arrives within three");
    let shown = screen.shows("done; nothing waits");
    assert!(!shown.contains("The workflow asks you"), "{shown}");
    // The conversation is clean: what was said, and no data.
    assert!(shown.contains("the conversation has 8 messages"), "{shown}");
    assert!(!shown.contains("\"role\""), "{shown}");
    assert_eq!(server.pending(0).await.len(), 0);
    let runs = server.get("/v1/runs").await;
    assert_eq!(runs["data"][0]["status"], "completed");
    screen.say("/status");
    screen.shows("state: idle");
    screen.shows("questions here: 0");
    screen.say("/quit");
    let (code, _) = screen.ends();
    assert_eq!(code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_is_never_an_answer_and_esc_decides_nothing() {
    let place = Place::new();
    let server = place.serve();
    let mut screen = chat(&place, &server, &["ask"], (100, 36));
    screen.shows("You talk to ask");
    screen.say("go");
    screen.shows("May I go on?");
    // Nothing is chosen at first: Enter says so, and decides nothing.
    screen.shows("Enter answers");
    screen.keys("\r");
    screen.shows("choose with");
    screen.keys("\u{1b}");
    screen.shows("put away, undecided");
    screen.hides("The workflow asks you");
    screen.say("yes");
    screen.shows("what you typed stays here");
    assert_eq!(server.pending(1).await[0]["status"], "pending");
    // Tab goes to the question; what was typed stays where it was.
    screen.keys("\t");
    screen.shows("The workflow asks you");
    screen.keys("a");
    screen.shows("[▸Approve◂]");
    screen.keys("\r");
    screen.shows("you approved");
    assert!(screen.shows("done; nothing waits").contains("> yes"));
    assert_eq!(server.pending(0).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_leaves_the_terminal_clean_and_the_run_alive() {
    let place = Place::new();
    let server = place.serve();
    let mut screen = chat(&place, &server, &["support_handoff"], (100, 30));
    screen.shows("for example");
    screen.say(HELP);
    screen.shows("The workflow asks you");
    let request = server.pending(1).await.remove(0);
    screen.keys("half an ans\u{3}");
    let terminal = screen.terminal();
    let (code, written) = screen.ends();
    assert_eq!(code, 0);
    for mode in ["\u{1b}[?1049l", "\u{1b}[?2004l", "\u{1b}[?1004l", "\u{1b}[?25h"] {
        assert!(written.contains(mode), "{mode:?} is missing");
    }
    assert!(written.contains("go on with: signoff chat --conversation"), "{written}");
    let stty = std::process::Command::new("stty").args(["-F", &terminal, "-a"]).output();
    if let Ok(stty) = stty.filter_ok() {
        assert!(stty.contains(" icanon") && stty.contains(" echo "), "{stty}");
    }
    let again = server.get(&format!("/v1/requests/{}", request["id"].as_str().unwrap())).await;
    assert_eq!((&again["status"], &again["version"]), (&"pending".into(), &1.into()));
    // And it is picked up again, with all that was said.
    let mut screen = chat(&place, &server, &["--resume"], (100, 36));
    let shown = screen.shows("The workflow asks you");
    assert!(shown.contains("I need help with order 12345"), "{shown}");
    screen.keys("It is broken");
    screen.shows("Enter answers");
    screen.keys("\r");
    screen.shows("Where should");
}

trait FilterOk {
    fn filter_ok(self) -> Result<String, ()>;
}

impl FilterOk for std::io::Result<std::process::Output> {
    /// What it printed, where the program is there and the terminal still is.
    fn filter_ok(self) -> Result<String, ()> {
        let output = self.map_err(|_| ())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(())
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_characters_are_pasted_and_sent_as_one() {
    let place = Place::new();
    let server = place.serve();
    let mut screen = chat(&place, &server, &["ask"], (80, 24));
    screen.shows("You talk to ask");
    // Commands, keys and line ends in it do nothing.
    let text = format!("/quit\nq{}\ny\nthe end", "0123456789".repeat(1_000));
    screen.paste(&text);
    screen.shows("the end");
    assert_eq!(server.get("/v1/runs").await["data"].as_array().unwrap().len(), 0);
    screen.keys("\r");
    screen.shows("May I go on?");
    let runs = server.get("/v1/runs").await;
    assert_eq!(runs["data"][0]["input"], text);
    // Nor does what is pasted on a question press its buttons.
    screen.paste("a\r\r\n");
    screen.keys("\u{1b}");
    screen.shows("put away, undecided");
    assert_eq!(server.pending(1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_may_change_its_size() {
    let place = Place::new();
    let server = place.serve();
    let mut screen = chat(&place, &server, &["event_planner"], (140, 50));
    screen.shows("for example");
    screen.say(crate::support::PARTY);
    screen.shows("( ) 2  The Glasshouse");
    for (columns, lines) in [(60, 24), (20, 5), (200, 60), (60, 30)] {
        screen.resize(columns, lines);
    }
    screen.until("the question in 60 columns", |shown| {
        shown.contains("2  The Glasshouse") && shown.lines().all(|line| line.chars().count() <= 60)
    });
    screen.keys("2");
    screen.shows("(•) 2  The Glasshouse");
    screen.shows("Enter answers");
    screen.keys("\r");
    screen.shows("answered: The Glasshouse");
    // The next is an approval with fields that can be changed.
    screen.shows("Change and approve");
    screen.keys("e");
    screen.shows("▸ ");
    screen.keys("\u{1b}");
    screen.shows("put away");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_server_one_is_started_and_a_running_one_is_found() {
    let place = Place::new();
    let mut screen = place.open(&["chat", "ask"], &[], (90, 30));
    screen.shows("You talk to ask");
    screen.say("go");
    screen.shows("May I go on?");
    screen.keys("\u{3}");
    let (code, written) = screen.ends();
    assert_eq!(code, 0, "{written}");
    assert!(written.contains("1 question waits in the inbox"), "{written}");
    let server = place.serve();
    let mut screen = place.open(&["chat", "ask"], &[], (90, 30));
    screen.shows("You talk to ask");
    screen.say("go again");
    screen.shows("May I go on?");
    let metrics = crate::support::client()
        .get(format!("{}/metrics", server.url))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(metrics.contains("signoff_runs_started_total 1"), "{metrics}");
    assert_eq!(server.pending(2).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_take_arguments_and_are_completed() {
    let place = Place::new();
    let server = place.serve();
    let mut screen = chat(&place, &server, &[], (100, 36));
    // Without a workflow there is a list.
    screen.shows("Which workflow?");
    screen.keys("\u{1b}");
    screen.hides("Which workflow?");
    screen.keys("/work");
    screen.shows("/workflows");
    screen.keys("\t");
    screen.shows("/workflows support_handoff");
    screen.keys("ask\r");
    screen.shows("You talk to ask");
    screen.say("/events on");
    screen.shows("events is on");
    screen.say("/theme light");
    screen.shows("theme is light");
    screen.say("go");
    screen.shows("May I go on?");
    screen.shows("┆ delivered");
    screen.shows("The workflow asks you");
    screen.keys("\u{1b}");
    screen.shows("put away, undecided");
    screen.say("/answer no, too early");
    screen.shows("you rejected: too early");
    screen.shows("idle");
    screen.say("/export talk.md");
    screen.shows("written to talk.md");
    let exported = std::fs::read_to_string(place.path("talk.md")).unwrap();
    assert!(exported.contains("rejected: too early"), "{exported}");
    screen.say("/nonsense");
    screen.shows("there is no command `/nonsense`");
    let settings = std::fs::read_to_string(place.path(".config/signoff/terminal.toml")).unwrap();
    assert_eq!(settings, "events = \"on\"\ntheme = \"light\"\n");
    screen.say("/inbox");
    screen.shows("Nothing waits for a person.");
    screen.keys("q");
    screen.shows("you rejected: too early");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_written_in_an_editor() {
    let place = Place::new();
    let server = place.serve();
    std::fs::write(place.path("editor.sh"), "#!/bin/sh\nprintf 'from the editor' > \"$1\"\n")
        .unwrap();
    let editor = format!("sh {}", place.path("editor.sh").display());
    let args = ["chat", "--server", &server.url, "ask"];
    let mut screen = place.open(&args, &[("EDITOR", &editor)], (80, 24));
    screen.shows("You talk to ask");
    screen.keys("\u{7}");
    screen.shows("> from the editor");
    screen.keys("\r");
    screen.shows("May I go on?");
}
