//! What holds of a task wherever its journal is cut.

use proptest::prelude::*;
use serde_json::json;
use signoff_a2a::wire::{Event, Role, Task, TaskState};
use signoff_core::deciders::{Deciders, Who};
use signoff_core::decision::Then;
use signoff_core::journal::{
    Completed, Delivered, Entry, ErrorInfo, Event as Journaled, Payload, Started,
};
use signoff_core::{
    Actor, ConversationId, Decision, RequestBody, RequestNo, RunId, Sent, Tenant, Timestamp,
};

use super::{Fold, Viewer};

/// What happens next in a run. Numbers choose among what is there.
#[derive(Clone, Debug)]
enum Step {
    Ask { elsewhere: bool },
    Answer { which: usize, worded: bool },
    Expire { which: usize },
    Withdraw { which: usize },
    Give { shaped: bool },
    Pause,
    Resume,
}

#[derive(Clone, Debug)]
enum End {
    None,
    Completed,
    Failed,
    Cancelled,
    Stopped,
}

fn steps() -> impl Strategy<Value = (Vec<Step>, End)> {
    let step = prop_oneof![
        4 => any::<bool>().prop_map(|elsewhere| Step::Ask { elsewhere }),
        4 => (any::<usize>(), any::<bool>()).prop_map(|(which, worded)| Step::Answer { which, worded }),
        1 => any::<usize>().prop_map(|which| Step::Expire { which }),
        1 => any::<usize>().prop_map(|which| Step::Withdraw { which }),
        2 => any::<bool>().prop_map(|shaped| Step::Give { shaped }),
        1 => Just(Step::Pause),
        1 => Just(Step::Resume),
    ];
    let end = prop_oneof![
        Just(End::None),
        Just(End::Completed),
        Just(End::Failed),
        Just(End::Cancelled),
        Just(End::Stopped),
    ];
    (prop::collection::vec(step, 0..24), end)
}

fn sent(n: usize) -> Sent {
    Sent { id: format!("m{n}").into(), parts: json!([{ "text": "so" }]) }
}

/// The journal of a run in which this happens.
fn journal(steps: &[Step], end: &End) -> Vec<Entry> {
    let mut events = vec![
        Journaled::Started(Box::new(Started {
            workflow: "w".into(),
            version: "v".into(),
            conversation: ConversationId::from_unique("1"),
            tenant: Tenant::local(),
            input: json!("go"),
            by: Actor::local(),
            continues: None,
            parent: None,
            forked_from: None,
            reason: None,
            added: 0,
            sent: Some(Box::new(sent(0))),
        })),
        Journaled::Delivered(Delivered {
            activation: 1,
            to: "a".into(),
            payload: Payload::Input,
            from: None,
            caller: None,
        }),
    ];
    let mut open: Vec<RequestNo> = Vec::new();
    let mut asked = 0;
    for (n, step) in steps.iter().enumerate() {
        let take = |open: &mut Vec<RequestNo>, which: usize| {
            (!open.is_empty()).then(|| open.remove(which % open.len()))
        };
        let event = match step {
            Step::Ask { elsewhere } => {
                asked += 1;
                open.push(asked);
                let mut body = RequestBody::input(format!("Question {asked}?"));
                let who = Who { users: vec!["boss".into()], ..Who::default() };
                body.deciders =
                    elsewhere.then(|| Box::new(Deciders::new(vec![who], &Actor::local())));
                let key = format!("q{asked}").as_str().into();
                Some(Journaled::Asked { activation: 1, key, request: asked, body: Box::new(body) })
            }
            Step::Answer { which, worded } => {
                take(&mut open, *which).map(|request| Journaled::Decided {
                    request,
                    decision: Decision::respond(format!("answer {request}")),
                    by: Actor::local(),
                    sent: worded.then(|| Box::new(sent(n + 1))),
                })
            }
            Step::Expire { which } => {
                take(&mut open, *which).map(|request| Journaled::Expired { request })
            }
            Step::Withdraw { which } => take(&mut open, *which)
                .map(|request| Journaled::Withdrawn { request, by: None, reason: None }),
            Step::Give { shaped } => {
                let shape = json!({ "a2a": { "artifacts": [
                    { "chunks": [[{ "text": "a" }], [{ "text": "b" }]] }, { "parts": [{ "data": 1 }] },
                ] } });
                let value = if *shaped { shape } else { json!(format!("output {n}")) };
                Some(Journaled::Output { activation: 1, value: Payload::value(value) })
            }
            Step::Pause => Some(Journaled::Paused { by: Actor::local(), reason: None }),
            Step::Resume => Some(Journaled::Resumed { by: Actor::local() }),
        };
        events.extend(event);
    }
    let cancelled = || Journaled::RunCancelled { by: Actor::local(), reason: Some("why".into()) };
    match end {
        End::None => {}
        End::Completed => {
            let output = Payload::value(json!("done"));
            let (next, joined) = (Vec::new(), Vec::new());
            events.push(Journaled::Completed(Completed { activation: 1, output, next, joined }));
            events.push(Journaled::RunCompleted {});
        }
        End::Failed => events.push(Journaled::RunFailed { error: ErrorInfo::new("x", "it broke") }),
        End::Cancelled => events.push(cancelled()),
        End::Stopped => {
            if let Some(request) = open.pop() {
                let decision = Decision::reject(Some("no".into()), Then::Stop);
                let by = Actor::local();
                events.push(Journaled::Decided { request, decision, by, sent: None });
            }
            events.push(cancelled());
        }
    }
    let number = |(seq, event)| Entry { seq, at: Timestamp(i64::try_from(seq).unwrap()), event };
    (1_u64..).zip(events).map(number).collect()
}

