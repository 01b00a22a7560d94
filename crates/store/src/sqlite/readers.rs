//! Connections that read, a few of them, shared by all callers.

use std::ops::Deref;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::open::open_reader;
use crate::StoreError;

/// The reading connections.
#[derive(Debug)]
pub(super) struct Readers {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
}

impl Readers {
    pub(super) fn open(path: &Path, count: usize) -> Result<Self, StoreError> {
        let idle = (0..count.max(1)).map(|_| open_reader(path)).collect::<Result<_, _>>()?;
        Ok(Self { idle: Mutex::new(idle), returned: Condvar::new() })
    }

    /// A connection; waits until one is free.
    pub(super) fn get(&self) -> Reader<'_> {
        let mut idle = self.lock();
        loop {
            if let Some(connection) = idle.pop() {
                return Reader { home: self, connection: Some(connection) };
            }
            idle = self.returned.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        // The list is whole even if somebody panicked while holding it.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A borrowed connection.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    home: &'a Readers,
    // Only taken when this is dropped.
    connection: Option<Connection>,
}

impl Deref for Reader<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("a reader has its connection until it is dropped"),
        }
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.home.lock().push(connection);
            self.home.returned.notify_one();
        }
    }
}
