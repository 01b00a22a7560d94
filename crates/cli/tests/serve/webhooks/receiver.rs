//! Whoever is told what happens: takes requests, keeps them, and answers as it is told.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use signoff_testkit::process::PATIENCE;

/// A request that came.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
    pub(super) status: u16,
}

impl Sent {
    pub(super) fn event(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// What is answered, if it is more than a status.
type Answer = dyn Fn(&Sent) -> (u16, String) + Send + Sync;

#[derive(Default)]
struct Seen {
    sent: Vec<Sent>,
    answers: VecDeque<u16>,
}

/// A receiver on a port of its own.
#[derive(Clone)]
pub(super) struct Receiver {
    pub(super) port: u16,
    seen: Arc<Mutex<Seen>>,
    up: Arc<AtomicBool>,
    answer: Option<Arc<Answer>>,
}

impl Receiver {
    /// One that answers with each of `answers` once, then with 204.
    pub(super) fn start(answers: &[u16]) -> Self {
        Self::listening(answers, None)
    }

    /// One that answers as `answer` says.
    pub(super) fn answering(
        answer: impl Fn(&Sent) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        Self::listening(&[], Some(Arc::new(answer)))
    }

    fn listening(answers: &[u16], answer: Option<Arc<Answer>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Seen { answers: answers.iter().copied().collect(), ..Seen::default() };
        let up = Arc::new(AtomicBool::new(true));
        let receiver = Self { port, seen: Arc::new(Mutex::new(seen)), up, answer };
        receiver.listen(listener);
        receiver
    }

    fn listen(&self, listener: TcpListener) {
        let serving = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if !serving.up.load(Ordering::SeqCst) {
                    return;
                }
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(&stream.unwrap()));
            }
        });
    }

    /// Nobody answers there any more.
    pub(super) fn down(&self) {
        self.up.store(false, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }

    /// Somebody answers there again.
    pub(super) fn up(&self) {
        let since = Instant::now();
        let listener = loop {
            match TcpListener::bind(("127.0.0.1", self.port)) {
                Ok(listener) => break listener,
                Err(error) => assert!(since.elapsed() < PATIENCE, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        self.up.store(true, Ordering::SeqCst);
        self.listen(listener);
    }

    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let headers: BTreeMap<String, String> = lines[1..]
            .iter()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut body = vec![0; headers["content-length"].parse().unwrap()];
        reader.read_exact(&mut body).ok()?;
        let path = lines[0].split(' ').nth(1).unwrap().to_owned();
        let body = String::from_utf8(body).unwrap();
        let mut sent = Sent { path, headers, body, status: 204 };
        let mut said = String::new();
        let status = {
            let mut seen = self.seen.lock().unwrap();
            match &self.answer {
                Some(answer) => (sent.status, said) = answer(&sent),
                None => sent.status = seen.answers.pop_front().unwrap_or(204),
            }
            let status = sent.status;
            seen.sent.push(sent);
            status
        };
        let place = if status == 302 { "location: /elsewhere\r\n" } else { "" };
        let answer = format!(
            "HTTP/1.1 {status} x\r\n{place}connection: close\r\ncontent-length: {}\r\n\r\n{said}",
            said.len()
        );
        stream.write_all(answer.as_bytes()).ok()
    }

    /// All that came.
    pub(super) fn sent(&self) -> Vec<Sent> {
        self.seen.lock().unwrap().sent.clone()
    }

    /// What was taken: type and request, in order.
    pub(super) fn taken(&self) -> Vec<(String, String)> {
        let taken = self.sent().into_iter().filter(|sent| sent.status == 204);
        taken
            .map(|sent| {
                let event = sent.event();
                let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                (word(&event["type"]), word(&event["data"]["request"]["id"]))
            })
            .collect()
    }

    /// Waits until so many were taken.
    pub(super) async fn has(&self, count: usize) -> Vec<(String, String)> {
        self.until(|receiver| receiver.taken().len() >= count).await;
        self.taken()
    }

    pub(super) async fn until(&self, enough: impl Fn(&Self) -> bool) {
        let since = Instant::now();
        while !enough(self) {
            assert!(since.elapsed() < PATIENCE, "it does not come: {:#?}", self.sent());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
