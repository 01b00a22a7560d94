//! Messages: a new task, or an answer to what a task asks. Never both.

use signoff_a2a::wire::{Event, Message, SendParams};
use signoff_core::request::RequestStatus;
use signoff_core::{Decision, Request, RunId, Sent};
use signoff_runtime::{DecideRequest, Engine, StartRun, new_id};
use signoff_store::RequestFilter;

use super::fault::{Fault, Kind, other_tenant};
use super::follow::{Follow, Until};
use super::project::{Fold, Viewer};
use super::version::Version;
use super::{load, message, push, trimmed};
use crate::access::Caller;
use crate::api::{conversation, take_decision};
use crate::app::App;
use crate::error::ApiError;
use crate::shape::{input, waiting};

/// Takes a message. The task, once it is over or waits, or as soon as it is taken, whichever is wanted; or what the
/// workflow says instead of a task.
pub(crate) async fn send(
    app: &App,
    caller: &Caller,
    workflow: &str,
    version: Version,
    params: SendParams,
) -> Result<Event, Fault> {
    let configuration = params.configuration.clone().unwrap_or_default();
    let length = history_length(configuration.history_length)?;
    let mut follow = begin(app, caller, workflow, version, params, Until::Rest).await?;
    if configuration.waits() {
        follow.run_out().await?;
        if let Some(said) = follow.fold().bare_message() {
            return Ok(Event::Message(Message { task_id: None, ..said.clone() }));
        }
    } else {
        // The task itself comes first.
        follow.next().await?;
    }
    Ok(Event::Task(Box::new(trimmed(follow.task().clone(), length))))
}

/// Takes a message, and tells what follows.
pub(crate) async fn stream(
    app: &App,
    caller: &Caller,
    workflow: &str,
    version: Version,
    params: SendParams,
) -> Result<Follow, Fault> {
    app.room("close some, or send without streaming")?;
    begin(app, caller, workflow, version, params, Until::Question).await
}

/// How many messages a client wants.
pub(super) fn history_length(wanted: Option<i64>) -> Result<Option<usize>, Fault> {
    let negative = |_| Fault::invalid("historyLength", "it is not negative");
    wanted.map(usize::try_from).transpose().map_err(negative)
}

/// Refuses a client that speaks for others.
pub(super) fn own_tenant(caller: &Caller, named: Option<&str>) -> Result<(), Fault> {
    match named {
        Some(name) if !name.is_empty() && name != caller.tenant.as_str() => Err(other_tenant(name)),
        _ => Ok(()),
    }
}

async fn begin(
    app: &App,
    caller: &Caller,
    workflow: &str,
    version: Version,
    params: SendParams,
    until: Until,
) -> Result<Follow, Fault> {
    app.takes_work()?;
    own_tenant(caller, params.tenant.as_deref())?;
    // What could not be used is refused before anything is done.
    let push = params.configuration.and_then(|it| it.task_push_notification_config);
    let push = push.map(|config| push::checked(app, config)).transpose()?;
    let message = message::check(params.message)?;
    let task = message.task_id.clone().filter(|id| !id.is_empty());
    let follow = match task {
        Some(task) => answer(app, caller, workflow, &task, message, until).await?,
        None => start(app, caller, workflow, message, until).await?,
    };
    if let Some(config) = push {
        push::put(app, caller, version, follow.run(), follow.fold().seen(), config).await?;
    }
    Ok(follow)
}

async fn start(
    app: &App,
    caller: &Caller,
    workflow: &str,
    message: Message,
    until: Until,
) -> Result<Follow, Fault> {
    let named = message.context_id.as_deref().filter(|id| !id.is_empty());
    let context = named.map(conversation).transpose().map_err(|_| {
        let problem = "it has at most 128 letters, digits, `_`, `-` and `.`";
        Fault::invalid("message.contextId", problem)
    })?;
    let run = RunId::from_unique(&new_id());
    let start = StartRun {
        conversation: context,
        by: caller.actor.clone(),
        run: Some(run.clone()),
        beside: true,
        sent: Some(message::sent(&message)?),
        ..StartRun::new(workflow, input(&app.engine, Some(workflow), &message::value(&message)))
    };
    let follow = Follow::of_new(app, run, caller.into(), until);
    app.engine.start(start).await?;
    app.metrics.run_started();
    Ok(follow)
}

/// What a message to a task means.
enum Said {
    /// It was sent before, and decided these.
    Again(Vec<Request>),
    Answers(Vec<(Request, Decision)>),
}

