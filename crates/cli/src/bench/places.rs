//! Stores to measure on: a real disk, where fsync costs what it costs, and memory, where it is free.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use signoff_runtime::{Engine, EngineBuilder, new_id};
use signoff_store::{SqliteOptions, SqliteStore, Store};

/// A folder that goes away.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) folder: PathBuf,
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A fresh folder in each kind of place there is.
pub(crate) fn places() -> anyhow::Result<Vec<Place>> {
    let mut places = Vec::new();
    let disk =
        std::env::var_os(crate::env::BENCH_DIR.name).map_or_else(std::env::temp_dir, PathBuf::from);
    for (name, root) in [("disk", disk), ("shm", PathBuf::from("/dev/shm"))] {
        if root.is_dir() {
            places.push(place(name, &root)?);
        }
    }
    Ok(places)
}

fn place(name: &'static str, root: &Path) -> anyhow::Result<Place> {
    let folder = root.join(format!("signoff-bench-{}", new_id()));
    std::fs::create_dir_all(&folder)?;
    Ok(Place { name, folder })
}

impl Place {
    /// An engine on a database of this name in this place, and the database.
    pub(crate) fn engine_on(
        &self,
        database: &str,
        build: impl FnOnce(EngineBuilder) -> EngineBuilder,
    ) -> anyhow::Result<(Engine, Arc<SqliteStore>)> {
        self.engine_and(database, |builder| Ok(build(builder)))
    }

    /// The same where building can fail.
    pub(crate) fn engine_and(
        &self,
        database: &str,
        build: impl FnOnce(EngineBuilder) -> anyhow::Result<EngineBuilder>,
    ) -> anyhow::Result<(Engine, Arc<SqliteStore>)> {
        open(&self.folder.join(database), build)
    }

    /// Bytes of the databases here.
    pub(crate) fn bytes(&self) -> u64 {
        let Ok(files) = std::fs::read_dir(&self.folder) else {
            return 0;
        };
        files
            .filter_map(|file| file.ok()?.metadata().ok())
            .filter(std::fs::Metadata::is_file)
            .map(|meta| meta.len())
            .sum()
    }
}

/// An engine on a database, and the database.
pub(crate) fn open(
    database: &Path,
    build: impl FnOnce(EngineBuilder) -> anyhow::Result<EngineBuilder>,
) -> anyhow::Result<(Engine, Arc<SqliteStore>)> {
    let node: signoff_store::NodeId = new_id().into();
    let options = SqliteOptions::new(database, Arc::clone(&node));
    let sqlite = Arc::new(SqliteStore::open(options)?);
    let store: Arc<dyn Store> = Arc::clone(&sqlite) as Arc<dyn Store>;
    let engine = build(Engine::builder(store).node(node))?
        .build()
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((engine, sqlite))
}
