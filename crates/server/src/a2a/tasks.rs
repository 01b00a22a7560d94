//! Tasks: looked at, listed, stopped, listened to.

use std::cmp::Reverse;
use std::time::Duration;

use signoff_a2a::wire::{ListParams, Task, TaskList, TaskParams, TaskState};
use signoff_core::{ConversationId, RunId, RunStatus, Timestamp};
use signoff_runtime::{Engine, EngineError};
use signoff_store::{RunFilter, RunRecord};

use super::fault::{Fault, Kind};
use super::follow::{Follow, Until};
use super::project::Viewer;
use super::send::{history_length, own_tenant};
use super::{load, trimmed};
use crate::access::Caller;
use crate::app::App;

/// How long an answer waits for a run to stop.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many tasks come at once, and at most.
const PAGE: i64 = 50;
const MAX_PAGE: i64 = 100;
/// How many of the newest tasks a list looks through.
const LISTED: usize = 10_000;
/// How many runs are read at once.
const RUNS: usize = 1000;

/// A task as it stands.
pub(crate) async fn get(
    app: &App,
    caller: &Caller,
    workflow: &str,
    params: TaskParams,
) -> Result<Task, Fault> {
    let length = history_length(params.history_length)?;
    let (_, fold) = found(app, caller, workflow, params).await?;
    Ok(trimmed(fold.task().clone(), length))
}

/// What happens to a task from now on, until it is over.
pub(crate) async fn subscribe(
    app: &App,
    caller: &Caller,
    workflow: &str,
    params: TaskParams,
) -> Result<Follow, Fault> {
    app.room("close some")?;
    let (run, fold) = found(app, caller, workflow, params).await?;
    if fold.state().is_terminal() {
        let message = format!("task `{run}` is over; nothing more happens to it");
        return Err(Fault::new(Kind::UnsupportedOperation, message).coded("run_over"));
    }
    Ok(Follow::from_here(app, run, fold, Until::End))
}

/// Stops a task.
pub(crate) async fn cancel(
    app: &App,
    caller: &Caller,
    workflow: &str,
    params: TaskParams,
) -> Result<Task, Fault> {
    app.takes_work()?;
    let over = |run: &RunId| {
        let message = format!("task `{run}` is over and cannot be stopped any more");
        Fault::new(Kind::TaskNotCancelable, message).coded("run_over")
    };
    let (run, fold) = found(app, caller, workflow, params).await?;
    if fold.state().is_terminal() {
        return Err(over(&run));
    }
    let mut follow = Follow::from_here(app, run.clone(), fold, Until::End);
    match app.engine.cancel(&run, caller.actor.clone(), None).await {
        Ok(()) => {}
        Err(EngineError::Over(_)) => return Err(over(&run)),
        Err(error) => return Err(error.into()),
    }
    // One that is busy stops when it comes to it.
    if let Ok(ended) = tokio::time::timeout(PATIENCE, follow.run_out()).await {
        ended?;
    }
    Ok(follow.task().clone())
}

async fn found(
    app: &App,
    caller: &Caller,
    workflow: &str,
    params: TaskParams,
) -> Result<(RunId, super::project::Fold), Fault> {
    own_tenant(caller, params.tenant.as_deref())?;
    if params.id.is_empty() {
        return Err(Fault::invalid("id", "it is missing"));
    }
    let (workflow, viewer) = (workflow.to_owned(), Viewer::from(caller));
    let read = move |engine: &Engine| {
        let run = load::run(engine, &workflow, &params.id)?.id;
        Ok::<_, Fault>((run.clone(), load::task(engine, &run, viewer)?))
    };
    app.read(move |engine| Ok(read(engine))).await?
}

/// Tasks, those whose status is the newest first.
pub(crate) async fn list(
    app: &App,
    caller: &Caller,
    workflow: &str,
    params: ListParams,
) -> Result<TaskList, Fault> {
    own_tenant(caller, params.tenant.as_deref())?;
    let wanted = Wanted::read(&params)?;
    let (workflow, viewer) = (workflow.to_owned(), Viewer::from(caller));
    app.search(move |engine| Ok(listed(engine, &workflow, &viewer, &wanted))).await?
}

/// Which tasks are wanted.
struct Wanted {
    context: Option<ConversationId>,
    state: Option<TaskState>,
    size: usize,
    after: Option<Key>,
    since: Option<Timestamp>,
    length: usize,
    artifacts: bool,
}

/// Where a task stands in a list.
type Key = Reverse<(i64, String)>;

