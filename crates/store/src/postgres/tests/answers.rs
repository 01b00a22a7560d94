//! The answer to a COMMIT is lost, after it was carried out or before: the writer finds out which, and nobody notices.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use signoff_test_postgres::Server;

use super::open_dyn;
use crate::Decided;
use crate::conformance::fixtures::{append, begin, decide, output, run, waiting};

/// Stands between a store and the server and cuts connections at a word that one of them says.
#[derive(Debug, Default)]
struct Cutter {
    /// Cut where the server says that it has committed: the client never hears it.
    after: AtomicBool,
    /// Cut where the client asks to commit: the server never hears it.
    before: AtomicBool,
    cuts: AtomicU32,
}

impl Cutter {
    /// The port that leads to `socket`.
    fn start(self: &Arc<Self>, socket: PathBuf) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cutter = self.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                cutter.join(client.unwrap(), &socket);
            }
        });
        port
    }

    fn join(self: &Arc<Self>, client: TcpStream, socket: &Path) {
        let server = UnixStream::connect(socket).unwrap();
        let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let both = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let (asks, says) = (self.clone(), self.clone());
        let ends = (client, server);
        std::thread::spawn(move || asks.pass(from, to, |cutter| &cutter.before, &both));
        let from = ends.1.try_clone().unwrap();
        let to = ends.0.try_clone().unwrap();
        std::thread::spawn(move || says.pass(from, to, |cutter| &cutter.after, &ends));
    }

    fn pass(
        &self,
        mut from: impl Read,
        mut to: impl Write,
        cut: impl Fn(&Self) -> &AtomicBool,
        both: &(TcpStream, UnixStream),
    ) {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let commits = bytes[..count].windows(7).any(|word| word == b"COMMIT\0");
            if commits && cut(self).swap(false, Ordering::SeqCst) {
                self.cuts.fetch_add(1, Ordering::SeqCst);
                break;
            }
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = both.0.shutdown(Shutdown::Both);
        let _ = both.1.shutdown(Shutdown::Both);
    }
}

#[tokio::test]
async fn a_lost_answer_is_found_out() {
    let server = Server::start();
    server.create("runs");
    let cutter = Arc::new(Cutter::default());
    let port = cutter.start(server.folder().join(".s.PGSQL.5432"));
    let address = format!("postgres://postgres@127.0.0.1:{port}/runs");
    let (_, store) = open_dyn(&address, "own");
    let lease = begin(&store, "a", "own", vec![]).await;
    for seq in 1..=20 {
        let flag = if seq % 2 == 0 { &cutter.after } else { &cutter.before };
        flag.store(true, Ordering::SeqCst);
        store.append(append(&lease, seq, vec![output(seq + 1)])).await.unwrap();
        assert!(!flag.load(Ordering::SeqCst), "nothing was cut");
        assert_eq!(store.run(&run("a")).unwrap().unwrap().head, seq + 1);
    }
    assert_eq!(cutter.cuts.load(Ordering::SeqCst), 20);
    assert_eq!(store.load(&run("a"), None).unwrap().entries.len(), 21);
    // A decision that was taken is not told to be too late, by itself.
    waiting(&store, "asks", None).await;
    cutter.after.store(true, Ordering::SeqCst);
    let decided = store.decide(decide(&run("asks"), 1, "yes", "ann", 20)).await.unwrap();
    assert!(matches!(decided, Decided::Taken { .. }), "{decided:?}");
    assert_eq!(cutter.cuts.load(Ordering::SeqCst), 21);
    assert_eq!(store.audit(None, 0, 9).unwrap().len(), 1);
    assert_eq!(store.inputs(&run("asks"), 0).unwrap().len(), 1);
}