async fn answer(
    app: &App,
    caller: &Caller,
    workflow: &str,
    task: &str,
    message: Message,
    until: Until,
) -> Result<Follow, Fault> {
    let viewer = Viewer::from(caller);
    let (workflow, task) = (workflow.to_owned(), task.to_owned());
    let sent = message::sent(&message)?;
    let kept = sent.clone();
    let reading =
        app.read(move |engine| Ok(plan(engine, &workflow, &task, &message, &kept, viewer)));
    let (run, fold, said) = reading.await??;
    // Listened to from before it moves.
    let mut follow = Follow::from_answer(app, run.clone(), fold, until);
    let decided = match said {
        Said::Again(requests) => requests,
        Said::Answers(answers) => decide(app, caller, answers, &sent).await?,
    };
    let own = decided.iter().filter(|request| request.run == run);
    follow.answered(own.filter_map(|request| Some(request.id.split()?.1)).collect());
    Ok(follow)
}

/// What a message to a task means, and how the task stands.
fn plan(
    engine: &Engine,
    workflow: &str,
    task: &str,
    message: &Message,
    sent: &Sent,
    viewer: Viewer,
) -> Result<(RunId, Fold, Said), Fault> {
    let record = load::run(engine, workflow, task)?;
    let context = message.context_id.as_deref().filter(|id| !id.is_empty());
    if context.is_some_and(|id| id != record.conversation.as_str()) {
        let problem = format!("task `{task}` does not belong to it");
        return Err(Fault::invalid("message.contextId", problem));
    }
    let decided = RequestFilter {
        status: Some(RequestStatus::Decided),
        root: Some(record.id.clone()),
        ..RequestFilter::default()
    };
    let decided = load::requests(engine, &decided)?;
    let is_this = |request: &&Request| {
        request.decision.as_ref().is_some_and(|taken| {
            taken.by == viewer.actor && taken.sent.as_deref().is_some_and(|it| it == sent)
        })
    };
    let before: Vec<Request> = decided.iter().filter(is_this).cloned().collect();
    let said = if before.is_empty() {
        if record.status.is_over() {
            let message = format!("task `{task}` is over ({})", record.status);
            return Err(Fault::new(Kind::UnsupportedOperation, message).coded("run_over"));
        }
        let pending = waiting(&**engine.store(), &record.id)?;
        if pending.is_empty() {
            return Err(working(task, &decided));
        }
        Said::Answers(message::answers(message, &pending, &viewer)?)
    } else {
        Said::Again(before)
    };
    let fold = load::task(engine, &record.id, viewer)?;
    Ok((record.id, fold, said))
}

/// A task that asks nothing: it works, perhaps because somebody was faster.
fn working(task: &str, decided: &[Request]) -> Fault {
    let taken = decided.iter().filter_map(|request| request.decision.as_ref());
    let message = format!("task `{task}` is working and asks nothing; wait until it does");
    match taken.max_by_key(|taken| taken.at) {
        Some(last) => {
            let was = format!("what it asked was already decided by {} at {}", last.by, last.at);
            Fault::new(Kind::UnsupportedOperation, format!("{message} ({was})"))
                .coded("already_decided")
        }
        None => Fault::new(Kind::UnsupportedOperation, message),
    }
}

/// Takes decisions, all or none. Those requests that are then decided; others wait for more people to agree.
async fn decide(
    app: &App,
    caller: &Caller,
    answers: Vec<(Request, Decision)>,
    sent: &Sent,
) -> Result<Vec<Request>, Fault> {
    let decide = |(request, decision): (Request, Decision)| {
        DecideRequest::new(request.id, decision)
            .by(caller.actor.clone())
            .with_roles(&caller.roles)
            .sent(sent.clone())
    };
    let mut wanted: Vec<DecideRequest> = answers.into_iter().map(decide).collect();
    let mut decided = Vec::new();
    if wanted.len() > 1 {
        let ids: Vec<_> = wanted.iter().map(|decide| decide.request.clone()).collect();
        let taken = app.engine.decide_all(wanted).await;
        app.inbox.look_soon();
        if let Err(refused) = taken {
            let first = refused.into_iter().next().map(|(_, why)| ApiError::from(why));
            let first =
                first.unwrap_or_else(|| ApiError::internal(&"refused, and nobody says why"));
            return Err(first.into());
        }
        let found = app.read(move |engine| {
            let found = ids.iter().map(|id| engine.store().request(id));
            Ok(found.collect::<Result<Vec<_>, _>>()?)
        });
        decided.extend(found.await?.into_iter().flatten());
    } else if let Some(one) = wanted.pop() {
        decided.push(take_decision(app, one).await?.0);
    }
    decided.retain(|request| request.status != RequestStatus::Pending);
    Ok(decided)
}
