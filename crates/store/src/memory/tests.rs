//! The memory store keeps the contract.

use std::sync::Arc;

use crate::{MemoryStore, Store};

fn fresh() -> (Arc<dyn Store>, ()) {
    (Arc::new(MemoryStore::new()), ())
}

crate::store_conformance!(fresh());
