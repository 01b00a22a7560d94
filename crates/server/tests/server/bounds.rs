//! Clients that are slow on purpose, or want too much.

use std::time::Duration;

use signoff_core::{Actor, Tenant, Timestamp};
use signoff_runtime::{Engine, StartRun};
use signoff_server::{ServeError, Server, Settings};
use signoff_store::User;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Running, rest};

const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let server = Running::start(|settings| settings.body_timeout = SHORT).await;
    let head = "POST /v1/runs HTTP/1.1\r\nHOST\r\nConnection: close\r\n\
                Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{";
    let answer = rest(server.send(head).await).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains(r#""code":"body_timeout""#), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_head_that_trickles_is_not_waited_for() {
    let server = Running::start(|settings| settings.head_timeout = SHORT).await;
    let answer = rest(server.send("GET /health HTTP/1.1\r\nHOST\r\nX: ").await).await;
    assert!(!answer.contains("200"), "{answer}");
    server.stop().await;
}

/// Sends a byte now and then, and says after how long the server had enough.
async fn trickle(mut stream: tokio::net::TcpStream) -> Duration {
    let since = tokio::time::Instant::now();
    let mut answer = [0; 1024];
    loop {
        tokio::select! {
            read = stream.read(&mut answer) => match read {
                Ok(0) | Err(_) => return since.elapsed(),
                Ok(_) => {}
            },
            () = tokio::time::sleep(SHORT / 10) => {
                if stream.write_all(b"a").await.is_err() {
                    return since.elapsed();
                }
            }
        }
    }
}

/// What keeps coming a byte at a time is cut off as well, and others are served meanwhile.
#[tokio::test]
async fn a_little_now_and_then_is_not_enough() {
    let server = Running::start(|settings| {
        settings.head_timeout = SHORT;
        settings.body_timeout = SHORT;
    })
    .await;
    let head = "GET /health HTTP/1.1\r\nHOST\r\nX: ";
    let body = "POST /v1/runs HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\n\
                Content-Length: 100000\r\n\r\n{";
    let mut slow = tokio::task::JoinSet::new();
    for n in 0..100 {
        let stream = server.send(if n % 2 == 0 { head } else { body }).await;
        slow.spawn(trickle(stream));
    }
    let ask = "GET /health HTTP/1.1\r\nHOST\r\nConnection: close\r\n\r\n";
    let answer = rest(server.send(ask).await).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    while let Some(took) = slow.join_next().await {
        let took = took.unwrap();
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_body_is_bounded_whether_it_says_its_length_or_not() {
    let server = Running::start(|settings| settings.max_body = 100).await;
    for (header, body) in [
        ("Content-Length: 101", "x".repeat(101)),
        ("Transfer-Encoding: chunked", format!("65\r\n{}\r\n0\r\n\r\n", "x".repeat(101))),
    ] {
        let head =
            "POST /v1/runs HTTP/1.1\r\nHOST\r\nConnection: close\r\nContent-Type: application/json";
        let answer = rest(server.send(&format!("{head}\r\n{header}\r\n\r\n{body}")).await).await;
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
        assert!(answer.contains(r#""code":"body_too_large""#), "{answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn there_are_only_so_many_streams() {
    let server = Running::start(|settings| settings.max_streams = 1).await;
    let run = server.engine.start(StartRun::new("asking", "hi")).await.unwrap().run;
    let ask = format!("GET /v1/runs/{run}/events HTTP/1.1\r\nHOST\r\nConnection: close\r\n\r\n");
    let mut first = server.send(&ask).await;
    let mut begin = [0; 12];
    first.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    let second = rest(server.send(&ask).await).await;
    assert!(second.starts_with("HTTP/1.1 503"), "{second}");
    assert!(second.contains("too_many_streams") && second.contains("retry-after"), "{second}");
    drop(first);
    // It is noticed when the connection is.
    for _ in 0..100 {
        let mut again = server.send(&ask).await;
        again.read_exact(&mut begin).await.unwrap();
        if &begin == b"HTTP/1.1 200" {
            again.shutdown().await.unwrap();
            server.stop().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("a stream that is gone is still counted");
}

/// One user cannot take the places of all.
#[tokio::test]
async fn a_user_has_only_so_many_streams() {
    let server = Running::start(|settings| settings.max_streams_each = 2).await;
    for name in ["ann", "ben"] {
        let user = User {
            name: Actor::new(name),
            tenant: Tenant::local(),
            roles: Vec::new(),
            token: signoff_core::text::digest(&format!("sgn_{name}"), 64),
            created_at: Timestamp(0),
        };
        assert!(server.engine.store().put_user(user, false).await.unwrap());
    }
    let open = async |name: &str| {
        let ask = format!(
            "GET /v1/requests/events HTTP/1.1\r\nHOST\r\nAuthorization: Bearer sgn_{name}\r\n\r\n"
        );
        let mut stream = server.send(&ask).await;
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).await.unwrap();
        (String::from_utf8(begin[9..].to_vec()).unwrap(), stream)
    };
    // The server looks for users four times a second.
    let since = tokio::time::Instant::now();
    while open("nobody").await.0 != "401" {
        assert!(since.elapsed() < Duration::from_mins(1));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let first = open("ann").await;
    let second = open("ann").await;
    assert_eq!((&*first.0, &*second.0, &*open("ann").await.0), ("200", "200", "503"));
    assert_eq!(open("ben").await.0, "200", "others have their own places");
    drop(first);
    let since = tokio::time::Instant::now();
    while open("ann").await.0 != "200" {
        assert!(since.elapsed() < Duration::from_mins(1), "a stream that is gone is still counted");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn only_addresses_of_this_machine_are_taken() {
    let store = std::sync::Arc::new(signoff_store::MemoryStore::new());
    let engine = Engine::builder(store).build().unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let settings = Settings::new(address.parse().unwrap());
        let refused = Server::bind(engine.clone(), settings).await;
        assert!(matches!(refused, Err(ServeError::NotLoopback(_))), "{address}");
    }
}

/// Who asks and does not read is left after a while; who reads a little now and then is not.
#[tokio::test]
async fn who_never_reads_is_left() {
    // Long enough for a machine that is busy.
    let stall = Duration::from_secs(3);
    let server = Running::start(|settings| settings.stall_timeout = stall).await;
    let ask = "GET /openapi.json HTTP/1.1\r\nHOST\r\n\r\n".repeat(400);
    let stalled = server.send(&ask).await;
    let mut slow = server.send(&ask).await;
    let since = tokio::time::Instant::now();
    let mut piece = vec![0; 256 * 1024];
    // Long enough that the first one has had its time.
    while since.elapsed() < stall * 3 {
        let read = tokio::time::timeout(Duration::from_secs(20), slow.read(&mut piece)).await;
        assert!(read.unwrap().unwrap() > 0, "who reads slowly is cut off");
        tokio::time::sleep(stall / 10).await;
    }
    let answers = tokio::time::timeout(Duration::from_secs(20), async {
        let mut stalled = stalled;
        let mut all = 0_usize;
        loop {
            match stalled.read(&mut piece).await {
                Ok(0) | Err(_) => return all,
                Ok(count) => all += count,
            }
        }
    });
    let got = answers.await.expect("the connection is over");
    let document =
        server.send("GET /openapi.json HTTP/1.1\r\nHOST\r\nConnection: close\r\n\r\n").await;
    let one = rest(document).await.len();
    assert!(got < one * 400, "all of it was sent: {got}");
    server.stop().await;
}
