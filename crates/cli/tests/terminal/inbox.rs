//! `signoff inbox`.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Place, Screen, Server, cpu};

fn inbox(place: &Place, server: &Server, size: (u16, u16)) -> Screen {
    place.open(&["inbox", "--server", &server.url], &[], size)
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_decided_from_the_list() {
    let place = Place::new();
    let server = place.serve();
    let mut screen = inbox(&place, &server, (120, 40));
    screen.shows("Nothing waits for a person.");
    let first = server.start("ask", "one").await;
    screen.shows("1 waiting");
    screen.shows("May I go on?");
    tokio::time::sleep(Duration::from_millis(400)).await;
    screen.keys("c");
    screen.shows("@local");
    screen.keys("a");
    screen.shows("0 waiting");
    server.becomes(&first, "completed").await;
    let second = server.start("ask", "two").await;
    screen.shows("1 waiting");
    tokio::time::sleep(Duration::from_millis(400)).await;
    screen.keys("d");
    screen.shows("[▸Deny◂]");
    screen.keys("not today");
    screen.shows("not today");
    screen.keys("\r");
    screen.shows("0 waiting");
    server.becomes(&second, "completed").await;
    let decided = server.get("/v1/requests?status=decided").await;
    assert_eq!(decided["data"][1]["decision"]["reason"], "not today");
    screen.keys("q");
    assert_eq!(screen.ends().0, 0);
}

/// Two terminals and one HTTP client: one wins, the others show it within a second.
#[tokio::test(flavor = "multi_thread")]
async fn of_three_who_decide_one_wins_and_all_are_told() {
    let place = Place::new();
    let server = place.serve();
    server.start("ask", "one").await;
    let request = server.pending(1).await.remove(0);
    let mut one = inbox(&place, &server, (120, 30));
    let two = place.open(
        &[
            "chat",
            "--server",
            &server.url,
            "--conversation",
            request["conversation"].as_str().unwrap(),
        ],
        &[],
        (90, 30),
    );
    one.shows("May I go on?");
    two.shows("The workflow asks you");
    one.keys("\r");
    one.shows("Enter answers");
    let path = format!("/v1/requests/{}/decision", request["id"].as_str().unwrap());
    let (status, decided) =
        server.post(&path, &json!({ "decision": "approve", "note": "over http" })).await;
    let since = Instant::now();
    assert_eq!(status, 200, "{decided}");
    one.shows("already answered by local: approved: over http");
    two.shows("approved: over http");
    let took = since.elapsed();
    assert!(took < Duration::from_secs(1), "it took {took:?}");
    // Whoever presses a button now is told that it is too late.
    one.keys("a\r");
    one.shows("this is answered already");
    two.hides("The workflow asks you");
    let again = server.get(&format!("/v1/requests/{}", request["id"].as_str().unwrap())).await;
    assert_eq!(again["decision"]["note"], "over http");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_are_marked_looked_at_and_decided() {
    let place = Place::new();
    let server = place.serve();
    for n in 0..3 {
        server.start("ask", &n.to_string()).await;
    }
    server.start("event_planner", crate::support::PARTY).await;
    server.pending(4).await;
    let mut screen = inbox(&place, &server, (110, 36));
    screen.shows("4 waiting");
    screen.keys("*");
    screen.shows("4 marked");
    screen.keys("A");
    let shown = screen.shows("Approve 3 requests?");
    assert!(shown.contains("it cannot be approved"), "{shown}");
    screen.keys("\u{1b}");
    screen.hides("Approve 3 requests?");
    assert_eq!(server.pending(4).await.len(), 4);
    screen.keys("A");
    screen.shows("Approve 3 requests?");
    screen.keys("\r");
    screen.shows("3 decided");
    assert_eq!(server.pending(1).await[0]["kind"], "selection");
    // Searching and the keys of the list do not mix.
    screen.keys("/qad");
    screen.shows("search: qad");
    screen.shows("Nothing that waits fits");
    screen.keys("\u{1b}");
    screen.shows("1 waiting");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_calls_when_nobody_looks_and_rests_when_nothing_happens() {
    let place = Place::new();
    let server = place.serve();
    let mut screen = inbox(&place, &server, (100, 30));
    screen.shows("● live");
    screen.keys("\u{1b}[O");
    // Taken once the next key is.
    screen.keys("?");
    screen.shows("Keys");
    screen.keys(" ");
    screen.hides("any key closes this");
    server.start("ask", "one").await;
    screen.shows("1 waiting");
    let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
    assert!(bytes.contains("\u{1b}]9;May I go on?\u{7}\u{7}"));
    let before = cpu(screen.pid());
    tokio::time::sleep(Duration::from_secs(3)).await;
    let used = cpu(screen.pid()).saturating_sub(before);
    assert!(used < Duration::from_millis(150), "{used:?} of 3 s while idle");
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_do_the_same_over_a_server() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("ask", "one").await;
    server.pending(1).await;
    let signoff = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_signoff"));
        command.args(args).current_dir(place.path("")).env_remove("SIGNOFF_SERVER");
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let mut watch = std::process::Command::new(env!("CARGO_BIN_EXE_signoff"));
    watch.args(["inbox", "watch", "--json", "--server", &server.url]).current_dir(place.path(""));
    let mut watch = signoff_testkit::process::Process::start(&mut watch);
    assert_eq!(watch.json()["type"], "listening");
    let (code, listed, _) = signoff(&["inbox", "list", "--json", "--server", &server.url]);
    assert_eq!((code, listed.lines().count()), (0, 1));
    let (code, shown, _) = signoff(&["inbox", "show", "_1", "--server", &server.url]);
    assert!(code == 0 && shown.contains("May I go on?"), "{shown}");
    let (code, _, told) = signoff(&["inbox", "answer", "_1", "maybe", "--server", &server.url]);
    assert!(code == 2 && told.contains("is not an answer to this"), "{told}");
    let (code, _, told) = signoff(&["inbox", "answer", "_1", "yes", "--server", &server.url]);
    assert!(code == 0 && told.contains("approved"), "{told}");
    server.becomes(&run, "completed").await;
    let change = watch.json();
    assert_eq!(
        (&change["change"], &change["request"]["status"]),
        (&json!("decided"), &json!("decided"))
    );
    let (code, _, told) = signoff(&["inbox", "--server", "http://127.0.0.1:9"]);
    assert!(code == 2 && told.contains("hint: is the server running?"), "{told}");
    let (code, page, _) = signoff(&["man"]);
    assert!(code == 0 && page.contains(".TH signoff"), "{page}");
}
