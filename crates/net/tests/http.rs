//! The client against servers that mean harm.

#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use signoff_net::{Client, Lookup, Method, NetError, Policy, Request, Response, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// URLs that lead, or try to lead, where the guarded policy must not go.
const REFUSED: &[&str] = &[
    "https://127.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://0x7f.0.0.1/",
    "https://0x7f000001/",
    "https://2130706433/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://127.0.0.1./",
    "https://①②⑦.0.0.1/",
    "https://0/",
    "https://0.0.0.0/",
    "https://10.0.0.1/",
    "https://172.16.5.4/",
    "https://192.168.1.1/admin",
    "https://169.254.169.254/latest/meta-data/",
    "https://0xa9fea9fe/",
    "https://2852039166/",
    "https://100.64.0.1/",
    "https://[::1]/",
    "https://[::]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[0:0:0:0:0:ffff:a9fe:a9fe]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://[fc00::1]/",
    "https://[ff02::1]/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://localhost/",
    "https://LOCALHOST/",
    "https://user:hunter2@example.com/",
    "https://user@example.com/",
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "data:text/plain,hello",
];

fn get(url: &str) -> Request {
    Request::new(Method::GET, Url::parse(url).unwrap())
}

async fn send(policy: Policy, url: &str) -> Result<Response, NetError> {
    Client::new(policy).unwrap().send(get(url)).await
}

fn local() -> Policy {
    Policy {
        connect_timeout: Duration::from_secs(2),
        first_byte_timeout: Duration::from_millis(300),
        idle_timeout: Duration::from_millis(300),
        total_timeout: Duration::from_secs(2),
        max_response_bytes: 1_000_000,
        ..Policy::configured()
    }
}

/// A server that handles each connection, once its request is read, with `handle`.
async fn server<F, Fut>(handle: F) -> (String, Arc<AtomicUsize>)
where
    F: Fn(TcpStream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let handle = Arc::new(handle);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let handle = Arc::clone(&handle);
            tokio::spawn(async move {
                let mut seen = Vec::new();
                while !seen.windows(4).any(|end| end == b"\r\n\r\n") {
                    let mut piece = [0; 1024];
                    match stream.read(&mut piece).await {
                        Ok(0) | Err(_) => return,
                        Ok(n) => seen.extend_from_slice(&piece[..n]),
                    }
                }
                handle(stream).await;
            });
        }
    });
    (url, count)
}

async fn answering(response: &'static str) -> (String, Arc<AtomicUsize>) {
    server(move |mut stream| async move {
        let _ = stream.write_all(response.as_bytes()).await;
    })
    .await
}

