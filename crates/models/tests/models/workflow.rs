//! The same workflow gives the same journal, whoever's protocol its models speak.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::request::RequestStatus;
use signoff_core::workflow::{Known, MapFiles};
use signoff_core::{Decision, Request, RequestKind, RunId, RunStatus, Timestamp, Workflow};
use signoff_models::{Provider, Scripted};
use signoff_runtime::{DecideRequest, Engine, ManualClock, StartRun};
use signoff_store::{MemoryStore, RequestFilter, Store};
use signoff_testkit::model_server::{Fault, ModelServer};
use signoff_tools::Calendar;

use super::support::{ALL, provider, provider_with};

fn example(file: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workflows/event_planner/");
    std::fs::read_to_string(format!("{folder}{file}")).unwrap()
}

fn workflow() -> Workflow {
    let prompts: MapFiles = ["venue", "budget", "catering", "logistics", "coordinator"]
        .into_iter()
        .map(|name| (format!("prompts/{name}.md"), example(&format!("prompts/{name}.md"))))
        .collect();
    let known = Known {
        tools: vec![
            "request_user_input",
            "create_calendar_event",
            "list_calendar_events",
            "delete_calendar_event",
        ],
        ..Known::default()
    };
    Workflow::parse(&example("workflow.yaml"), &prompts, &known).unwrap().workflow
}

fn scripted() -> Arc<dyn Provider> {
    let script = signoff_core::workflow::yaml(&example("script.yaml")).unwrap();
    Arc::new(Scripted::from_value(script).unwrap())
}

struct World {
    engine: Engine,
    store: Arc<dyn Store>,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(model: Arc<dyn Provider>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let clock = Arc::new(ManualClock::new(Timestamp(1_794_700_800_000)));
        let mut builder = Engine::builder(Arc::clone(&store)).clock(clock);
        for tool in Calendar::new(folder.path()).tools() {
            builder = builder.shared_tool(tool);
        }
        let engine = builder.workflow(workflow()).model("default", model).build().unwrap();
        Self { engine, store, _folder: folder }
    }

    fn pending(&self, run: &RunId) -> Vec<Request> {
        let filter = RequestFilter {
            status: Some(RequestStatus::Pending),
            root: Some(run.clone()),
            ..RequestFilter::default()
        };
        self.store.requests(&filter, None, 100).unwrap().items
    }

    /// Plans a party, answering what is asked, and gives the journal without what differs by nature.
    async fn plan(&self, input: &str) -> Vec<Value> {
        let run = self.engine.run(StartRun::new("event_planner", json!(input))).await.unwrap().run;
        for _ in 0..20 {
            let Some(request) = self.pending(&run).into_iter().next() else { break };
            let decision = match request.body.kind {
                RequestKind::Selection => Decision::respond(request.body.options[1].value.clone()),
                RequestKind::Approval => Decision::approve(),
                RequestKind::Input => Decision::respond("two vegans, one coeliac"),
                other => panic!("{other:?}: {:?}", request.body),
            };
            self.engine.decide(DecideRequest::new(request.id, decision)).await.unwrap();
            self.engine.idle().await;
        }
        let record = self.store.run(&run).unwrap().unwrap();
        assert_eq!(record.status, RunStatus::Completed, "{:?}", record.error);
        let state = self.engine.state(&run).unwrap();
        let entries = self.store.entries(&run, 0, 10_000).unwrap();
        let folded = signoff_core::RunState::fold(&entries).unwrap();
        assert_eq!(folded.output(), state.output(), "the journal replays to the same state");
        entries
            .iter()
            .map(|entry| comparable(serde_json::to_value(&entry.event).unwrap()))
            .collect()
    }
}

/// An entry without times and ids that are made anew each time.
fn comparable(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for name in ["at", "conversation", "time", "took", "uid"] {
                    fields.remove(name);
                }
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

const VAGUE: &str = "Plan a party for 30 people";
const DETAILED: &str = "Plan a corporate team building event for 30 people, budget $3000, downtown Seattle, Friday evening in 3 weeks, vegetarian and gluten-free options required";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_event_planner_is_the_same_over_all_three() {
    for input in [VAGUE, DETAILED] {
        let expected = World::new(scripted()).plan(input).await;
        assert!(expected.len() > 20);
        for kind in ALL {
            let server = ModelServer::start(scripted()).await;
            let journal = World::new(provider(&server.config(kind))).plan(input).await;
            assert!(!server.requests().is_empty());
            for (found, expected) in journal.iter().zip(&expected) {
                assert_eq!(found, expected, "{kind:?}");
            }
            assert_eq!(journal.len(), expected.len(), "{kind:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_on_the_way_leave_no_trace_in_the_journal() {
    let expected = World::new(scripted()).plan(VAGUE).await;
    for kind in ALL {
        let server = ModelServer::start(scripted()).await;
        server.faults([
            Fault::Status(429, Some("0".to_owned())),
            Fault::Break(3),
            Fault::None,
            Fault::Malformed,
            Fault::Cut(2),
            Fault::Status(500, None),
        ]);
        let journal = World::new(provider(&server.config(kind))).plan(VAGUE).await;
        assert_eq!(journal, expected, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_is_in_a_journal_or_a_request() {
    const CANARY: &str = "sk-canary-0123456789";
    for kind in ALL {
        let server = ModelServer::start(scripted()).await;
        let mut config = server.config(kind);
        config.api_key_env = Some("THE_KEY".to_owned());
        config.max_retries = Some(0);
        let env = |name: &str| (name == "THE_KEY").then(|| CANARY.to_owned());
        let world = World::new(provider_with(&config, &env));
        // The server throws the key back: a person is asked what to do about it.
        server.faults([Fault::Echo]);
        let run = world.engine.run(StartRun::new("event_planner", json!(VAGUE))).await.unwrap().run;
        let request = world.pending(&run).remove(0);
        assert_eq!(request.body.kind, RequestKind::StepError);
        let sent = &server.requests()[0];
        assert!(sent.headers.iter().any(|(_, value)| value.contains(CANARY)), "it was sent");
        let entries = world.store.entries(&run, 0, 10_000).unwrap();
        let kept = format!("{entries:?} {request:?} {:?}", world.engine.state(&run).unwrap());
        assert!(!kept.contains(CANARY), "{kept}");
        let retry = Decision::Retry { feedback: None };
        world.engine.decide(DecideRequest::new(request.id, retry)).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.pending(&run)[0].body.kind, RequestKind::Selection, "it went on");
    }
}
