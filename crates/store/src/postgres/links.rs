//! Links by which people decide, and the secret that signs them.

use super::audit::add_line;
use super::batch::Batch;
use super::columns::Columns as _;
use super::error::Stop;
use super::job::Command;
use super::requests::by_id;
use super::text::Text;
use super::touches::Touches;
use crate::{AddLink, StoreError};

impl Command for AddLink {
    type Output = ();

    fn touches(&self, touches: &mut Touches) {
        touches.request(&self.request);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<(), Stop> {
        let Some(found) = by_id(batch.conn(), &self.request).await? else {
            return Err(StoreError::UnknownRequest(self.request.clone()).into());
        };
        let (by, request, tenant) = (self.by.clone(), self.request.clone(), found.request.tenant);
        add_line(batch, self.at, by, request, tenant, self.said());
        Ok(())
    }
}

/// A secret by its name; `new`, if there is none yet.
#[derive(Debug)]
pub(super) struct KeepSecret {
    pub(super) name: String,
    pub(super) new: String,
}

impl Command for KeepSecret {
    type Output = String;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<String, Stop> {
        let sql = "INSERT INTO secrets (name, secret) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        batch.write(sql, &[&Text(&self.name), &Text(&self.new)]).await?;
        let sql = "SELECT secret FROM secrets WHERE name = $1";
        let kept = batch.conn().row(sql, &[&Text(&self.name)]).await?;
        kept.map_or(Ok(self.new.clone()), |row| Ok(row.text(0)?))
    }
}