#[tokio::test]
async fn the_guarded_policy_refuses_every_way_in() {
    for url in REFUSED {
        let error = send(Policy::guarded(), url).await.expect_err(url);
        assert_eq!(error.code(), "net_refused", "{url}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn forbidden_addresses_stay_so_when_private_ones_are_allowed() {
    for url in [
        "http://169.254.169.254/latest/",
        "http://[fd00:ec2::254]/",
        "http://0.0.0.0/",
        "http://255.255.255.255/",
        "http://[::ffff:169.254.169.254]/",
    ] {
        let error = send(Policy::configured(), url).await.expect_err(url);
        assert_eq!(error.code(), "net_refused", "{url}: {error}");
    }
}

/// Says a public address first and a private one from then on.
#[derive(Debug, Default)]
struct Rebinding(AtomicUsize);

impl Lookup for Rebinding {
    fn lookup(
        &self,
        _: String,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
        let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        let address = if first { "9.9.9.9" } else { "127.0.0.1" };
        Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
    }
}

#[tokio::test]
async fn a_name_that_changes_its_mind_reaches_nobody() {
    let (url, count) = answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await;
    let port = url.rsplit(':').next().unwrap();
    let policy = Policy {
        plain_http: true,
        connect_timeout: Duration::from_millis(200),
        ..Policy::guarded()
    };
    let client = Client::with_lookup(policy, Arc::new(Rebinding::default())).unwrap();
    // Whoever is there, it is not the server here.
    let _ = client.send(get(&format!("http://rebind.example:{port}/"))).await;
    // Another name, so that no connection of the first can be used again.
    let last = client.send(get(&format!("http://again.example:{port}/"))).await.unwrap_err();
    assert_eq!(last.code(), "net_refused", "{last}");
    assert_eq!(count.load(Ordering::SeqCst), 0, "a connection was made");
}

/// Says a good and a bad address at once.
#[derive(Debug)]
struct Mixed;

impl Lookup for Mixed {
    fn lookup(
        &self,
        _: String,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
        Box::pin(async { Ok(vec!["9.9.9.9".parse().unwrap(), "127.0.0.1".parse().unwrap()]) })
    }
}

#[tokio::test]
async fn one_bad_address_spoils_the_name() {
    let client = Client::with_lookup(Policy::guarded(), Arc::new(Mixed)).unwrap();
    let error = client.send(get("https://mixed.example/")).await.unwrap_err();
    assert_eq!(error.code(), "net_refused", "{error}");
}

/// Every name is this machine.
#[derive(Debug)]
struct Here;

impl Lookup for Here {
    fn lookup(
        &self,
        _: String,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
        Box::pin(async { Ok(vec!["127.0.0.1".parse().unwrap()]) })
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_unless_asked_for_and_then_checked() {
    let (url, _) = answering(
        "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/x?token=secret\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
    let response = send(local(), &url).await.unwrap();
    assert_eq!(response.status(), 302);
    let error = send(Policy { max_redirects: 3, ..local() }, &url).await.unwrap_err();
    assert_eq!(error.code(), "net_refused");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn redirects_end_and_credentials_stay_at_home() {
    let (url, count) =
        answering("HTTP/1.1 307 Again\r\nlocation: /more\r\ncontent-length: 0\r\n\r\n").await;
    let error = send(Policy { max_redirects: 3, ..local() }, &url).await.unwrap_err();
    assert!(error.to_string().contains("more than 3 times"), "{error}");
    assert!(count.load(Ordering::SeqCst) <= 4);

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut all = vec![0; 4096];
        let n = stream.read(&mut all).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        String::from_utf8_lossy(&all[..n]).to_lowercase()
    });
    let (first, _) = server(move |mut stream| async move {
        let head = format!(
            "HTTP/1.1 302 Found\r\nlocation: http://other.example:{port}/\r\ncontent-length: 0\r\n\r\n"
        );
        let _ = stream.write_all(head.as_bytes()).await;
    })
    .await;
    let client =
        Client::with_lookup(Policy { max_redirects: 1, ..local() }, Arc::new(Here)).unwrap();
    let mut request = get(&first);
    request.headers.insert("authorization", "Bearer canary".parse().unwrap());
    let mut key: signoff_net::header::HeaderValue = "canary".parse().unwrap();
    key.set_sensitive(true);
    request.headers.insert("x-api-key", key);
    assert!(!format!("{request:?}").contains("canary"));
    client.send(request).await.unwrap();
    assert!(!seen.await.unwrap().contains("canary"));
}

#[tokio::test]
async fn silence_before_the_head_ends_in_time() {
    let (url, _) = server(|stream| async move {
        tokio::time::sleep(Duration::from_mins(1)).await;
        drop(stream);
    })
    .await;
    let policy = Policy { connect_timeout: Duration::from_millis(200), ..local() };
    let error = send(policy, &url).await.unwrap_err();
    assert_eq!(error.code(), "net_timeout", "{error}");
}

#[tokio::test]
async fn a_head_that_trickles_ends_in_time() {
    let (url, _) = server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        for n in 0.. {
            if stream.write_all(format!("x-{n}: y\r\n").as_bytes()).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let error = send(local(), &url).await.unwrap_err();
    assert!(["net_timeout", "net_connect"].contains(&error.code()), "{error}");
}

#[tokio::test]
async fn a_head_without_end_is_cut() {
    let (url, _) = server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await;
        while stream.write_all(&[b'a'; 16_384]).await.is_ok() {}
    })
    .await;
    let error = send(local(), &url).await.unwrap_err();
    assert!(["net_timeout", "net_connect"].contains(&error.code()), "{error}");
}

#[tokio::test]
async fn a_body_without_end_is_cut_at_the_limit() {
    let (url, _) = server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(&[b'a'; 16_384]).await.is_ok() {}
    })
    .await;
    let error = send(local(), &url).await.unwrap().bytes().await.unwrap_err();
    assert_eq!(error.code(), "net_too_large", "{error}");
    let beginning = send(local(), &url).await.unwrap().beginning(100).await;
    assert_eq!(beginning.len(), 100);
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_not_read() {
    let (url, _) = answering("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n").await;
    let error = send(local(), &url).await.unwrap().bytes().await.unwrap_err();
    assert_eq!(error.code(), "net_too_large", "{error}");
}

#[tokio::test]
async fn a_body_that_falls_silent_or_never_ends_is_left() {
    let (url, _) = server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").await;
        tokio::time::sleep(Duration::from_mins(1)).await;
    })
    .await;
    let error = send(local(), &url).await.unwrap().bytes().await.unwrap_err();
    assert_eq!(error.code(), "net_timeout", "{error}");
    let (url, _) = server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let policy = Policy { total_timeout: Duration::from_millis(500), ..local() };
    let error = send(policy, &url).await.unwrap().bytes().await.unwrap_err();
    assert!(error.to_string().contains("the whole exchange"), "{error}");
}

#[tokio::test]
async fn nobody_there_and_no_tls_there_are_told_apart() {
    let error = send(local(), "http://127.0.0.1:9/?key=canary").await.unwrap_err();
    assert_eq!(error.code(), "net_connect", "{error}");
    assert!(!format!("{error} {error:?}").contains("canary"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let error = send(local(), &format!("https://127.0.0.1:{port}/")).await.unwrap_err();
    assert_eq!(error.code(), "net_tls", "{error}");
}
