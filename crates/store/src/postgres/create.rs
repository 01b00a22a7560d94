//! Creates runs, and keeps the definitions they begin with.

use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::conn::Conn;
use super::conversations;
use super::error::Stop;
use super::job::Command;
use super::memory::KnownRun;
use super::numbers::Numbered;
use super::project;
use super::runs;
use super::text::Text;
use super::timers::set_timer;
use super::touches::Touches;
use crate::encoded::CreateRun;
use crate::{Created, Definition, Due, Follows, Lease, StoreError};

impl Command for CreateRun {
    type Output = Option<Created>;

    fn touches(&self, touches: &mut Touches) {
        touches.run(&self.id);
        // Somebody may want it to be the next of its conversation.
        touches.conversation(&self.tenant, &self.conversation);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<Option<Created>, Stop> {
        // What is remembered may be of a run that another node has removed since.
        batch.forget(&self.id);
        if batch.find(&self.id).await?.is_some() {
            return Ok(None);
        }
        if let Follows::Exactly(expected) = &self.follows {
            let latest = runs::latest(batch.conn(), &self.tenant, &self.conversation).await?;
            let latest = latest.map(|run| run.id);
            if let Some(run) = latest.filter(|latest| Some(latest) != expected.as_ref()) {
                return Err(StoreError::ConversationMoved { run }.into());
            }
        }
        let no = batch.number(Numbered::Run);
        insert(self, batch, no).await?;
        batch.remember(&self.id, KnownRun::numbered(no));
        batch.journal.borrow_mut().add(no, 1, self.count, &self.body, Some(self.updated_at));
        project::apply(batch, no, &self.changes).await?;
        if let Some(deadline) = self.deadline.filter(|_| !self.status.is_over()) {
            set_timer(batch, no, &Due::Run, deadline).await?;
        }
        if let Some(about) = &self.about {
            conversations::keep_new(batch, about).await?;
        }
        let node = self.claim.as_ref().map(|claim| claim.node.clone());
        let lease = node.map(|node| Lease { run: self.id.clone(), node, epoch: 1 });
        if let Some(lease) = &lease {
            batch.memory.hold(lease, self.count as u64, self.status);
        }
        Ok(Some(Created { lease }))
    }
}

async fn insert(run: &CreateRun, batch: &Batch<'_>, no: i64) -> Result<(), Stop> {
    let parent = run.parent.as_ref();
    let claim = run.claim.as_ref();
    batch
        .write(
            "INSERT INTO runs (no, id, root, workflow, version, conversation, status, head, ready,
                 lease_node, lease_until, epoch, parent_run, parent_activation, parent_key,
                 created_at, updated_at, tenant)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
            &[
                &no,
                &Text(run.id.as_str()),
                &parent.map(|parent| Text(parent.root.as_str())),
                &Text(&run.workflow),
                &Text(&run.version),
                &Text(run.conversation.as_str()),
                &Text(run.status.as_str()),
                &stored(run.count as u64),
                &!run.status.is_over(),
                &claim.map(|claim| Text(&claim.node)),
                &claim.map_or(0, |claim| claim.until.0),
                &i64::from(claim.is_some()),
                &parent.map(|parent| Text(parent.run.as_str())),
                &parent.map(|parent| i64::from(parent.activation)),
                &parent.map(|parent| Text(&parent.key)),
                &run.created_at.0,
                &run.updated_at.0,
                &Text(run.tenant.as_str()),
            ],
        )
        .await?;
    Ok(())
}

impl Command for Definition {
    type Output = ();

    /// One statement that finds it or writes it: it goes together with anything.
    fn touches(&self, _: &mut Touches) {}

    async fn apply(&self, batch: &Batch<'_>) -> Result<(), Stop> {
        let sql = "INSERT INTO definitions (hash, id, body) VALUES ($1, $2, $3)
            ON CONFLICT DO NOTHING";
        batch.write(sql, &[&Text(&self.hash), &Text(&self.id), &Text(&self.body)]).await?;
        Ok(())
    }
}

/// The definition of this hash.
pub(super) async fn definition(conn: &Conn, hash: &str) -> Result<Option<Definition>, Stop> {
    let sql = "SELECT id, body FROM definitions WHERE hash = $1";
    let Some(row) = conn.row(sql, &[&Text(hash)]).await? else { return Ok(None) };
    Ok(Some(Definition { hash: hash.into(), id: row.text(0)?.into(), body: row.text(1)? }))
}
