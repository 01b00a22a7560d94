//! The PostgreSQL store keeps the contract, and what only it promises.

mod keeps_contract {
    use std::sync::Arc;

    use crate::{PostgresOptions, PostgresStore, Store};

    fn fresh() -> (Arc<dyn Store>, ()) {
        let options = PostgresOptions::new(&signoff_test_postgres::fresh(), "own").unwrap();
        (Arc::new(PostgresStore::open(options).unwrap()), ())
    }

    crate::store_conformance!(fresh());
}
