//! What one node at a time does for all.

use super::batch::Batch;
use super::error::Stop;
use super::job::Command;
use super::nodes::reap;
use super::text::Text;
use super::touches::Touches;
use crate::TakeDuty;

impl Command for TakeDuty {
    type Output = bool;

    /// Everything, because leases of dead nodes may be ended along with it.
    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        reap(batch).await?;
        let taken = batch
            .change(
                "INSERT INTO duties (name, lease_node, lease_until) VALUES ($1, $2, $3)
                 ON CONFLICT (name) DO UPDATE SET lease_node = $2, lease_until = $3
                 WHERE duties.lease_node IS NULL OR duties.lease_node = $2 OR duties.lease_until <= $4
                 RETURNING name",
                &[&Text(self.duty.as_str()), &Text(&self.node), &self.until.0, &self.now.0],
            )
            .await?;
        Ok(!taken.is_empty())
    }
}