fn viewer() -> Viewer {
    Viewer { actor: Actor::local(), roles: std::sync::Arc::new([]) }
}

/// A task without what people said, which a stream does not tell: whoever listens has not said it, or knows it.
fn as_heard(task: &Task) -> Task {
    let mut task = task.clone();
    let asked = task.history.first().map(|first| first.message_id.clone());
    task.history.retain(|it| it.role == Role::Agent || Some(&it.message_id) == asked.as_ref());
    task
}

proptest! {
    #[test]
    fn a_task_is_the_sum_of_what_was_told((steps, end) in steps()) {
        let entries = journal(&steps, &end);
        let run = RunId::from_unique("1");
        let mut fold = Fold::new(run.clone(), viewer());
        let mut heard = Task::default();
        let mut over: Option<Task> = None;
        for (n, entry) in entries.iter().enumerate() {
            let told = fold.take(entry).unwrap();
            if n == 0 {
                prop_assert!(matches!(&told[..], [Event::Task(task)] if task.status.state == TaskState::Submitted));
            }
            // Nothing is told of a task that is over, and it stays as it was.
            if let Some(over) = &over {
                prop_assert!(told.is_empty());
                prop_assert_eq!(over, fold.task());
            }
            for event in &told {
                heard.take(event);
            }
            prop_assert_eq!(as_heard(&heard), as_heard(fold.task()));
            // Whoever comes now finds what those know who were there all the time.
            let mut later = Fold::new(run.clone(), viewer());
            for entry in &entries[..=n] {
                later.take(entry).unwrap();
            }
            prop_assert_eq!(later.task(), fold.task());
            let open = entry.event.ends_run();
            prop_assert_eq!(open, fold.state().is_terminal());
            if open {
                over = Some(fold.task().clone());
            }
        }
    }

    #[test]
    fn what_was_asked_stands_before_its_answer((steps, end) in steps()) {
        let entries = journal(&steps, &end);
        let mut fold = Fold::new(RunId::from_unique("1"), viewer());
        let mut answered = Vec::new();
        for entry in &entries {
            fold.take(entry).unwrap();
            if let Journaled::Decided { request, sent, .. } = &entry.event {
                let id = sent.as_ref().map_or_else(|| format!("msg_1_{}.answer", entry.seq), |it| it.id.to_string());
                answered.push((*request, id));
            }
        }
        let history = &fold.task().history;
        prop_assert_eq!(&history[0].message_id, "m0");
        let said: Vec<&String> =
            history[1..].iter().filter(|it| it.role == Role::User).map(|it| &it.message_id).collect();
        let wanted: Vec<&String> = answered.iter().map(|(_, id)| id).collect();
        prop_assert_eq!(said, wanted, "each answer once, in order");
        for (request, id) in &answered {
            let place = history.iter().position(|it| it.message_id == *id).unwrap();
            let question = &history[place - 1];
            prop_assert_eq!(question.role, Role::Agent);
            let name = format!("req_1_{request}");
            let asks = question.parts.iter().any(|part| {
                part.data.as_ref().is_some_and(|data| data["requestId"] == name.as_str())
            });
            prop_assert!(asks || question.parts[0].text.as_deref().is_some_and(|it| it.starts_with("paused")));
        }
    }

    #[test]
    fn somebody_else_is_asked_exactly_if_nobody_here_may_decide((steps, _) in steps()) {
        let entries = journal(&steps, &End::None);
        let mut fold = Fold::new(RunId::from_unique("1"), viewer());
        for entry in &entries {
            fold.take(entry).unwrap();
            let Some(message) = &fold.task().status.message else { continue };
            let asked: Vec<&serde_json::Value> = message.parts.iter().filter_map(|part| part.data.as_ref()).collect();
            if asked.is_empty() {
                prop_assert_eq!(fold.state(), TaskState::Working);
                continue;
            }
            let here = |data: &&serde_json::Value| {
                let id = data["requestId"].as_str().unwrap();
                entries.iter().any(|entry| matches!(&entry.event, Journaled::Asked { request, body, .. }
                    if id == format!("req_1_{request}") && body.deciders.is_none()))
            };
            let wanted = if asked.iter().any(here) { TaskState::InputRequired } else { TaskState::AuthRequired };
            prop_assert_eq!(fold.state(), wanted);
        }
    }
}
