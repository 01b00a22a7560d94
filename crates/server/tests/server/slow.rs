//! A listener that does not read for a while misses nothing, and holds up nobody.

use signoff_runtime::StartRun;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use crate::support::Running;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_listener_reads_everything_in_the_end() {
    let server = Running::start(|_| {}).await;
    let engine = &server.engine;
    let run = engine.start(StartRun::new("chatter", "hi")).await.unwrap().run;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let ask = format!("GET /v1/runs/{run}/events HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    stream.write_all(ask.as_bytes()).await.unwrap();
    engine.idle().await;

    let head = engine.store().run(&run).unwrap().unwrap().head;
    let mut read = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    // A chunk of no length is the end.
    while !read.ends_with(b"\r\n0\r\n\r\n") {
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "it was cut off");
        read.extend_from_slice(&buffer[..count]);
    }
    let text = String::from_utf8(read).unwrap();
    let ids: Vec<u64> =
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(ids, (1..=head).collect::<Vec<_>>());
    server.stop().await;
}
