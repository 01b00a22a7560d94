//! Clients that are told elsewhere how their tasks go on.
//!
//! What they are told is what a stream would have told them: steps of the task's fold (`super::project`), made of the
//! journal when it is their turn. The store keeps where to, and how far they were told; so a restart loses nothing, a
//! task that waits costs nothing, and whichever process has the turn delivers.
//!
//! | the answer | what follows |
//! |---|---|
//! | 2xx | the next event; after the last one of the task nothing more |
//! | 410, or an address that may not be reached | nothing more |
//! | anything else, or none | the same event again, later and later; after a day nothing more |

mod deliver;
mod kept;
mod send;

use serde_json::{Value, json};
use signoff_a2a::wire::{PushConfig, PushParams};
use signoff_core::{Name, RunId, Seq, Timestamp};
use signoff_net::Url;
use signoff_runtime::new_id;
use signoff_store::{Push, PutPush};

pub(crate) use self::deliver::Delivery;
pub use self::deliver::Receivers;
use self::kept::Kept;
use super::fault::{Fault, Kind};
use super::load;
use super::send::own_tenant;
use super::version::Version;
use crate::access::Caller;
use crate::app::App;

/// The longest name of one, and the longest token and credentials, in bytes.
const MAX_NAME: usize = 128;
const MAX_SECRET: usize = 4096;
const MAX_URL: usize = 2048;

/// A client wants to be told of a task from now on.
pub(crate) async fn create(
    app: &App,
    caller: &Caller,
    workflow: &str,
    version: Version,
    config: PushConfig,
) -> Result<PushConfig, Fault> {
    app.takes_work()?;
    own_tenant(caller, config.tenant.as_deref())?;
    let task = config.task_id.clone().unwrap_or_default();
    let run = found(app, workflow, task).await?;
    put(app, caller, version, &run.0, run.1, config).await
}

/// The same for a task that was just begun or answered, from an entry of its journal on.
pub(super) async fn put(
    app: &App,
    caller: &Caller,
    version: Version,
    run: &RunId,
    from: Seq,
    config: PushConfig,
) -> Result<PushConfig, Fault> {
    let mut config = checked(app, config)?;
    let since = if from == 0 { Timestamp(0) } else { app.engine.clock().now() };
    config.task_id = Some(run.to_string());
    let id: Name = config.id.get_or_insert_with(|| format!("push_{}", new_id())).as_str().into();
    let body = Kept::new(&config, version, caller, since).write()?;
    let put = PutPush { run: run.clone(), id, body, from };
    if app.engine.store().put_push(put).await? {
        return Ok(config);
    }
    let message = "as many are told of this task as can be; take one of them back first";
    Err(Fault::new(Kind::UnsupportedOperation, message).coded("too_many_pushes"))
}

/// Refuses what could not be used.
pub(super) fn checked(app: &App, config: PushConfig) -> Result<PushConfig, Fault> {
    let mut config = config.in_new_words();
    config.tenant = None;
    config.id = config.id.filter(|id| !id.is_empty());
    let named = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if config.id.as_ref().is_some_and(|id| id.len() > MAX_NAME || !id.chars().all(named)) {
        let problem = "it has at most 128 letters, digits, `_`, `-` and `.`";
        return Err(Fault::invalid("id", problem));
    }
    if config.url.is_empty() || config.url.len() > MAX_URL {
        return Err(Fault::invalid("url", "it is missing, or longer than 2048 characters"));
    }
    let url = Url::parse(&config.url);
    let url = url.map_err(|error| Fault::invalid("url", format!("it is not a URL: {error}")))?;
    let Some(receivers) = &app.settings.receivers else {
        let message = "nobody is told by this agent; subscribe to the task instead";
        return Err(Fault::new(Kind::PushNotificationNotSupported, message));
    };
    receivers.admit(&url).map_err(|error| Fault::invalid("url", error.to_string()))?;
    let how = config.authentication.iter();
    let how = how.flat_map(|how| [Some(&how.scheme), how.credentials.as_ref()]);
    for secret in how.chain([config.token.as_ref()]).flatten() {
        if secret.len() > MAX_SECRET || !secret.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
            let problem = "it goes into a header: at most 4096 visible ASCII characters";
            return Err(Fault::invalid("authentication", problem));
        }
    }
    Ok(config)
}

/// One of those who are told of a task.
pub(crate) async fn get(
    app: &App,
    caller: &Caller,
    workflow: &str,
    params: PushParams,
) -> Result<PushConfig, Fault> {
    let (run, id) = named(app, caller, workflow, params).await?;
    let all = kept(app, &run).await?;
    let found = match &id {
        Some(id) => all.into_iter().find(|push| *push.id == **id),
        // 0.3 may leave it out.
        None => all.into_iter().next(),
    };
    found.map_or_else(|| Err(no_such(id.as_deref())), |push| config(&push))
}

/// All who are told of a task.
pub(crate) async fn list(
    app: &App,
    caller: &Caller,
    workflow: &str,
    params: PushParams,
) -> Result<Vec<PushConfig>, Fault> {
    let (run, _) = named(app, caller, workflow, params).await?;
    kept(app, &run).await?.iter().map(config).collect()
}

/// Somebody is told nothing more. It is as good if nobody was.
pub(crate) async fn delete(
    app: &App,
    caller: &Caller,
    workflow: &str,
    params: PushParams,
) -> Result<(), Fault> {
    let (run, id) = named(app, caller, workflow, params).await?;
    let Some(id) = id else { return Err(Fault::invalid("id", "it is missing")) };
    app.engine.store().remove_push(&run, &id.into()).await?;
    Ok(())
}

/// All of them as a page of 1.0; there are never so many that it takes two.
pub(super) fn page(all: &[PushConfig]) -> Value {
    json!({ "configs": all, "nextPageToken": "" })
}

/// The task that is meant, and which of those who are told of it.
async fn named(
    app: &App,
    caller: &Caller,
    workflow: &str,
    params: PushParams,
) -> Result<(RunId, Option<String>), Fault> {
    own_tenant(caller, params.tenant.as_deref())?;
    let (task, id) = match (params.task_id, params.id) {
        (Some(task), id) => (task, id),
        // In 0.3 `id` is the task's.
        (None, task) => (task.unwrap_or_default(), params.push_notification_config_id),
    };
    let (run, _) = found(app, workflow, task).await?;
    Ok((run, id.filter(|id| !id.is_empty())))
}

async fn found(app: &App, workflow: &str, task: String) -> Result<(RunId, Seq), Fault> {
    if task.is_empty() {
        return Err(Fault::invalid("taskId", "it is missing"));
    }
    let workflow = workflow.to_owned();
    let read = app.read(move |engine| Ok(load::run(engine, &workflow, &task)));
    let run = read.await??;
    Ok((run.id, run.head))
}

async fn kept(app: &App, run: &RunId) -> Result<Vec<Push>, Fault> {
    let run = run.clone();
    Ok(app.read(move |engine| Ok(engine.store().pushes(&run)?)).await?)
}

fn config(push: &Push) -> Result<PushConfig, Fault> {
    Ok(Kept::read(push)?.config)
}

fn no_such(id: Option<&str>) -> Fault {
    let shown = signoff_core::text::clean(id.unwrap_or("any"), 64);
    let fault = Fault::new(Kind::TaskNotFound, format!("nobody called `{shown}` is told of it"));
    fault.coded("unknown_push")
}