impl Wanted {
    fn read(params: &ListParams) -> Result<Self, Fault> {
        let size = params.page_size.unwrap_or(PAGE);
        if !(1..=MAX_PAGE).contains(&size) {
            return Err(Fault::invalid("pageSize", format!("it is 1 to {MAX_PAGE}")));
        }
        let after = match params.page_token.as_deref() {
            None | Some("") => None,
            Some(token) => Some(
                key(token)
                    .ok_or_else(|| Fault::invalid("pageToken", "it is not a token of this list"))?,
            ),
        };
        let since = match params.status_timestamp_after.as_deref() {
            None | Some("") => None,
            Some(text) => Some(Timestamp::from_rfc3339(text).ok_or_else(|| {
                Fault::invalid("statusTimestampAfter", "it is a time such as 2026-11-15T12:00:00Z")
            })?),
        };
        let context = params.context_id.as_deref().filter(|id| !id.is_empty());
        Ok(Self {
            context: context.map(ConversationId::new),
            state: params.status.filter(|state| *state != TaskState::Unspecified),
            size: usize::try_from(size).unwrap_or(1),
            after,
            since,
            length: history_length(params.history_length)?.unwrap_or(0),
            artifacts: params.include_artifacts.unwrap_or(false),
        })
    }

    /// Whether a run may have the wanted state, for all the store knows of it.
    fn may_be(&self, status: RunStatus) -> bool {
        let Some(state) = self.state else { return true };
        match status {
            RunStatus::Completed => matches!(state, TaskState::Completed | TaskState::Rejected),
            RunStatus::Cancelled => matches!(state, TaskState::Canceled | TaskState::Rejected),
            RunStatus::Failed => state == TaskState::Failed,
            _ => !state.is_terminal(),
        }
    }

    /// Whether every run that [may be](Self::may_be) wanted is, whatever its journal says.
    fn is_plain(&self) -> bool {
        self.state.is_none() && self.since.is_none()
    }
}

fn key(token: &str) -> Option<Key> {
    let (at, id) = token.split_once('.')?;
    Some(Reverse((at.parse().ok()?, id.to_owned())))
}

/// A status is never newer than the journal it is in. So runs are taken by the age of their journals, and no further than
/// needed to know the page; all of them, where only their journals say how many there are.
fn listed(
    engine: &Engine,
    workflow: &str,
    viewer: &Viewer,
    wanted: &Wanted,
) -> Result<TaskList, Fault> {
    let mut runs = runs(engine, workflow, wanted)?;
    runs.sort_by_key(|run| Reverse((run.updated_at.0, run.id.to_string())));
    let mut total = runs.len();
    let mut page: Vec<(Key, Task)> = Vec::new();
    let mut matching = 0;
    for run in &runs {
        let known = page.get(wanted.size).map(|(key, _)| key.0.0);
        if wanted.is_plain() && known.is_some_and(|last| run.updated_at.0 < last) {
            break;
        }
        let task = load::task(engine, &run.id, viewer.clone())?.task().clone();
        let at = task.status.timestamp.as_deref().and_then(Timestamp::from_rfc3339);
        let at = at.unwrap_or(run.updated_at);
        let state = task.status.state;
        if wanted.state.is_some_and(|it| it != state) || wanted.since.is_some_and(|it| at < it) {
            continue;
        }
        matching += 1;
        let key = Reverse((at.0, run.id.to_string()));
        if wanted.after.as_ref().is_some_and(|after| key <= *after) {
            continue;
        }
        let place = page.partition_point(|(other, _)| *other < key);
        page.insert(place, (key, task));
        // One more says that there is another page.
        page.truncate(wanted.size + 1);
    }
    if !wanted.is_plain() {
        total = matching;
    }
    let more = page.len() > wanted.size;
    page.truncate(wanted.size);
    let last = page.last().filter(|_| more).map(|(Reverse((at, id)), _)| format!("{at}.{id}"));
    let tasks = page.into_iter().map(|(_, task)| {
        let mut task = trimmed(task, Some(wanted.length));
        if !wanted.artifacts {
            task.artifacts.clear();
        }
        task
    });
    Ok(TaskList {
        tasks: tasks.collect(),
        next_page_token: last.unwrap_or_default(),
        page_size: wanted.size,
        total_size: total,
    })
}

/// The runs that may be wanted.
fn runs(engine: &Engine, workflow: &str, wanted: &Wanted) -> Result<Vec<RunRecord>, Fault> {
    let filter = RunFilter {
        workflow: Some(workflow.into()),
        conversation: wanted.context.clone(),
        ..RunFilter::default()
    };
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = engine.store().runs(&filter, cursor.as_deref(), RUNS)?;
        let may_be = |run: &RunRecord| {
            run.root == run.id
                && wanted.may_be(run.status)
                && wanted.since.is_none_or(|since| run.updated_at >= since)
        };
        all.extend(page.items.into_iter().filter(may_be));
        cursor = page.next;
        if cursor.is_none() || all.len() >= LISTED {
            all.truncate(LISTED);
            return Ok(all);
        }
    }
}
