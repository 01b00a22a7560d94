//! Who has opened which request.

use signoff_core::Tenant;

use super::audit::add_line;
use super::batch::Batch;
use super::columns::Columns as _;
use super::error::Stop;
use super::job::Command;
use super::text::Text;
use super::touches::Touches;
use crate::{StoreError, View};

impl Command for View {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.request(&self.request);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        let unknown = || StoreError::UnknownRequest(self.request.clone());
        let (run, number) = self.request.split().ok_or_else(unknown)?;
        let (number, version) = (i64::from(number), i64::from(self.version));
        let sql = "SELECT u.no, r.tenant FROM runs u JOIN requests r ON r.run = u.no
            WHERE u.id = $1 AND r.number = $2";
        let found = batch.conn().row(sql, &[&Text(run.as_str()), &number]).await?;
        let found = found.ok_or_else(unknown)?;
        let (run, tenant) = (found.int(0)?, Tenant::new(found.text(1)?));
        let sql = "INSERT INTO views (run, number, person, version) VALUES ($1, $2, $3, $4)
            ON CONFLICT (run, number, person) DO UPDATE SET version = excluded.version
                WHERE excluded.version > views.version";
        let bound: super::conn::Bound<'_> = &[&run, &number, &Text(self.by.as_str()), &version];
        if batch.write(sql, bound).await? == 0 {
            return Ok(false);
        }
        add_line(batch, self.at, self.by.clone(), self.request.clone(), tenant, self.said());
        Ok(true)
    }
}
