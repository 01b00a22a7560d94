//! A world of our own around a server: its names, its one public address, and a list of whom it tried to reach.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::support::{Place, Server};

/// The address that is public here; all of its ports are one port of this machine.
pub(super) const PUBLIC: &str = "9.9.9.9";

/// What is around a server.
pub(super) struct World {
    log: PathBuf,
    names: PathBuf,
    preload: PathBuf,
    port: u16,
}

impl World {
    /// A world in `place`, with these names: what each is at first, and from then on. `public` is who listens at the
    /// public address.
    pub(super) fn new(place: &Place, names: &[(&str, &str, &str)], public: &Listener) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upkeep/ways_out/world.c");
        let preload = place.path("world.so");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&preload, &source])
            .args(["-ldl", "-lpthread"])
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let lines: Vec<String> =
            names.iter().map(|(name, first, then)| format!("{name} {first} {then}\n")).collect();
        let (file, log) = (place.path("names"), place.path("reached"));
        std::fs::write(&file, lines.concat()).unwrap();
        std::fs::write(&log, "").unwrap();
        Self { log, names: file, preload, port: public.port }
    }

    /// The server, in this world.
    pub(super) fn serve(&self, place: &Place, env: &[(&str, &str)]) -> Server {
        let (log, names) = (self.log.display().to_string(), self.names.display().to_string());
        let (preload, port) = (self.preload.display().to_string(), self.port.to_string());
        let own = [
            ("WORLD", &*names),
            ("WORLD_LOG", &*log),
            ("WORLD_PORT", &*port),
            ("LD_PRELOAD", &*preload),
        ];
        let all = [&own, env].concat();
        place.serve_in(&all, &["--max-rate", "100000"])
    }

    /// Whom it tried to reach: address and port.
    pub(super) fn connections(&self) -> Vec<(String, u16)> {
        self.lines("connect ")
    }

    /// The names it looked up, in order.
    pub(super) fn lookups(&self) -> Vec<String> {
        self.lines("lookup ").into_iter().map(|(name, _)| name).collect()
    }

    fn lines(&self, what: &str) -> Vec<(String, u16)> {
        let log = std::fs::read_to_string(&self.log).unwrap();
        let ours = log.lines().filter_map(|line| line.strip_prefix(what));
        ours.map(|line| {
            let (host, port) = line.split_once(' ').unwrap();
            (host.to_owned(), port.parse().unwrap())
        })
        .collect()
    }
}

/// Somebody at a port of this machine, who keeps the first line of what is asked and answers by it.
pub(super) struct Listener {
    pub(super) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    /// `answer` makes a whole response of the path that is asked for.
    pub(super) fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let (all, answer) = (Arc::clone(&heard), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                std::thread::spawn(move || converse(stream, &all, &*answer));
            }
        });
        Self { port, heard }
    }

    /// The paths that were asked for.
    pub(super) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn converse(mut stream: TcpStream, heard: &Mutex<Vec<String>>, answer: &dyn Fn(&str) -> String) {
    let mut begun = Vec::new();
    let mut byte = [0; 1];
    while !begun.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            // Whoever begins with TLS says no path, and is answered with nonsense.
            Ok(1) if begun.is_empty() && byte[0] == 0x16 => break,
            Ok(1) if begun.len() < 64 * 1024 => begun.push(byte[0]),
            _ => break,
        }
    }
    let begun = String::from_utf8_lossy(&begun).into_owned();
    // That somebody came counts in any case.
    let path = begun.split(' ').nth(1).unwrap_or("?").to_owned();
    heard.lock().unwrap().push(path.clone());
    let _ = stream.write_all(answer(&path).as_bytes());
    let _ = stream.flush();
    let _ = stream.shutdown(std::net::Shutdown::Write);
    // What else is sent is taken, so that the answer is not lost.
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// A response without a body.
pub(super) fn status(line: &str, header: &str) -> String {
    format!("HTTP/1.1 {line}\r\n{header}content-length: 0\r\nconnection: close\r\n\r\n")
}
