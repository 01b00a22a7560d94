//! `signoff prune`: removes conversations that are long over; and the same while a server runs.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use signoff_core::{Actor, Span, Timestamp};
use signoff_runtime::{Clock as _, Engine, SystemClock};
use signoff_store::{Duty, NodeId, Prune, SqliteStore, Store, StoreError, TakeDuty};

use crate::app::App;
use crate::args::PruneArgs;
use crate::failure::{Exit, Failure, Result};
use crate::out;
use crate::place::Place;
use crate::style::printable_line;

/// How long a server rests between two looks at all runs, at most.
const LONGEST_REST: Duration = Duration::from_hours(1);
const SHORTEST_REST: Duration = Duration::from_secs(1);
/// And between two groups of runs, so that others can write.
const BETWEEN: Duration = Duration::from_millis(50);
/// How long nobody else removes anything while a node is at one group.
const GROUP: Duration = Duration::from_secs(30);

pub(crate) async fn perform(app: &App, args: &PruneArgs) -> Result<Exit> {
    let older: Span = args.older_than.parse().map_err(|problem| {
        Failure::usage(format!("--older-than: {problem}")).hint("for example 30d or 12h")
    })?;
    let store = app.needed_store()?;
    let now = SystemClock.now();
    let mut prune = Prune {
        before: before(now, older),
        workflow: args.workflow.as_deref().map(Into::into),
        after: 0,
        dry_run: args.dry_run,
        by: Actor::local(),
        at: now,
    };
    let (mut runs, mut entries) = (0_u64, 0_u64);
    loop {
        let pruned = store.prune(prune.clone()).await?;
        for run in &pruned.runs {
            (runs, entries) = (runs + 1 + run.parts, entries + run.entries);
            if args.json {
                out::json_line(&json!(run))?;
            } else {
                out::line(&format!(
                    "{}  {}  {}",
                    run.run,
                    run.status,
                    printable_line(&run.workflow)
                ))?;
            }
        }
        let Some(next) = pruned.next else { break };
        prune.after = next;
    }
    let s = if runs == 1 { "" } else { "s" };
    let what = if args.dry_run { "would be removed" } else { "removed" };
    out::note(&format!("{runs} run{s} {what}, with {entries} journal entries; the audit stays"));
    drop(store);
    if args.compact && !args.dry_run {
        match app.kept()? {
            Place::Sqlite(path) => SqliteStore::compact(&path)?,
            Place::Postgres(_) => out::note("PostgreSQL gives room back by itself (autovacuum)"),
        }
    }
    Ok(Exit::Done)
}

fn before(now: Timestamp, older: Span) -> Timestamp {
    Timestamp(now.0.saturating_sub_unsigned(older.0))
}

/// Removes what is older than this for as long as the process lives, in small groups, each of which is one transaction. Of several
/// nodes one does it, and the others look now and then whether it still does.
pub(super) fn keep_removing(engine: &Engine, finished: Span) {
    let rest = (finished.to_std() / 4).clamp(SHORTEST_REST, LONGEST_REST);
    let remover = Remover { store: Arc::clone(engine.store()), node: Arc::clone(engine.node()) };
    tokio::spawn(async move {
        loop {
            match remover.remove_all(finished, rest).await {
                Ok(0) => {}
                Ok(runs) => tracing::info!(runs, "removed what is over"),
                Err(error) => tracing::warn!(%error, "what is over could not be removed"),
            }
            tokio::time::sleep(rest).await;
        }
    });
}

struct Remover {
    store: Arc<dyn Store>,
    node: NodeId,
}

impl Remover {
    /// Whether it is for this node to remove anything from now on, for so long.
    async fn has_duty(&self, span: Duration) -> std::result::Result<bool, StoreError> {
        let now = SystemClock.now();
        let until = now.plus(Span(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)));
        let node = Arc::clone(&self.node);
        self.store.take_duty(TakeDuty { duty: Duty::Retention, node, now, until }).await
    }

    /// Goes through all runs once, if no other node does or has just done. How many were removed.
    async fn remove_all(
        &self,
        finished: Span,
        rest: Duration,
    ) -> std::result::Result<usize, StoreError> {
        let (mut after, mut runs) = (0, 0);
        // Asked for again with each group: whoever was too slow for one has lost it.
        while self.has_duty(GROUP).await? {
            let at = SystemClock.now();
            let by = Actor::new("system");
            let before = before(at, finished);
            let prune = Prune { before, workflow: None, after, dry_run: false, by, at };
            let pruned = self.store.prune(prune).await?;
            runs += pruned.runs.len();
            let Some(next) = pruned.next else {
                self.has_duty(rest).await?;
                break;
            };
            after = next;
            tokio::time::sleep(BETWEEN).await;
        }
        Ok(runs)
    }
}
