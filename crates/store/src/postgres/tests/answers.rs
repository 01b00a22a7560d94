//! The answer to what commits is lost, after it was carried out or before: the writer finds out which, and nobody notices.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use signoff_core::RunStatus;
use signoff_test_postgres::Server;

use super::open_dyn;
use crate::conformance::fixtures::{append, begin, decide, output, run, waiting};
use crate::encoded::AppendEntries;
use crate::postgres::batch::settle;
use crate::postgres::connect::{Connector, Work};
use crate::postgres::memory::{KnownRun, Memory};
use crate::postgres::plain::{self, PlainRow};
use crate::{Append, Decided, Snapshot};

/// A transaction ends by it.
const COMMIT: &[u8] = b"COMMIT\0";
/// Stands in the entries that are appended here.
const ENTRY: &[u8] = b"\"output\"";

/// Stands between a store and the server and cuts connections at a word that the client says.
#[derive(Debug, Default)]
struct Cutter {
    word: Mutex<&'static [u8]>,
    /// Cut where the server answers it: the client never hears that.
    after: AtomicBool,
    /// Cut where the client says it: the server never hears it.
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
        let said = Arc::new(AtomicBool::new(false));
        let ends = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let (cutter, heard) = (self.clone(), said.clone());
        std::thread::spawn(move || {
            pass(from, to, &ends, |bytes| {
                let word = *cutter.word.lock().unwrap();
                let says = !word.is_empty() && bytes.windows(word.len()).any(|said| said == word);
                said.fetch_or(says, Ordering::SeqCst);
                says && cutter.cuts(&cutter.before)
            });
        });
        let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let (cutter, ends) = (self.clone(), (client, server));
        std::thread::spawn(move || {
            pass(from, to, &ends, |_| {
                heard.swap(false, Ordering::SeqCst) && cutter.cuts(&cutter.after)
            });
        });
    }

    fn cuts(&self, flag: &AtomicBool) -> bool {
        let cut = flag.swap(false, Ordering::SeqCst);
        self.cuts.fetch_add(u32::from(cut), Ordering::SeqCst);
        cut
    }
}

/// Passes on bytes until they are to be cut.
fn pass(
    mut from: impl Read,
    mut to: impl Write,
    ends: &(TcpStream, UnixStream),
    cut: impl Fn(&[u8]) -> bool,
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if cut(&bytes[..count]) || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = ends.0.shutdown(Shutdown::Both);
    let _ = ends.1.shutdown(Shutdown::Both);
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
    // With a snapshot it is a transaction; without it is one statement.
    for (cuts, word) in [(0_u64, COMMIT), (10, ENTRY)] {
        *cutter.word.lock().unwrap() = word;
        for n in 0..10 {
            let head = (cuts + n) * 2 + 1;
            // What nobody cuts; after it the run is known.
            store.append(append(&lease, head, vec![output(head + 1)])).await.unwrap();
            let flag = if n % 2 == 0 { &cutter.after } else { &cutter.before };
            flag.store(true, Ordering::SeqCst);
            let snapshot = Snapshot { seq: head, body: b"{}".to_vec() };
            let snapshot = (word == COMMIT).then_some(snapshot);
            let next = append(&lease, head + 1, vec![output(head + 2)]);
            store.append(Append { snapshot, ..next }).await.unwrap();
            assert!(!flag.load(Ordering::SeqCst), "nothing was cut");
            assert_eq!(store.run(&run("a")).unwrap().unwrap().head, head + 2);
        }
    }
    assert_eq!(cutter.cuts.load(Ordering::SeqCst), 20);
    let loaded = store.load(&run("a"), Some(41)).unwrap();
    assert_eq!(loaded.entries.len(), 41);
    // A decision that was taken is not told to be too late, by itself.
    waiting(&store, "asks", None).await;
    *cutter.word.lock().unwrap() = COMMIT;
    cutter.after.store(true, Ordering::SeqCst);
    let decided = store.decide(decide(&run("asks"), 1, "yes", "ann", 20)).await.unwrap();
    assert!(matches!(decided, Decided::Taken { .. }), "{decided:?}");
    assert_eq!(cutter.cuts.load(Ordering::SeqCst), 21);
    assert_eq!(crate::conformance::fixtures::record(&store).len(), 1);
    assert_eq!(store.inputs(&run("asks"), 0).unwrap().len(), 1);
}

/// A statement that comes when its node has given it up writes nothing.
#[tokio::test]
async fn what_was_given_up_is_not_written_later() {
    let address = signoff_test_postgres::fresh();
    let (_, store) = open_dyn(&address, "own");
    let lease = begin(&store, "a", "own", vec![]).await;
    let options = crate::PostgresOptions::new(&address, "own").unwrap();
    let handle = tokio::runtime::Handle::current();
    let conn = Connector::new(handle, options).unwrap().connect(Work::Write).await.unwrap();
    let memory = Memory::new("own".into(), 0);
    let row = conn.row("SELECT no, fence FROM runs, nodes", &[]).await.unwrap().unwrap();
    memory.fenced_by(Some(row.get(1)));
    memory.remember(&run("a"), KnownRun::numbered(row.get(0)));
    memory.hold(&lease, 1, RunStatus::Running);
    let next = AppendEntries::new(append(&lease, 1, vec![output(2)])).unwrap();
    let late = [PlainRow::of(&next, &memory).unwrap()];

    assert_eq!(settle(&conn, "own", 50, 51).await.unwrap(), Some(false));
    assert!(!plain::write(&conn, &memory, 50, &late).await.unwrap());
    // Asked again, because the answer was lost: its own number is not taken for the other.
    assert_eq!(settle(&conn, "own", 50, 52).await.unwrap(), Some(false));
    assert_eq!(store.run(&run("a")).unwrap().unwrap().head, 1);
    assert!(plain::write(&conn, &memory, 53, &late).await.unwrap());
    assert_eq!(settle(&conn, "own", 53, 54).await.unwrap(), Some(true));
    assert_eq!(store.load(&run("a"), None).unwrap().entries.len(), 2);
    assert_eq!(settle(&conn, "nobody", 1, 2).await.unwrap(), None);
}
