//! Says beside a database which server runs on it.
//!
//! The address stands in a file that the server holds locked. The system lets go of the lock when the process ends, however it
//! ends, so an address is never taken for one that is still there.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// Whoever looks holds the file for a moment.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// A file that is locked for as long as this lives.
#[derive(Debug)]
pub(crate) struct Beacon {
    _locked: File,
}

impl Beacon {
    /// Says that a server is at `address`. None, if another one says so already, or it cannot be said: then it must be named.
    pub(crate) async fn light(path: &Path, address: SocketAddr) -> Option<Self> {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).write(true).truncate(false).open(path).ok()?;
        let mut tries = 0;
        while file.try_lock().is_err() {
            tries += 1;
            if tries == TRIES {
                return None;
            }
            tokio::time::sleep(PAUSE).await;
        }
        file.set_len(0).ok()?;
        file.write_all(url(address).as_bytes()).ok()?;
        Some(Self { _locked: file })
    }
}

/// Where the server of this database is, if one runs.
pub(crate) fn find(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            (&mut file).take(1_000).read_to_string(&mut text).ok()?;
            Some(text).filter(|text| !text.is_empty())
        }
        _ => None,
    }
}

/// The address as it can be reached from here.
fn url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_is_found_only_while_its_server_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db.server");
        assert_eq!(find(&path), None);
        let beacon = Beacon::light(&path, "0.0.0.0:80".parse().unwrap()).await.unwrap();
        assert_eq!(find(&path).unwrap(), "http://127.0.0.1:80");
        assert!(Beacon::light(&path, "127.0.0.1:81".parse().unwrap()).await.is_none());
        drop(beacon);
        assert_eq!(find(&path), None);
    }
}
