//! What a page of `DevUI` sends, done. Such a page forgets its questions when it is loaded again, and says
//! nothing when something is refused. So what waits is shown to it again wherever it sends something that
//! cannot be taken; and it may name a checkpoint to be shown, or to go on from.

use signoff_core::request::RequestStatus;
use signoff_core::{Decision, Event, Request, RequestId, RunId, Seq, Tenant};
use signoff_runtime::{Engine, ForkRun};
use signoff_store::{ChangeConversation, RunRecord};

use super::again::Again;
use super::answer::decision;
use super::begin::{Begun, begin};
use super::checkpoint;
use super::conversations::session;
use super::decide::{Answering, Unlisted, answer};
use super::fault::{Fault, InParam as _};
use super::id::{Manner, Notice, ResponseId};
use super::input::Create;
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};

/// How many entries are looked at to see whether somebody answered.
const LOOK: usize = 500;

/// Does what a page wants. The response begins there.
pub(super) async fn page(
    app: &App,
    caller: Caller,
    create: Create,
    again: Again,
) -> Result<Begun, Fault> {
    let named: Option<RequestId> = create.answers.first().map(|(id, _)| id.clone());
    let (conversation, stream) = (create.conversation.clone(), create.stream);
    let tenant = caller.tenant.clone();
    let refused = match begin(app, caller, create, again).await {
        Ok(begun) => {
            if let Some(unlisted) = &begun.unlisted {
                remember(app, tenant, unlisted).await?;
            }
            return Ok(begun.told(Manner::DevUi));
        }
        Err(refused) => refused,
    };
    let notice = match refused.code() {
        "conversation_busy" if named.is_none() => Notice::Busy,
        "invalid_answer" | "already_decided" | "expired" => Notice::Refused,
        _ => return Err(refused),
    };
    if !stream {
        return Err(refused);
    }
    let found = app
        .read(move |engine| {
            let store = engine.store();
            let run = match (&named, &conversation) {
                (Some(id), _) => store.request(id)?.map(|request| request.root),
                (None, Some(conversation)) => engine.latest_run(conversation)?.map(|run| run.id),
                (None, None) => None,
            };
            Ok(run.map(|run| store.run(&run)).transpose()?.flatten())
        })
        .await?;
    match found.filter(|run| !run.status.is_over()) {
        Some(run) => Ok(ResponseId::shown(run.id, run.head, notice).into()),
        None => Err(refused),
    }
}

/// Makes a conversation that was begun elsewhere a session that pages list.
async fn remember(app: &App, tenant: Tenant, unlisted: &Unlisted) -> Result<(), Fault> {
    let Unlisted { conversation, workflow } = unlisted;
    let change = ChangeConversation::new(tenant, conversation.clone(), app.engine.clock().now());
    let change = ChangeConversation { metadata: Some(session(workflow)), ..change };
    app.engine.store().change_conversation(change).await?;
    Ok(())
}

/// What is to be done about a checkpoint.
enum Wanted {
    /// It is where the run stands.
    Present(RunRecord),
    /// The run went on from there.
    Past { run: RunId, seq: Seq, answers: Vec<(RequestId, Decision)> },
}

/// Goes on from a checkpoint. Where the run still stands there, it is shown, or answered; where it went on,
/// a new run is forked from there.
pub(super) async fn restore(
    app: &App,
    caller: Caller,
    mut create: Create,
    again: Again,
) -> Result<Begun, Fault> {
    app.takes_work()?;
    let (wanted, create) = app
        .read(move |engine| {
            let wanted = wanted(engine, &create);
            create.checkpoint = None;
            Ok(wanted.map(|wanted| (wanted, create)))
        })
        .await??;
    let manner = if create.devui { Manner::DevUi } else { again.manner() };
    match wanted {
        Wanted::Present(_) if !create.answers.is_empty() => {
            Ok(begin(app, caller, create, again).await?.told(manner))
        }
        Wanted::Present(run) => Ok(ResponseId::shown(run.id, run.head, Notice::Wanted).into()),
        Wanted::Past { run, seq, answers } => {
            let by = caller.actor.clone();
            let fork = ForkRun { run, at: seq, decision: None, by, reason: None };
            let forked = app.engine.fork(fork).await?.run;
            app.metrics.run_started();
            if answers.is_empty() {
                return Ok(ResponseId::shown(forked, seq, Notice::Wanted).into());
            }
            let reading = App::clone(app);
            let read =
                move |engine: &Engine| Answering::read(&reading, moved(engine, &forked, answers)?);
            let moved = app.read(move |engine| Ok(read(engine))).await??;
            Ok(answer(app, caller, moved).await?.told(manner))
        }
    }
}

fn wanted(engine: &Engine, create: &Create) -> Result<Wanted, Fault> {
    let named = create.checkpoint.as_deref().unwrap_or_default();
    let unknown = || {
        let message = format!("there is no checkpoint `{named}`");
        ApiError::new(Problem::UnknownItem, message)
            .hint("the items of its conversation list them")
            .in_param("checkpoint_id")
    };
    let (run, seq) = checkpoint::read(named).ok_or_else(unknown)?;
    let record = engine.store().run(&run)?.ok_or_else(unknown)?;
    let foreign = create.conversation.as_ref().is_some_and(|it| *it != record.conversation)
        || create.workflow.as_deref().is_some_and(|it| *it != *record.workflow);
    if foreign || checkpoint::of(engine, &record)?.iter().all(|place| place.seq != seq) {
        return Err(unknown());
    }
    if !record.status.is_over() && !went_on(engine, &record, seq)? {
        return Ok(Wanted::Present(record));
    }
    let mut answers = Vec::new();
    for (id, value) in &create.answers {
        let unknown = || ApiError::unknown_request(id.as_str()).in_param("input");
        let request = engine.store().request(id)?.filter(|it| it.run == run).ok_or_else(unknown)?;
        answers.push((id.clone(), decision(&request, value)?));
    }
    Ok(Wanted::Past { run, seq, answers })
}

/// Whether a run went on from a place: because of an answer, or from its beginning by itself.
fn went_on(engine: &Engine, record: &RunRecord, seq: Seq) -> Result<bool, Fault> {
    let after = engine.store().entries(&record.id, seq, LOOK)?;
    let only_steered = after
        .iter()
        .all(|entry| matches!(entry.event, Event::Paused { .. } | Event::Resumed { .. }));
    Ok(!only_steered || after.len() == LOOK)
}

/// The same answers to the requests of a fork.
fn moved(
    engine: &Engine,
    fork: &RunId,
    answers: Vec<(RequestId, Decision)>,
) -> Result<Vec<(Request, Decision)>, Fault> {
    let mut moved = Vec::new();
    for (id, decision) in answers {
        let there = id.split().map(|(_, no)| fork.request(no));
        let found = there.map(|there| engine.store().request(&there)).transpose()?.flatten();
        match found.filter(|request| request.status == RequestStatus::Pending) {
            Some(request) => moved.push((request, decision)),
            None => return Err(ApiError::unknown_request(id.as_str()).in_param("input")),
        }
    }
    Ok(moved)
}
