//! Creates runs, and keeps the definitions they begin with.

use rusqlite::params;

use super::append::insert_entries;
use super::conversations;
use super::db::{Db, KnownRun};
use super::project;
use super::runs;
use super::timers::set_timer;
use super::writer::{Command, Stop};
use crate::encoded::CreateRun;
use crate::{Created, Definition, Due, Follows, Lease, StoreError};

impl Command for CreateRun {
    type Output = Option<Created>;

    fn apply(&self, db: &mut Db) -> Result<Option<Created>, Stop> {
        // What is remembered may be of a run that another process has removed since.
        db.forget(&self.id);
        if db.find(&self.id)?.is_some() {
            return Ok(None);
        }
        if let Follows::Exactly(expected) = &self.follows {
            let latest =
                runs::latest(&db.connection, &self.tenant, &self.conversation)?.map(|run| run.id);
            if let Some(run) = latest.filter(|latest| Some(latest) != expected.as_ref()) {
                return Err(StoreError::ConversationMoved { run }.into());
            }
        }
        let parent = self.parent.as_ref();
        let claim = self.claim.as_ref();
        db.connection
            .prepare_cached(
                "INSERT INTO runs (id, root, workflow, version, conversation, status, head, ready,
                     lease_node, lease_until, epoch, parent_run, parent_activation, parent_key,
                     created_at, updated_at, tenant)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                     ?17)",
            )?
            .execute(params![
                self.id.as_str(),
                parent.map(|parent| parent.root.as_str()),
                &*self.workflow,
                &*self.version,
                self.conversation.as_str(),
                self.status.as_str(),
                i64::try_from(self.count).unwrap_or(i64::MAX),
                !self.status.is_over(),
                claim.map(|claim| &*claim.node),
                claim.map_or(0, |claim| claim.until.0),
                i64::from(claim.is_some()),
                parent.map(|parent| parent.run.as_str()),
                parent.map(|parent| parent.activation),
                parent.map(|parent| &*parent.key),
                self.created_at.0,
                self.updated_at.0,
                self.tenant.as_str(),
            ])?;
        let no = db.connection.last_insert_rowid();
        db.remember(&self.id, KnownRun { no, consumed: 0 });
        insert_entries(db, no, 1, self.count, &self.body)?;
        project::apply(db, no, &self.changes)?;
        if let Some(deadline) = self.deadline.filter(|_| !self.status.is_over()) {
            set_timer(db, no, &Due::Run, deadline)?;
        }
        if let Some(about) = &self.about {
            conversations::keep_new(&db.connection, about)?;
        }
        let lease =
            claim.map(|claim| Lease { run: self.id.clone(), node: claim.node.clone(), epoch: 1 });
        Ok(Some(Created { lease }))
    }
}

impl Command for Definition {
    type Output = ();

    fn apply(&self, db: &mut Db) -> Result<(), Stop> {
        db.connection
            .prepare_cached(
                "INSERT OR IGNORE INTO definitions (hash, id, body) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![&*self.hash, &*self.id, self.body])?;
        Ok(())
    }
}
