//! How often, how long, how many at once, and what happens when nobody waits any more.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use signoff_core::ErrorInfo;
use signoff_models::{
    BoxFuture, Delta, ModelError, ModelReply, ModelRequest, Provider, Resilient, Retries,
};
use signoff_testkit::model_server::{Fault, ModelServer, Replies};

use super::support::{ALL, ask, provider, question};

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    for kind in ALL {
        for fault in [Fault::Never, Fault::Silent, Fault::SlowEvents(Duration::from_secs(1))] {
            let server = ModelServer::start(Replies::text("hi")).await;
            let provider = provider(&server.config(kind));
            server.faults([fault.clone()]);
            let asked = question("hi");
            let call = ask(&provider, &asked);
            assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
            let since = Instant::now();
            while server.abandoned() == 0 {
                assert!(since.elapsed() < Duration::from_secs(5), "{kind:?} {fault:?}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert_eq!(server.open(), 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_calls_than_allowed_at_once() {
    let server = ModelServer::start(Replies::text("hi")).await;
    let mut config = server.config(ALL[0]);
    config.max_concurrent = Some(3);
    let provider = provider(&config);
    server.faults(vec![Fault::SlowHead(Duration::from_millis(20)); 12]);
    let calls: Vec<_> = (0..12)
        .map(|_| {
            let provider = Arc::clone(&provider);
            tokio::spawn(async move { ask(&provider, &question("hi")).await.0.unwrap() })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert!((2..=3).contains(&server.most()), "{}", server.most());
}

/// Fails as it is told, and notes when it was asked.
#[derive(Debug)]
struct Failing {
    error: ModelError,
    asked: Mutex<Vec<tokio::time::Instant>>,
}

impl Provider for Failing {
    fn complete<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.asked.lock().unwrap().push(tokio::time::Instant::now());
        Box::pin(async { Err(self.error.clone()) })
    }
}

async fn waits(retry_after: Option<Duration>, chance: f64, max: u32) -> Vec<u128> {
    let info = ErrorInfo::new("model_overloaded", "busy");
    let error = ModelError { retry_after, ..ModelError::passing(info) };
    let failing = Arc::new(Failing { error, asked: Mutex::default() });
    let retries = Retries {
        max,
        delay: Duration::from_millis(100),
        max_delay: Duration::from_secs(1),
        timeout: Duration::from_mins(1),
        max_concurrent: 1,
    };
    let inner: Arc<dyn Provider> = Arc::clone(&failing) as _;
    let patient: Arc<dyn Provider> =
        Arc::new(Resilient::new(inner, retries, Arc::new(move || chance)));
    let error = ask(&patient, &question("hi")).await.0.unwrap_err();
    assert!(!error.retryable);
    let asked = failing.asked.lock().unwrap();
    asked.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
}

#[tokio::test(start_paused = true)]
async fn waits_double_are_spread_and_have_an_end() {
    let near = |found: Vec<u128>, expected: &[u128]| {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!((*expected..=expected + 2).contains(found), "{found} is not {expected}");
        }
    };
    near(waits(None, 1.0, 6).await, &[100, 200, 400, 800, 1000, 1000]);
    near(waits(None, 0.0, 3).await, &[50, 100, 200]);
    near(waits(None, 0.5, 0).await, &[]);
    near(waits(Some(Duration::from_millis(700)), 0.0, 2).await, &[700, 700]);
    near(waits(Some(Duration::from_millis(1)), 1.0, 2).await, &[100, 200]);
    near(waits(Some(Duration::from_secs(2)), 0.0, 2).await, &[]);
}

/// Never answers.
#[derive(Debug)]
struct Silent;

impl Provider for Silent {
    fn complete<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_has_an_end_whatever_the_provider() {
    let retries = Retries {
        max: 1,
        delay: Duration::from_millis(1),
        max_delay: Duration::from_secs(1),
        timeout: Duration::from_secs(5),
        max_concurrent: 1,
    };
    let patient: Arc<dyn Provider> =
        Arc::new(Resilient::new(Arc::new(Silent), retries, Arc::new(|| 0.5)));
    let error = ask(&patient, &question("hi")).await.0.unwrap_err();
    assert_eq!(error.info.code, "model_timeout");
}
