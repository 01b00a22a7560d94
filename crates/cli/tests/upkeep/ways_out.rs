//! Requests that are led elsewhere: every way out of the server, against every address that nobody is to be led to, in a
//! world of our own (`ways_out/world.c`) where each connection that is tried is written down.

#[path = "ways_out/addresses.rs"]
mod addresses;
#[path = "ways_out/ways.rs"]
mod ways;
#[path = "ways_out/world.rs"]
mod world;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_testkit::process::PATIENCE;

use self::addresses::{FORBIDDEN, NAMES, PRIVATE, SOME};
use self::ways::{By, WAYS, Way};
use self::world::{Listener, PUBLIC, World, status};
use crate::support::{Place, Server, text};

/// A way to an address: its number in that way, and the address.
type Leg = (&'static Way, usize, String);

/// A server, configured for these legs, in a world.
struct Outside {
    world: World,
    server: Server,
}

impl Outside {
    fn new(legs: &[Leg], allow: bool, names: &[(&str, &str, &str)], public: &Listener) -> Self {
        let place = Place::new();
        let mut config = format!(
            "[push]\nallow_private = {allow}\n[tools.http]\nallow_plain = true\nallow_private = {allow}\n"
        );
        let mut env = vec![
            ("HOOK_SECRET".to_owned(), "a secret of some length".to_owned()),
            ("BOT_TOKEN".to_owned(), "xoxb-1".to_owned()),
            ("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), "http://traces.test:4318".to_owned()),
        ];
        for (way, n, url) in legs {
            config.push_str(&way.section(*n, url, allow));
            env.extend(way.variable(*n).map(|name| (name, url.clone())));
            let Some((flow, script)) = way.flow(*n, url) else { continue };
            std::fs::write(place.path(&format!("flows/{}.yaml", way.id(*n))), flow).unwrap();
            if !script.is_empty() {
                let at = place.path(&format!("flows/{}.script.yaml", way.id(*n)));
                std::fs::write(at, script).unwrap();
            }
        }
        std::fs::write(place.path("signoff.toml"), config).unwrap();
        let world = World::new(&place, &[NAMES, names].concat(), public);
        let env: Vec<(&str, &str)> = env.iter().map(|(name, it)| (&**name, &**it)).collect();
        let server = world.serve(&place, &env);
        Self { world, server }
    }

    /// Takes each of the legs once, as whoever takes that way does, and gives what is told of it.
    async fn go(&self, legs: &[Leg]) -> Vec<String> {
        let mut runs = Vec::new();
        for (way, n, _) in legs {
            let run = match way.by {
                By::Run => Some(self.server.start(&way.id(*n), "hi").await),
                By::Asking | By::Push => None,
            };
            runs.push(run);
        }
        let task = self.task().await;
        let mut pushed = Vec::new();
        for (way, n, url) in legs {
            if way.by == By::Push {
                let config = json!({ "taskId": task, "id": way.id(*n), "url": url });
                pushed.push(self.rpc("CreateTaskPushNotificationConfig", config).await);
            }
        }
        let asked = self.server.pending(&task).await;
        self.server.decide(&asked, &json!({ "decision": "approve" })).await;
        let mut pushed = pushed.into_iter();
        let mut told = Vec::new();
        for ((way, n, _), run) in legs.iter().zip(runs) {
            told.push(match way.by {
                By::Run => self.told_of(&run.unwrap()).await,
                By::Asking => {
                    // Chats and mailboxes are counted under the name of their kind.
                    let id = way.id(*n);
                    let line = [format!("webhook=\"{id}\""), format!(":{id}\"")];
                    self.counted("signoff_webhook_deliveries_total", &line).await
                }
                By::Push => pushed.next().unwrap().to_string(),
            });
        }
        told
    }

    /// A task that waits for an answer.
    async fn task(&self) -> String {
        let message = json!({ "messageId": format!("m{:?}", Instant::now()), "role": "ROLE_USER", "parts": [{ "text": "x" }] });
        let sent = self.rpc("SendMessage", json!({ "message": message })).await;
        text(&sent["result"]["task"]["id"])
    }

    async fn rpc(&self, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self.server.request(reqwest::Method::POST, "/a2a/ask");
        let request = request.header("a2a-version", "1.0").json(&body);
        request.send().await.unwrap().json().await.unwrap()
    }

    /// All that is known of a run that is over.
    async fn told_of(&self, run: &str) -> String {
        let found = self.server.at_rest(run).await;
        format!("{found} {:?}", self.server.journal(run).await)
    }

    /// The lines of a metric that have one of these words, once there are some.
    async fn counted(&self, metric: &str, words: &[String]) -> String {
        let since = Instant::now();
        loop {
            let all = text(&self.server.read("/metrics").await);
            let ours = |line: &&str| {
                line.starts_with(metric) && words.iter().any(|word| line.contains(&**word))
            };
            let found: Vec<&str> = all.lines().filter(ours).collect();
            if !found.is_empty() {
                return found.join(" ");
            }
            assert!(since.elapsed() < PATIENCE, "{metric} {words:?}: {all}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until this was looked up so often.
    async fn looked_up(&self, name: &str, times: usize) {
        let since = Instant::now();
        while self.world.lookups().iter().filter(|it| *it == name).count() < times {
            assert!(since.elapsed() < PATIENCE, "{name}: {:?}", self.world.lookups());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// All ways that `which` likes to all of these hosts.
fn legs(which: impl Fn(&Way) -> bool, scheme: &str, hosts: &[&str]) -> Vec<Leg> {
    let ways = WAYS.iter().filter(|way| which(way));
    ways.flat_map(|way| {
        hosts.iter().enumerate().map(move |(n, host)| (way, n, format!("{scheme}://{host}/x")))
    })
    .collect()
}

/// A host as it is written where only ASCII can be.
fn in_a_header(host: &str) -> String {
    let byte = |byte: u8| match byte {
        byte if byte.is_ascii() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    host.bytes().map(byte).collect()
}

/// It was refused before anybody was contacted.
#[track_caller]
fn is_refused((way, _, url): &Leg, told: &str) {
    let words = match way.by {
        // An agent goes on without the tools of a server that is not there; who was contacted is looked at in any case.
        By::Run => told.contains("was not contacted") || way.name == "mcp",
        By::Asking => !told.contains("delivered"),
        // A name is found out when it is looked up.
        By::Push => told.contains("-32602") || url.contains(".test") || url.contains("localhost"),
    };
    assert!(words, "{} to {url}: {told}", way.name);
}

#[tokio::test]
async fn no_way_out_leads_inside() {
    let public = Listener::start(|_| status("204 No Content", ""));
    let hosts = [PRIVATE, FORBIDDEN].concat();
    let mut all = legs(|way| way.guarded && way.by != By::Asking, "https", &hosts);
    all.extend(legs(|way| way.guarded && way.by == By::Asking, "https", SOME));
    all.extend(legs(|way| !way.guarded, "http", FORBIDDEN));
    let outside = Outside::new(&all, false, &[], &public);
    let told = outside.go(&all).await;
    for (leg, told) in all.iter().zip(&told) {
        is_refused(leg, told);
    }
    // Names that clients gave for their pushes are refused for good when they are looked up.
    let names = all
        .iter()
        .zip(&told)
        .filter(|((way, ..), told)| way.by == By::Push && !told.contains("error"));
    let given_up = format!("outcome=\"given_up\"}} {}", names.count());
    outside.counted("signoff_push_notifications_total", &[given_up]).await;
    outside.looked_up("traces.test", 1).await;
    assert_eq!(outside.world.connections(), [], "nobody was to be reached");
    assert!(public.heard().is_empty());
}

#[tokio::test]
async fn what_the_operator_allows_is_reached_and_nothing_more() {
    let public = Listener::start(|_| status("204 No Content", ""));
    let here = Listener::start(|_| status("404 Not Found", ""));
    let mut all = Vec::new();
    for way in WAYS {
        for (n, host) in ["127.0.0.1", "near.test", "2130706433"].into_iter().enumerate() {
            let url = format!("http://{host}:{}/{}", here.port, way.id(n));
            all.push((way, n, url));
        }
        let all_of_them = if way.by == By::Asking { &FORBIDDEN[..3] } else { FORBIDDEN };
        for (n, host) in all_of_them.iter().enumerate() {
            all.push((way, 10 + n, format!("http://{host}:{}/x", here.port)));
        }
    }
    let outside = Outside::new(&all, true, &[], &public);
    let told = outside.go(&all).await;
    for (leg, told) in all.iter().zip(&told).filter(|((_, n, _), _)| *n >= 10) {
        is_refused(leg, told);
    }
    let since = Instant::now();
    for way in WAYS {
        for n in 0..3 {
            let path = format!("/{}", way.id(n));
            while !here.heard().iter().any(|heard| heard.starts_with(&path)) {
                assert!(since.elapsed() < PATIENCE, "{path} was not reached: {:?}", here.heard());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    let elsewhere = |(host, port): &(String, u16)| host != "127.0.0.1" || *port != here.port;
    let elsewhere: Vec<_> = outside.world.connections().into_iter().filter(elsewhere).collect();
    assert_eq!(elsewhere, [], "nobody else was to be reached");
}

#[tokio::test]
async fn a_name_that_changes_its_mind_leads_nowhere() {
    let secret = Listener::start(|_| status("204 No Content", ""));
    // Whoever is public leads on to the same name, which is somebody else by then.
    let port = secret.port;
    let public = Listener::start(move |path| {
        let name = path.trim_start_matches('/').split('/').next().unwrap();
        status("302 Found", &format!("location: http://{name}:{port}/x\r\n"))
    });
    let mut all = Vec::new();
    let mut names = Vec::new();
    for way in WAYS {
        let name = format!("turns-{}.test", way.name);
        // Tools may be told to use plain HTTP; others never are without private addresses.
        let scheme = if way.guarded && way.by != By::Run { "https" } else { "http" };
        all.push((way, 0, format!("{scheme}://{name}:{}/{name}", secret.port)));
        names.push((name, way.guarded));
    }
    let names: Vec<(&str, &str, &str)> = names
        .iter()
        .map(|(name, guarded)| {
            // Where private addresses are allowed, those that never are remain.
            (&**name, PUBLIC, if *guarded { "127.0.0.1" } else { "169.254.169.254" })
        })
        .collect();
    let outside = Outside::new(&all, false, &names, &public);
    let first = outside.go(&all).await;
    for ((way, _, url), told) in all.iter().zip(&first) {
        // The one who was public was asked, and what it led to was not followed, or refused.
        let taken = way.by == By::Asking && told.contains("delivered");
        assert!(!taken, "{} to {url}: {told}", way.name);
    }
    // Those that had one address so far get the other one now.
    let again: Vec<Leg> = all.iter().filter(|(way, ..)| way.by == By::Run).cloned().collect();
    let told = outside.go(&again).await;
    for (leg, told) in again.iter().zip(&told) {
        is_refused(leg, told);
    }
    // A tool server that failed is left alone for a moment.
    let mcp: Vec<Leg> = again.into_iter().filter(|(way, ..)| way.name == "mcp").collect();
    while outside.world.lookups().iter().filter(|it| *it == "turns-mcp.test").count() < 2 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        outside.go(&mcp).await;
    }
    for (name, ..) in &names {
        outside.looked_up(name, 2).await;
    }
    let inside = |(host, _): &(String, u16)| host != PUBLIC;
    let inside: Vec<_> = outside.world.connections().into_iter().filter(inside).collect();
    assert_eq!(inside, [], "a name led inside");
    assert!(secret.heard().is_empty());
    assert!(public.heard().len() >= all.len(), "{:?}", public.heard());
}

#[tokio::test]
async fn no_redirect_leads_inside() {
    let secret = Listener::start(|_| status("204 No Content", ""));
    let port = secret.port;
    // Who is asked for a number leads to that host; anybody else to the secret of this machine.
    let lead = move |path: &str| {
        let hosts = [PRIVATE, FORBIDDEN].concat();
        let number = path.strip_prefix("/to/").and_then(|n| n.parse::<usize>().ok());
        let to = match number {
            Some(n) => format!("http://{}:{port}/", in_a_header(hosts[n])),
            None => format!("http://127.0.0.1:{port}/"),
        };
        status("307 Temporary Redirect", &format!("location: {to}\r\n"))
    };
    let (public, here) = (Listener::start(lead), Listener::start(lead));
    let hosts = [PRIVATE, FORBIDDEN].concat();
    let get = WAYS.iter().find(|way| way.name == "get").unwrap();
    let all: Vec<Leg> =
        (0..hosts.len()).map(|n| (get, n, format!("http://public.test/to/{n}"))).collect();
    let outside = Outside::new(&all, false, &[], &public);
    for (leg, told) in all.iter().zip(outside.go(&all).await) {
        is_refused(leg, &told);
    }
    assert_eq!(public.heard().len(), hosts.len());
    let inside = |(host, _): &(String, u16)| host != PUBLIC;
    let inside: Vec<_> = outside.world.connections().into_iter().filter(inside).collect();
    assert_eq!(inside, [], "a redirect led inside");
    drop(outside);

    // Nobody else follows any, allowed or not.
    let others = WAYS.iter().filter(|way| way.name != "get");
    let all: Vec<Leg> = others
        .map(|way| (way, 0, format!("http://127.0.0.1:{}/{}", here.port, way.name)))
        .collect();
    let outside = Outside::new(&all, true, &[], &public);
    outside.go(&all).await;
    let since = Instant::now();
    while !all.iter().all(|(way, ..)| {
        here.heard().iter().any(|path| path.starts_with(&format!("/{}", way.name)))
    }) {
        assert!(since.elapsed() < PATIENCE, "{:?}", here.heard());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let elsewhere = |(host, port): &(String, u16)| host != "127.0.0.1" || *port != here.port;
    let elsewhere: Vec<_> = outside.world.connections().into_iter().filter(elsewhere).collect();
    assert_eq!(elsewhere, [], "a redirect was followed");
    assert!(secret.heard().is_empty());
}
