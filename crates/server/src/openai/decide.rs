//! Answers, decided, and where in the journal they then stand.

use signoff_core::{Decision, Event, Request, RunId, Seq};
use signoff_runtime::DecideRequest;

use super::fault::Fault;
use super::id::ResponseId;
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::stream::{Tail, Told};

/// Decides requests of one run and its parts. The response begins there.
pub(super) async fn answer(
    app: &App,
    caller: Caller,
    answers: Vec<(Request, Decision)>,
) -> Result<ResponseId, Fault> {
    let Some(root) = answers.first().map(|(request, _)| request.root.clone()) else {
        return Err(Fault::invalid("input", "there is no answer in it"));
    };
    let id = root.clone();
    let head =
        app.read(move |engine| Ok(engine.store().run(&id)?.map_or(0, |run| run.head))).await?;
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
        return Ok(ResponseId::at(root, head + 1));
    }
    let places = journaled(app, &root, &own).await?;
    match (places.iter().min(), places.iter().max()) {
        (Some(&first), Some(&last)) => Ok(ResponseId { last, ..ResponseId::at(root, first) }),
        _ => {
            Err(ApiError::new(Problem::RunOver, "the run was over before the answer reached it")
                .into())
        }
    }
}

/// Where the journal has the decisions on these requests, once it has.
async fn journaled(app: &App, run: &RunId, wanted: &[u32]) -> Result<Vec<Seq>, ApiError> {
    let mut places = Vec::new();
    let mut tail = Tail::new(app, run.clone(), 0);
    while places.len() < wanted.len() {
        match tail.next().await? {
            Told::Entry(entry) => {
                if matches!(&entry.event, Event::Decided { request, .. } if wanted.contains(request))
                {
                    places.push(entry.seq);
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
    Ok(places)
}
