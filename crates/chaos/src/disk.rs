//! One node on SQLite whose disk is full for a while.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use signoff_testkit::Chance;
use tokio::task::JoinSet;

use crate::check::{Verdict, check};
use crate::client::Client;
use crate::conversation::{find, lead};
use crate::history::History;
use crate::nodes::{Nodes, Place};
use crate::peer::Peer;

/// How large the disk is.
const DISK: &str = "16m";
/// How long it is full.
const FULL_FOR: Duration = Duration::from_secs(3);

/// Mounts a small disk that only the node sees, and becomes the node.
const IN_A_DISK: &str = r#"mount -t tmpfs -o size="$0" tmpfs data && exec "$@""#;

/// Leads conversations, the disk of whose node is full for a while. What is wrong, and how often the node said that it
/// could not write.
pub async fn full_disk(program: &Path, seed: u64, conversations: usize) -> (Verdict, usize) {
    let chance = Chance::from_seed(seed);
    let (peer, effects) = Peer::start().await;
    let place = Place::new(program, &effects);
    std::fs::create_dir(place.path().join("data")).unwrap();
    let nodes = Arc::new(Nodes::new(1));
    let before = ["unshare", "--mount", "--map-root-user", "sh", "-c", IN_A_DISK, DISK];
    nodes.start(0, &mut place.command(&before, &["--data-dir", "data"])).unwrap();
    let client = Client::new(Arc::clone(&nodes));
    let over = Arc::new(AtomicUsize::new(0));
    let mut led = JoinSet::new();
    let begin = |led: &mut JoinSet<History>, n: usize| {
        let (client, chance, over) = (client.clone(), chance.for_case(n as u64), Arc::clone(&over));
        led.spawn(async move {
            let history = lead(&client, chance, format!("c-{n}")).await;
            over.fetch_add(1, Ordering::SeqCst);
            history
        });
    };
    for n in 0..conversations / 2 {
        begin(&mut led, n);
    }
    // All of them are under way when the disk is full, and as many begin then.
    while over.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let id = nodes.id(0).unwrap();
    let inside = Path::new("/proc").join(id.to_string()).join("root");
    let data = inside.join(place.path().strip_prefix("/").unwrap()).join("data");
    fill(&data.join("ballast"));
    for n in conversations / 2..conversations {
        begin(&mut led, n);
    }
    let refused = refusals(&nodes.url(0)).await;
    std::fs::remove_file(data.join("ballast")).unwrap();
    let mut histories: Vec<History> = led.join_all().await;
    let mut looking = chance.for_case(u64::MAX);
    for history in &mut histories {
        find(&client, &mut looking, history).await;
        history.acted = peer.acted(&history.name);
    }
    let ended = tokio::task::spawn_blocking(move || nodes.end(0)).await.unwrap();
    assert!(!ended.contains("panicked"), "{ended}");
    (check(&histories), refused)
}

/// Leaves no room.
fn fill(file: &Path) {
    use std::io::Write as _;
    let mut file = std::fs::File::create(file).unwrap();
    for size in [64 * 1024, 4096, 512, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

/// How often starts are refused while the disk is full. The node goes on answering.
async fn refusals(url: &str) -> usize {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let since = std::time::Instant::now();
    let mut refused = 0;
    while since.elapsed() < FULL_FOR {
        // Large, so that what room there is inside the database's own files is soon used up.
        let body = json!({ "workflow": "chaos", "input": "x".repeat(64 * 1024) });
        let request =
            http.post(format!("{url}/v1/runs")).header("content-type", "application/json");
        let status = request.body(body.to_string()).send().await.unwrap().status().as_u16();
        refused += usize::from(status >= 500);
        let health = http.get(format!("{url}/health")).send().await.unwrap().status().as_u16();
        assert_eq!(health, 200);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    refused
}
