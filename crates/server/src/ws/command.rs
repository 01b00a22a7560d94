//! What a client wants, done. By the same functions as over HTTP.

use serde_json::{Value, json};
use signoff_core::answer::accepted;
use signoff_core::{RequestId, RunId};

use super::attached::Attached;
use super::message::{Attach, Decide, Deferral, Requests, Wish};
use crate::access::Caller;
use crate::api::{Defer, decide_as_said, decide_request, defer_request, requests, start_run};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::shape;

/// What is answered.
#[derive(Debug)]
pub(super) enum Done {
    /// An acknowledgement with these fields.
    Ack(Value),
    /// The same; and this run is followed from after that entry on.
    Attach(Value, RunId, u64),
    /// The same; and there is nothing more to tell of this run.
    Over(Value, RunId),
    /// The same; and what waits is told again.
    Snapshot,
    /// The client is there.
    Ping,
}

/// Does it.
pub(super) async fn perform(
    app: &App,
    caller: &Caller,
    attached: &mut Attached,
    wish: Wish,
) -> Result<Done, ApiError> {
    if matches!(wish, Wish::Decide(_) | Wish::Defer(_) | Wish::Resolve(_) | Wish::Start(_)) {
        caller.may_work()?;
    }
    Ok(match wish {
        Wish::Ping => Done::Ping,
        Wish::Snapshot => Done::Snapshot,
        Wish::Attach(wanted) => attach(app, attached, wanted).await?,
        Wish::Detach(wanted) => {
            let was = attached.remove(&RunId::new(wanted.run.as_str()));
            Done::Ack(json!({ "run": wanted.run, "was_attached": was }))
        }
        Wish::Decide(Decide { request, mut decision, version }) => {
            if let Some(version) = version {
                decision.insert("version".into(), version.into());
            }
            let id = RequestId::new(request);
            let decided = decide_as_said(app, caller.clone(), id, decision.into()).await?;
            Done::Ack(json!({ "request": shape::request(&decided) }))
        }
        Wish::Defer(Deferral { request, until, r#for, note }) => {
            let (id, body) = (RequestId::new(request), Defer { until, r#for, note });
            let deferred = defer_request(app, caller.clone(), id, body).await?;
            Done::Ack(json!({ "request": shape::request(&deferred) }))
        }
        Wish::Resolve(resolve) => {
            let id = RequestId::new(resolve.approval_id.as_str());
            let wanted = id.clone();
            let found = app.read(move |engine| Ok(engine.store().request(&wanted)?)).await?;
            let found = found.ok_or_else(|| ApiError::unknown_request(id.as_str()))?;
            let decision = resolve.decision(&found.body).map_err(|why| {
                ApiError::new(Problem::InvalidAnswer, why)
                    .hint(accepted(&found.body))
                    .details(json!({ "request": id, "allowed": found.body.allowed }))
            })?;
            let decided = decide_request(app, caller.clone(), id, decision, None).await?;
            Done::Ack(json!({ "request": shape::request(&decided) }))
        }
        Wish::Start(start) => {
            let (run, created) = start_run(app, caller.clone(), start).await?;
            let run = app.read(move |engine| shape::run(engine, &run)).await?;
            Done::Ack(json!({ "run": run, "created": created }))
        }
        Wish::Requests(Requests { filters, cursor, limit }) => {
            let filter = filters.filter(caller, app.engine.clock().now());
            let page = requests(app, filter, limit, cursor).await?;
            let mut fields = json!({ "requests": page.data });
            if let Some(next) = page.next_cursor {
                fields["next_cursor"] = next.into();
            }
            Done::Ack(fields)
        }
    })
}

async fn attach(app: &App, attached: &Attached, wanted: Attach) -> Result<Done, ApiError> {
    let Attach { run, after } = wanted;
    let run = RunId::new(run);
    attached.room(&run)?;
    let known = run.clone();
    let record = app.read(move |engine| Ok(engine.store().run(&known)?)).await?;
    let record = record.ok_or_else(|| ApiError::unknown_run(run.as_str()))?;
    if after > record.head {
        let message = format!("the journal ends at {}, before {after}", record.head);
        return Err(ApiError::new(Problem::InvalidCursor, message).hint("attach without `after`"));
    }
    let fields = json!({ "run": run, "head": record.head, "status": record.status });
    Ok(if record.status.is_over() && after == record.head {
        Done::Over(fields, run)
    } else {
        Done::Attach(fields, run, after)
    })
}
