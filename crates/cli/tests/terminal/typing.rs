//! What is typed while something goes on, and what comes back of it.

use std::time::{Duration, Instant};

use crate::support::{Place, Screen, cpu};

/// A workflow whose agent says this, a few characters at a time.
fn talker(place: &Place, script: &str) {
    let flow = "workflow: talk\npattern: sequential\nsequential: { agents: [talker] }\nagents:\n  talker: { instructions: Talk. }\n";
    std::fs::write(place.path("flows/talk.yaml"), flow).unwrap();
    std::fs::write(place.path("flows/talk.script.yaml"), script).unwrap();
}

/// A screen of text that takes about 12 seconds.
fn slow(place: &Place) {
    let lines: Vec<String> = (0..60).map(|n| format!("line{n:02}")).collect();
    talker(place, &format!("- {{ text: \"{}\", chunk: 8, pace: 200ms }}\n", lines.join("\\n\\n")));
}

fn beginning(screen: &Screen) -> Vec<String> {
    screen.text().lines().take(8).map(|line| line.trim_end().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn typing_and_reading_go_on_while_text_streams() {
    let place = Place::new();
    slow(&place);
    let server = place.serve();
    let mut screen = place.open(&["chat", "--server", &server.url, "talk"], &[], (80, 20));
    screen.shows("You talk to talk");
    screen.say("go");
    screen.shows("line20");
    // How long it takes is seen, and moves.
    screen.until("the time", |shown| shown.contains("running: talker · "));
    // What is typed now is there, over several lines.
    screen.keys("first\u{1b}\rsecond");
    screen.shows("> first");
    screen.shows("  second");
    // Scrolled back, nothing moves while more comes.
    screen.keys("\u{1b}[5~");
    screen.shows("↓ more below");
    let before = beginning(&screen);
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(2) {
        assert_eq!(beginning(&screen), before);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    screen.keys("\u{1b}");
    screen.hides("↓ more below");
    screen.shows("done; nothing waits");
    // Nothing of what was typed is lost: it is sent now, as one.
    screen.keys("\r");
    screen.until("what was said", |shown| shown.contains("  first\n  second"));
    let runs = server.get("/v1/runs").await;
    assert_eq!(runs["data"][0]["input"], "first\nsecond");
    screen.say("/cancel");
    screen.shows("idle");
    // And comes back with the arrow.
    screen.keys("\u{1b}[A\u{1b}[A");
    screen.shows("> first");
}

/// A conversation of several runs is picked up again with what each of them gave.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_comes_back_with_all_its_runs() {
    let place = Place::new();
    let flow = "workflow: add\npattern: graph\nstart: add\ninput: { type: string }\nexecutors:\n  add: { transform: \"'given: ' + input\" }\n";
    std::fs::write(place.path("flows/add.yaml"), flow).unwrap();
    let server = place.serve();
    let mut screen = place.open(&["chat", "--server", &server.url, "add"], &[], (90, 30));
    screen.shows("You talk to add");
    for text in ["one", "two"] {
        screen.say(text);
        screen.shows(&format!("given: {text}"));
        screen.shows("idle");
    }
    screen.say("/quit");
    assert_eq!(screen.ends().0, 0);
    let screen = place.open(&["chat", "--server", &server.url, "--resume"], &[], (90, 30));
    let shown = screen.until("both results", |shown| {
        shown.contains("given: one") && shown.contains("given: two")
    });
    let at = |text: &str| shown.find(text).unwrap();
    assert!(
        at("given: one") < at("given: two") && at("> you\n  one") < at("given: one"),
        "{shown}"
    );
    assert!(
        at("given: one") < at("> you\n  two"),
        "what a run gave stands before the next: {shown}"
    );
}

/// When nobody looks at the window, a question rings; and a chat that waits uses next to nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_calls_when_nobody_looks_and_rests() {
    let place = Place::new();
    let server = place.serve();
    let mut screen =
        place.open(&["chat", "--server", &server.url, "ask"], &[("NO_COLOR", "1")], (80, 24));
    screen.shows("You talk to ask");
    screen.keys("\u{1b}[O");
    screen.say("go");
    screen.shows("May I go on?");
    screen.writes("\u{1b}]9;May I go on?\u{7}\u{7}");
    let written = screen.writes("\u{1b}]0;(!) signoff chat");
    // Without colours there is none, not even one that is set back.
    for colour in 30..38 {
        assert!(!written.contains(&format!("\u{1b}[{colour}m")), "colour {colour}");
        assert!(!written.contains(&format!("\u{1b}[38;5;{}m", colour - 30)), "colour {colour}");
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = cpu(screen.pid());
    tokio::time::sleep(Duration::from_secs(4)).await;
    let used = cpu(screen.pid()).saturating_sub(before);
    assert!(used < Duration::from_millis(200), "{used:?} of 4 s while idle");
}

/// What is kept between two starts has no secret in it, and the environment comes before it.
#[test]
fn settings_are_kept_and_the_environment_comes_first() {
    let place = Place::new();
    let server = place.serve();
    let token = format!("http://me:sgn_secret_token@{}", server.address());
    let mut screen = place.open(&["chat", "--server", &token, "ask"], &[], (80, 24));
    screen.shows("You talk to ask");
    screen.say("/theme light");
    screen.shows("theme is light");
    screen.say("go");
    screen.shows("May I go on?");
    screen.keys("\u{3}");
    assert_eq!(screen.ends().0, 0);
    for file in [".config/signoff/terminal.toml", ".local/state/signoff/terminal.json"] {
        let kept = std::fs::read_to_string(place.path(file)).unwrap();
        assert!(!kept.contains("sgn_secret"), "{file}: {kept}");
    }
    let args = ["chat", "--server", &server.url, "ask"];
    let mut screen = place.open(&args, &[("SIGNOFF_THEME", "dark")], (80, 24));
    screen.shows("You talk to ask");
    screen.say("/theme");
    screen.shows("the theme is dark");
    // The version is the one of the package.
    let version =
        std::process::Command::new(env!("CARGO_BIN_EXE_signoff")).arg("--version").output();
    let version = String::from_utf8(version.unwrap().stdout).unwrap();
    assert_eq!(version.trim(), format!("signoff {}", env!("CARGO_PKG_VERSION")));
}
