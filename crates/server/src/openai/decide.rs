//! Answers, decided, and where in the journal they then stand.

use signoff_core::journal::Entry;
use signoff_core::{ConversationId, Decision, Event, Name, Request, RunId, Seq};
use signoff_runtime::DecideRequest;

use super::begin::Begun;
use super::fault::Fault;
use super::follow::Heard;
use super::id::ResponseId;
use super::stretch::Of;
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::stream::{Tail, Told};

/// How many entries are kept to tell a response; a longer journal is read again.
const KEPT: usize = 500;

/// A conversation of which nothing is kept but its runs.
#[derive(Debug)]
pub(super) struct Unlisted {
    pub(super) conversation: ConversationId,
    pub(super) workflow: Name,
}

/// Answers to requests of one run and its parts, with that run.
#[derive(Debug)]
pub(super) struct Answering {
    answers: Vec<(Request, Decision)>,
    root: RunId,
    of: Of,
    tail: Tail,
    unlisted: Option<Unlisted>,
}

impl Answering {
    /// Reads what is needed to answer, and listens to the run from before it moves.
    pub(super) fn read(app: &App, answers: Vec<(Request, Decision)>) -> Result<Self, Fault> {
        let Some(root) = answers.first().map(|(request, _)| request.root.clone()) else {
            return Err(Fault::invalid("input", "there is no answer in it"));
        };
        let record = app.engine.store().run(&root)?;
        let record = record.ok_or_else(|| ApiError::unknown_run(root.as_str()))?;
        let tail = Tail::read(app, root.clone())?;
        let known = app.engine.conversation(&record.conversation)?.is_some();
        let unlisted = (!known).then(|| Unlisted {
            conversation: record.conversation.clone(),
            workflow: record.workflow.clone(),
        });
        Ok(Self { answers, root, of: record.into(), tail, unlisted })
    }
}

/// Decides. The response begins there.
pub(super) async fn answer(
    app: &App,
    caller: Caller,
    answering: Answering,
) -> Result<Begun, Fault> {
    let Answering { answers, root, mut of, tail, unlisted } = answering;
    let mut own = Vec::new();
    for (request, decision) in answers {
        let number = request.id.split().filter(|_| request.run == root).map(|(_, no)| no);
        let decide = DecideRequest::new(request.id, decision)
            .by(caller.actor.clone())
            .with_roles(&caller.roles);
        let taken = app.engine.decide(decide).await;
        app.metrics.decision(match &taken {
            Ok(outcome) if outcome.changed => "taken",
            Ok(_) => "repeated",
            Err(error) => error.code(),
        });
        app.inbox.look_soon();
        if !taken?.open {
            own.extend(number);
        }
    }
    if own.is_empty() {
        return Ok(Begun { unlisted, ..ResponseId::at(root, of.head + 1).into() });
    }
    let (places, heard) = journaled(tail, &own).await?;
    match (places.iter().min(), places.iter().max()) {
        (Some(&first), Some(&last)) => {
            of.head = of.head.max(last);
            let heard = heard.map(|(tail, taken)| Heard { of, tail, taken });
            let id = ResponseId { last, ..ResponseId::at(root, first) };
            Ok(Begun { id, heard, unlisted })
        }
        _ => {
            Err(ApiError::new(Problem::RunOver, "the run was over before the answer reached it")
                .into())
        }
    }
}

/// Where the journal has the decisions on these requests, once it has; and what was heard of it until then, unless
/// that is much.
async fn journaled(
    mut tail: Tail,
    wanted: &[u32],
) -> Result<(Vec<Seq>, Option<(Tail, Vec<Entry>)>), ApiError> {
    let (mut places, mut taken) = (Vec::new(), Vec::new());
    let mut much = false;
    while places.len() < wanted.len() {
        match tail.next().await? {
            Told::Entry(entry) => {
                if matches!(&entry.event, Event::Decided { request, .. } if wanted.contains(request))
                {
                    places.push(entry.seq);
                }
                if taken.len() < KEPT {
                    taken.push(*entry);
                } else {
                    much = true;
                }
            }
            Told::Delta { .. } | Told::Restart { .. } => {}
            Told::End => break,
            Told::Bye => {
                return Err(ApiError::new(Problem::ShuttingDown, "the server is stopping")
                    .hint("the answer counts; the run goes on when it is back"));
            }
        }
    }
    Ok((places, (!much).then_some((tail, taken))))
}
