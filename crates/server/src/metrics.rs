//! Counters, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use signoff_core::RunStatus;
use signoff_core::journal::Event;
use signoff_traces::Counts;
use tracing::field::display;

use crate::access::{Caller, LINKS};
use crate::app::App;
use crate::process;

/// A counter for each set of labels.
#[derive(Debug, Default)]
struct Family(Mutex<BTreeMap<String, u64>>);

impl Family {
    fn count(&self, labels: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(labels).or_default() += 1;
    }

    fn write(&self, text: &mut String, name: &str, help: &str) {
        head(text, name, "counter", help);
        for (labels, value) in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
    }
}

/// What this process has done since it started.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    started: AtomicU64,
    streams: AtomicI64,
    ended: Family,
    decisions: Family,
    http: Family,
    webhooks: Family,
    pushes: Family,
}

impl Metrics {
    /// A run was started over HTTP.
    pub(crate) fn run_started(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// A run that was driven here has got this entry.
    pub(crate) fn entry(&self, event: &Event) {
        let status = match event {
            Event::RunCompleted {} => RunStatus::Completed,
            Event::RunFailed { .. } => RunStatus::Failed,
            Event::RunCancelled { .. } => RunStatus::Cancelled,
            _ => return,
        };
        self.ended.count(format!("status=\"{status}\""));
    }

    /// Somebody wanted to decide something: `taken`, `repeated`, or the code of the error.
    pub(crate) fn decision(&self, result: &str) {
        self.decisions.count(format!("result=\"{result}\""));
    }

    /// Something was sent to a webhook: `delivered`, `failed`, `refused`, `given_up` or `disabled`.
    pub(crate) fn webhook(&self, webhook: &str, outcome: &str) {
        self.webhooks.count(format!("webhook=\"{webhook}\",outcome=\"{outcome}\""));
    }

    /// A client was told of its task: `delivered`, `failed` or `given_up`.
    pub(crate) fn push(&self, outcome: &str) {
        self.pushes.count(format!("outcome=\"{outcome}\""));
    }

    /// A stream has begun (`1`) or ended (`-1`).
    pub(crate) fn streams(&self, change: i64) {
        self.streams.fetch_add(change, Ordering::Relaxed);
    }

    /// How many streams there are.
    pub(crate) fn open_streams(&self) -> i64 {
        self.streams.load(Ordering::Relaxed)
    }

    /// All of them as text. `pending` is what the store counts.
    pub(crate) fn text(&self, pending: u64, traces: &Counts) -> String {
        let mut text = String::new();
        let started = self.started.load(Ordering::Relaxed);
        one(&mut text, "signoff_runs_started_total", "counter", "Runs started over HTTP.", started);
        self.ended.write(&mut text, "signoff_runs_ended_total", "Runs that ended in this process.");
        let help = "Requests that wait for people.";
        one(&mut text, "signoff_requests_pending", "gauge", help, pending);
        self.decisions.write(
            &mut text,
            "signoff_decisions_total",
            "Decisions sent, by what came of them.",
        );
        self.http.write(&mut text, "signoff_http_requests_total", "HTTP requests answered.");
        self.webhooks.write(
            &mut text,
            "signoff_webhook_deliveries_total",
            "Attempts to tell webhooks, by what came of them.",
        );
        self.pushes.write(
            &mut text,
            "signoff_push_notifications_total",
            "Attempts to tell clients of A2A how their tasks go on, by what came of them.",
        );
        one(&mut text, "signoff_streams", "gauge", "Streams open now.", self.open_streams());
        let (sent, dropped) = (traces.sent(), traces.dropped());
        one(&mut text, "signoff_traces_sent_total", "counter", "Spans sent.", sent);
        let help = "Spans that could not be sent, or made.";
        one(&mut text, "signoff_traces_dropped_total", "counter", help, dropped);
        if let Some(bytes) = process::resident_bytes() {
            one(&mut text, "process_resident_memory_bytes", "gauge", "Memory in use.", bytes);
        }
        if let Some(seconds) = process::cpu_seconds() {
            one(&mut text, "process_cpu_seconds_total", "counter", "Processor time.", seconds);
        }
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn one(text: &mut String, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
    head(text, name, kind, help);
    let _ = writeln!(text, "{name} {value}");
}

/// Counts a request and writes one line about it. Nothing of what it carries is written: neither
/// body nor headers nor query, nor what stands in a link.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let path = request.uri().path();
    // A link is as good as a token.
    let path = if path.starts_with(LINKS) { LINKS } else { path }.to_owned();
    let since = tokio::time::Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    let route = route.as_deref().unwrap_or("none");
    // A method is whatever a client says; only known ones become labels.
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let label = known.into_iter().find(|known| *known == method.as_str()).unwrap_or("other");
    app.metrics.http.count(format!("method=\"{label}\",route=\"{route}\",status=\"{status}\""));
    // To the microsecond.
    let duration_ms = (since.elapsed().as_secs_f64() * 1e6).round() / 1e3;
    // Nobody was let in, if there is none.
    let caller = response.extensions().get::<Caller>();
    let actor = caller.map(|caller| display(&caller.actor));
    let tenant = caller.map(|caller| display(&caller.tenant));
    tracing::debug!(%method, path, route, status, duration_ms, actor, tenant, "request");
    response
}
