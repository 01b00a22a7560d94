//! Runs and entries to test with.

use std::sync::Arc;

use signoff_core::id::Seq;
use signoff_core::journal::{Audited, EffectKind, Entry, Event, Outcome, Parent, Payload, Started};
use signoff_core::request::RequestBody;
use signoff_core::time::{Span, Timestamp};
use signoff_core::{Actor, Decision, RequestNo, RunId, RunStatus, Tenant};

use crate::{
    Append, AuditEntry, Claim, Decide, End, Follows, Lease, NewRun, NodeId, RequestFilter, Rest,
    Store,
};

pub const TTL: Span = Span::seconds(10);

pub fn at(ms: i64) -> Timestamp {
    Timestamp(ms)
}

pub fn node(name: &str) -> NodeId {
    name.into()
}

pub fn run(name: &str) -> RunId {
    RunId::from_unique(name)
}

pub fn entry(seq: Seq, event: Event) -> Entry {
    Entry { seq, at: at(1000 + i64::try_from(seq).unwrap()), event }
}

pub fn started(parent: Option<Parent>) -> Event {
    started_in("travel", "conv_1", parent)
}

pub fn started_in(workflow: &str, conversation: &str, parent: Option<Parent>) -> Event {
    Event::Started(Box::new(Started {
        workflow: workflow.into(),
        version: "hash".into(),
        conversation: conversation.into(),
        input: serde_json::json!({ "text": "to Lisbon, please" }),
        by: Actor::local(),
        continues: None,
        parent,
        forked_from: None,
        reason: None,
        tenant: Tenant::local(),
        added: 0,
        sent: None,
    }))
}

pub fn output(seq: Seq) -> Entry {
    entry(seq, Event::Output { activation: 1, value: Payload::value(seq) })
}

pub fn asked(seq: Seq, request: RequestNo, body: RequestBody) -> Entry {
    let key = format!("ask{request}").into();
    entry(seq, Event::Asked { activation: 1, key, request, body: Box::new(body) })
}

pub fn question(prompt: &str, expires_at: Option<i64>) -> RequestBody {
    RequestBody {
        agent_path: vec!["planner".into(), "budget".into()],
        expires_at: expires_at.map(at),
        ..RequestBody::input(prompt)
    }
}

pub fn new_run(name: &str) -> NewRun {
    NewRun {
        id: run(name),
        entries: vec![entry(1, started(None))],
        status: RunStatus::Running,
        deadline: None,
        claim: None,
        follows: Follows::Anything,
        about: None,
    }
}

pub fn child_run(name: &str, parent: &RunId) -> NewRun {
    let place = Parent {
        run: parent.clone(),
        root: parent.clone(),
        activation: 4,
        key: "sub".into(),
        path: vec!["phase".into()],
    };
    NewRun { entries: vec![entry(1, started(Some(place)))], ..new_run(name) }
}

/// Creates a run with these entries after the first, leased by `node`.
pub async fn begin(store: &Arc<dyn Store>, name: &str, node: &str, more: Vec<Entry>) -> Lease {
    let mut new = new_run(name);
    new.entries.extend(more);
    new.claim = Some(Claim { node: node.into(), until: at(0).plus(TTL) });
    store.create_run(new).await.unwrap().expect("new").lease.expect("leased")
}

/// Creates a run that waits, parked, for the answer to a question.
pub async fn waiting(store: &Arc<dyn Store>, name: &str, expires_at: Option<i64>) {
    let lease = begin(store, name, "n1", vec![]).await;
    let ask = asked(2, 1, question("Where to?", expires_at));
    let append =
        Append { status: RunStatus::Waiting, rest: Rest::Park, ..append(&lease, 1, vec![ask]) };
    store.append(append).await.unwrap();
}

pub fn append(lease: &Lease, expected: Seq, entries: Vec<Entry>) -> Append {
    Append {
        lease: lease.clone(),
        expected,
        entries,
        consumed: 0,
        status: RunStatus::Running,
        rest: Rest::Keep,
        snapshot: None,
    }
}

pub fn end(lease: &Lease, expected: Seq) -> Append {
    Append {
        status: RunStatus::Completed,
        rest: Rest::End(End {
            outcome: Outcome::Ok(Arc::new(serde_json::json!("done"))),
            error: None,
            stopped_by: None,
        }),
        ..append(lease, expected, vec![entry(expected + 1, Event::RunCompleted {})])
    }
}

/// A call that gates let pass has ended.
pub fn executed(seq: Seq, outcome: Outcome) -> Entry {
    let audited = Audited { tool: "write_file".into(), digest: "d1".to_owned(), marked: false };
    entry(
        seq,
        Event::Effect {
            activation: 1,
            key: format!("call{seq}").into(),
            kind: EffectKind::Tool,
            outcome,
            took: 7,
            audited: Some(Box::new(audited)),
        },
    )
}

/// The audit besides what is asked. It is a chain, and says once of each request there is that it was asked.
pub fn record(store: &Arc<dyn Store>) -> Vec<AuditEntry> {
    let all = store.audit(None, 0, 1000).unwrap();
    let mut before = String::new();
    for line in &all {
        assert!(line.follows(&before), "{line:?}");
        before.clone_from(&line.hash);
    }
    let asks = |line: &AuditEntry| line.decision.contains(r#""decision":"requested""#);
    let (asked, others): (Vec<_>, Vec<_>) = all.into_iter().partition(asks);
    let mut asked: Vec<_> = asked.into_iter().map(|line| line.request).collect();
    let page = store.requests(&RequestFilter::default(), None, 1000).unwrap();
    assert!(page.next.is_none(), "more requests than are read at once");
    let mut there: Vec<_> = page.items.into_iter().map(|request| request.id).collect();
    asked.sort();
    there.sort();
    assert_eq!(asked, there, "one line for each that was asked");
    others
}

pub fn decide(run: &RunId, request: RequestNo, answer: &str, by: &str, ms: i64) -> Decide {
    Decide {
        request: run.request(request),
        decision: Decision::respond(answer),
        recorded: serde_json::to_value(Decision::respond(answer)).unwrap(),
        by: Actor::new(by),
        roles: Vec::new(),
        at: at(ms),
        version: None,
        deciders: None,
        withdraw: None,
        grant: None,
        link: None,
        sent: None,
        claim: None,
    }
}
