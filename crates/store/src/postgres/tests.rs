//! The PostgreSQL store keeps the contract, and what only it promises.

mod keeps_contract {
    use std::sync::Arc;

    use crate::{PostgresOptions, PostgresStore, Store};

    fn fresh(node: &str) -> (Arc<dyn Store>, ()) {
        let options = PostgresOptions::new(&signoff_test_postgres::fresh(), node).unwrap();
        (Arc::new(PostgresStore::open(options).unwrap()), ())
    }

    /// For nodes that others speak for: nothing of it is plain.
    mod for_others {
        crate::store_conformance!(super::fresh("own"));
    }

    /// For the node that most of the suite writes as: what is plain is written so.
    mod for_itself {
        crate::store_conformance!(super::fresh("n1"));
    }
}

mod answers;
mod batches;
mod fences;
mod nodes;
mod outages;
mod schema;
mod text;
mod tls;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{PostgresOptions, PostgresStore, Store, StoreError};

fn open(address: &str, node: &str) -> Result<PostgresStore, StoreError> {
    PostgresStore::open(PostgresOptions::new(address, node)?)
}

fn open_dyn(address: &str, node: &str) -> (Arc<PostgresStore>, Arc<dyn Store>) {
    let store = Arc::new(open(address, node).unwrap());
    (store.clone(), store)
}

/// Waits until something is so. How long that took.
async fn until(what: &str, is_so: impl AsyncFn() -> bool) -> Duration {
    let since = Instant::now();
    while !is_so().await {
        assert!(since.elapsed() < Duration::from_mins(1), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    since.elapsed()
}
