//! Connections that read, a few of them, shared by all callers.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::conn::Conn;
use super::connect::{Connector, Work};
use super::error::{Stop, is_lost};
use super::wait::wait_for;
use crate::StoreError;

/// How often something is read while connections break.
const MAX_TRIES: u32 = 5;

/// The reading connections. They are made when they are first needed.
#[derive(Debug)]
pub(super) struct Readers {
    connector: Connector,
    /// One place for each connection there may be; empty where it is not made yet, or broke.
    idle: Mutex<Vec<Option<Conn>>>,
    returned: Condvar,
}

impl Readers {
    pub(super) fn new(connector: Connector, count: usize) -> Self {
        let idle = Mutex::new((0..count.max(1)).map(|_| None).collect());
        Self { connector, idle, returned: Condvar::new() }
    }

    /// Reads something. If the connection breaks meanwhile, it is read again by another.
    pub(super) fn read<T>(
        &self,
        what: &impl AsyncFn(&Conn) -> Result<T, Stop>,
    ) -> Result<T, StoreError> {
        let mut place = Place { home: self, conn: self.take() };
        for again in (0..MAX_TRIES).rev() {
            let conn = match place.conn.take().filter(|conn| !conn.is_closed()) {
                Some(conn) => conn,
                None => self.connector.connect_patiently(Work::Read)?,
            };
            match wait_for(what(&conn)) {
                Err(Stop::Broken(error)) if again > 0 && is_lost(&error) => {}
                // It may be inside a transaction that failed: nobody needs it.
                Err(stop @ Stop::Broken(_)) => return Err(stop.into()),
                result => {
                    place.conn = Some(conn);
                    return result.map_err(StoreError::from);
                }
            }
        }
        Err(StoreError::Failed("the connection to PostgreSQL breaks again and again".to_owned()))
    }

    fn take(&self) -> Option<Conn> {
        let mut idle = self.lock();
        loop {
            // Those that are connected are at the end.
            if let Some(place) = idle.pop() {
                return place;
            }
            idle = self.returned.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Conn>>> {
        // The list is whole even if somebody panicked while holding it.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A borrowed place. It goes back when this is dropped.
struct Place<'a> {
    home: &'a Readers,
    conn: Option<Conn>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let conn = self.conn.take();
        let mut idle = self.home.lock();
        if conn.is_some() {
            idle.push(conn);
        } else {
            idle.insert(0, conn);
        }
        drop(idle);
        self.home.returned.notify_one();
    }
}
