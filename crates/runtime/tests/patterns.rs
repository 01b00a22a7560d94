//! Agents that work together: handoff, group chat, sequential, concurrent; and agents with people.

#![allow(clippy::unwrap_used, clippy::single_match_else, clippy::needless_raw_string_hashes)] // tests

mod support;

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::message::ToolCall;
use signoff_core::workflow::{Known, NoFiles};
use signoff_core::{Actor, Decision, Part, RequestKind, RunId, RunStatus, Span, Workflow};
use signoff_models::{BoxFuture, Delta, ModelError, ModelReply, ModelRequest, Provider};
use signoff_runtime::{EngineBuilder, LiveEvent};
use support::World;

/// A model that does what a function tells it to.
struct Plays<F>(F);

impl<F> std::fmt::Debug for Plays<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Plays")
    }
}

impl<F> Provider for Plays<F>
where
    F: Fn(&ModelRequest) -> Vec<Part> + Send + Sync,
{
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let parts = (self.0)(request);
        Box::pin(async move { Ok(ModelReply { parts, ..ModelReply::default() }) })
    }
}

fn text(text: &str) -> Vec<Part> {
    vec![Part::Text(text.to_owned())]
}

fn call(name: &str, arguments: Value) -> Part {
    Part::ToolCall(ToolCall { id: format!("{name}-1"), name: name.into(), arguments })
}

fn worlds(
    file: &str,
    model: impl Fn(&ModelRequest) -> Vec<Part> + Send + Sync + Clone + 'static,
) -> Vec<World> {
    let known = Known { tools: vec!["request_user_input"], ..Known::default() };
    let workflow = Workflow::parse(file, &NoFiles, &known).unwrap().workflow;
    World::all(move |engine: EngineBuilder| {
        engine.workflow(workflow.clone()).model("default", Arc::new(Plays(model.clone())))
    })
}

async fn answer(world: &World, run: &RunId, agent: &str, decision: Decision) {
    let pending = world.pending(run);
    assert_eq!(pending.len(), 1, "{pending:?}");
    assert_eq!(pending[0].body.agent_path.last().unwrap().as_ref(), agent);
    world.answer(&pending[0].id, decision).await.unwrap();
    world.engine.idle().await;
}

fn output(world: &World, run: &RunId) -> Value {
    let record = world.store.run(run).unwrap().unwrap();
    assert_eq!(record.status, RunStatus::Completed, "{:?}", record.error);
    world.engine.state(run).unwrap().output().unwrap()
}

const SUPPORT: &str = r#"
workflow: support
pattern: handoff
agents:
  triage: { instructions: Find out. }
  repair: { instructions: Repair. }
  ship: { instructions: Ship. }
handoff:
  agents: [triage, repair, ship]
  handoffs: { triage: [repair], repair: [ship], ship: [triage] }
  max_turns: 6
  until: agent == "ship" && text.contains("done")
"#;

#[tokio::test]
async fn the_conversation_is_handed_on_and_people_answer_in_between() {
    let model = |request: &ModelRequest| match (&*request.agent, request.turn) {
        ("triage", _) => {
            let tools: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
            assert_eq!(tools, ["handoff_to_repair"], "only who it may hand to");
            vec![Part::Text("To repair.".into()), call("handoff_to_repair", json!({}))]
        }
        ("repair", 0) => text("What is broken?"),
        ("repair", _) => {
            let said: Vec<String> = request.messages.iter().map(|message| message.text()).collect();
            assert_eq!(said, ["Help!", "To repair.", "What is broken?", "The screen"]);
            vec![call("handoff_to_ship", json!({ "reason": "repaired" }))]
        }
        _ => text("All done."),
    };
    for world in worlds(SUPPORT, model) {
        let run = world.run("support", json!("Help!")).await;
        answer(&world, &run, "repair", Decision::respond("The screen")).await;
        let output = output(&world, &run);
        assert_eq!(output["ended_by"], "condition");
        assert_eq!(output["answer"], "All done.");
        let said: Vec<&str> = output["conversation"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["text"].as_str().unwrap())
            .collect();
        assert_eq!(said, ["Help!", "To repair.", "What is broken?", "The screen", "All done."]);
        assert!(!output.to_string().contains("handoff_to_"), "no handoff chatter: {output}");
    }
}

#[tokio::test]
async fn ping_pong_stops_at_the_limit_with_the_work_kept() {
    let model = |request: &ModelRequest| match &*request.agent {
        "triage" => {
            vec![Part::Text("Over to repair.".into()), call("handoff_to_repair", json!({}))]
        }
        "repair" => vec![call("handoff_to_ship", json!({}))],
        _ => vec![Part::Text("Back to triage.".into()), call("handoff_to_triage", json!({}))],
    };
    for world in worlds(SUPPORT, model) {
        let run = world.run("support", json!("Help!")).await;
        let output = output(&world, &run);
        assert_eq!(
            (output["ended_by"].as_str(), output["turns"].as_u64()),
            (Some("limit"), Some(6))
        );
        assert!(output["conversation"].as_array().unwrap().len() >= 4);
    }
}

#[tokio::test]
async fn a_person_can_end_the_conversation_and_a_forbidden_handoff_is_refused() {
    let model = |request: &ModelRequest| match (&*request.agent, request.turn) {
        ("triage", 0) => vec![call("handoff_to_ship", json!({}))],
        _ => {
            let refused = request.messages.last().unwrap();
            let refused = serde_json::to_string(&**refused).unwrap();
            assert!(refused.contains("you cannot hand over"), "{refused}");
            text("What do you want?")
        }
    };
    for world in worlds(SUPPORT, model) {
        let run = world.run("support", json!("Help!")).await;
        answer(&world, &run, "triage", Decision::Skip { reason: None }).await;
        assert_eq!(output(&world, &run)["ended_by"], "user");
    }
}

#[tokio::test]
async fn an_autonomous_agent_goes_on_by_itself_up_to_its_bound() {
    let file = r#"
workflow: alone
pattern: handoff
agents: { worker: { instructions: Work. } }
handoff:
  agents: [worker]
  autonomous: [worker]
  autonomous_turns: 2
"#;
    let model = |request: &ModelRequest| text(&format!("step {}", request.turn + 1));
    for world in worlds(file, model) {
        let run = world.run("alone", json!("go")).await;
        assert_eq!(world.engine.state(&run).unwrap().model_calls["worker"], 3);
        answer(&world, &run, "worker", Decision::Skip { reason: None }).await;
        assert_eq!(output(&world, &run)["answer"], "step 3");
    }
}

#[tokio::test]
async fn a_group_chat_goes_round_or_as_a_rule_or_a_moderator_says() {
    let chat = |extra: &str, agents: &str| {
        format!(
            "workflow: chat\npattern: group_chat\nagents:\n  a: {{ instructions: A. }}\n  b: {{ instructions: B. }}\n{agents}group_chat:\n  agents: [a, b]\n  max_rounds: 4\n{extra}"
        )
    };
    let speakers = |output: &Value| -> Vec<String> {
        output["conversation"]
            .as_array()
            .unwrap()
            .iter()
            .skip(1)
            .map(|message| message["author"].as_str().unwrap().to_owned())
            .collect()
    };
    let model = |request: &ModelRequest| match &*request.agent {
        "boss" if request.turn == 0 => text(r#"{"next_speaker": "b"}"#),
        "boss" => text(r#"{"next_speaker": null}"#),
        "sum" => text("In short: agreed."),
        name => text(&format!("{name} says {}", request.turn)),
    };
    for world in worlds(&chat("", ""), model) {
        let run = world.run("chat", json!("talk")).await;
        let output = output(&world, &run);
        assert_eq!(speakers(&output), ["a", "b", "a", "b"]);
        assert_eq!(output["ended_by"], "limit");
    }
    let rule = "  rule: 'last == \"\" ? \"b\" : (round < 3 ? \"a\" : \"\")'\n";
    for world in worlds(&chat(rule, ""), model) {
        let run = world.run("chat", json!("talk")).await;
        let output = output(&world, &run);
        assert_eq!(speakers(&output), ["b", "a"]);
        assert_eq!(output["ended_by"], "speaker");
    }
    let boss = "  boss: { instructions: Choose., output: { type: object, properties: { next_speaker: { type: [string, \"null\"] } }, required: [next_speaker] } }\n  sum: { instructions: Sum up. }\n";
    for world in worlds(&chat("  moderator: boss\n  summarizer: sum\n", boss), model) {
        let run = world.run("chat", json!("talk")).await;
        assert_eq!(output(&world, &run)["answer"], "In short: agreed.");
    }
}

#[tokio::test]
async fn agents_one_after_another_and_all_at_once() {
    let sequential = "workflow: line\npattern: sequential\nagents:\n  a: { instructions: A. }\n  b: { instructions: B. }\nsequential: { agents: [a, b] }\n";
    let model = |request: &ModelRequest| {
        let seen: Vec<String> = request.messages.iter().map(|message| message.text()).collect();
        text(&format!("{} saw {}", request.agent, seen.join("|")))
    };
    for world in worlds(sequential, model) {
        let run = world.run("line", json!("x")).await;
        assert_eq!(output(&world, &run), json!("b saw x|a saw x"));
    }
    let concurrent = "workflow: fan\npattern: concurrent\nagents:\n  a: { instructions: A. }\n  b: { instructions: B. }\n  c: { instructions: C. }\nconcurrent: { agents: [a, b], aggregator: c }\n";
    for world in worlds(concurrent, model) {
        let run = world.run("fan", json!("x")).await;
        assert_eq!(output(&world, &run), json!("c saw x|a saw x|b saw x"));
    }
    let open = concurrent.replace(", aggregator: c", "").replace("  c: { instructions: C. }\n", "");
    for world in worlds(&open, model) {
        let run = world.run("fan", json!("x")).await;
        assert_eq!(output(&world, &run), json!({ "a": "a saw x", "b": "b saw x" }));
    }
}

fn one_agent(settings: &str) -> String {
    format!(
        "workflow: one\npattern: sequential\nagents:\n  a: {{ instructions: A., tools: [request_user_input], {settings} }}\nsequential: {{ agents: [a] }}\n"
    )
}

fn asks(request: &ModelRequest) -> Vec<Part> {
    if !request.tools.iter().any(|tool| &*tool.name == "request_user_input") {
        return text("I cannot ask.");
    }
    let last = serde_json::to_string(&**request.messages.last().unwrap()).unwrap();
    if request.turn > 0 && !last.contains("more") {
        return text(&format!("Heard: {last}"));
    }
    let arguments = json!({ "prompt": "Which?", "context": {}, "request_type": "clarification" });
    vec![Part::ToolCall(ToolCall {
        id: format!("q{}", request.turn),
        name: "request_user_input".into(),
        arguments,
    })]
}

#[tokio::test]
async fn asking_can_be_switched_off_and_is_bounded() {
    for world in worlds(&one_agent("human_input: never"), asks) {
        let run = world.run("one", json!("x")).await;
        assert_eq!(output(&world, &run), json!("I cannot ask."));
    }
    for world in worlds(&one_agent("follow_ups: 2"), asks) {
        let run = world.run("one", json!("x")).await;
        answer(&world, &run, "a", Decision::respond("more")).await;
        answer(&world, &run, "a", Decision::respond("more")).await;
        let heard = output(&world, &run);
        assert!(heard.as_str().unwrap().contains("you have asked 2 questions"), "{heard}");
    }
}

#[tokio::test]
async fn a_person_looks_at_every_answer_where_that_is_wanted() {
    let model = |request: &ModelRequest| text(&format!("draft {}", request.turn + 1));
    for world in worlds(&one_agent("human_input: always"), model) {
        let run = world.run("one", json!("x")).await;
        answer(&world, &run, "a", Decision::respond("Shorter, please")).await;
        answer(&world, &run, "a", Decision::approve()).await;
        assert_eq!(output(&world, &run), json!("draft 2"));
        let said: Vec<String> =
            world.engine.state(&run).unwrap().messages.iter().map(|m| m.text()).collect();
        assert_eq!(said, ["x", "draft 1", "Shorter, please", "draft 2"]);
    }
}

#[tokio::test]
async fn nobody_answers_in_time() {
    let late = |world: &World| world.clock.advance(Span::seconds(61));
    for world in worlds(&one_agent("answer_within: 60s"), asks) {
        let run = world.run("one", json!("x")).await;
        late(&world);
        world.look().await;
        assert!(output(&world, &run).as_str().unwrap().contains("nobody answered in time"));
    }
    let settings = "answer_within: 60s, escalate_to: manager, default_answer: whatever";
    for world in worlds(&one_agent(settings), asks) {
        let run = world.run("one", json!("x")).await;
        late(&world);
        world.look().await;
        let again = world.pending(&run);
        assert_eq!(again[0].body.who.as_deref(), Some("manager"));
        late(&world);
        world.look().await;
        assert!(output(&world, &run).as_str().unwrap().contains("whatever"));

        let run = world.run("one", json!("x")).await;
        late(&world);
        world.look().await;
        let by_manager = Decision::respond("the blue one");
        let request = world.pending(&run).remove(0);
        let decide =
            signoff_runtime::DecideRequest::new(request.id, by_manager).by(Actor::new("manager"));
        world.engine.decide(decide).await.unwrap();
        world.engine.idle().await;
        assert!(output(&world, &run).as_str().unwrap().contains("the blue one"));
    }
}

#[tokio::test]
async fn bad_tools_are_bounded_told_to_the_model_and_journaled() {
    use signoff_tools::{FnTool, Invocation, ToolError};
    let file = "workflow: one\npattern: sequential\nagents:\n  a: { instructions: A., tools: [bad] }\nsequential: { agents: [a] }\n";
    let known = Known { tools: vec!["bad"], ..Known::default() };
    let workflow = Workflow::parse(file, &NoFiles, &known).unwrap().workflow;
    let model = |request: &ModelRequest| {
        if request.turn == 0 {
            vec![call("bad", json!({ "how": request.messages[0].text() }))]
        } else {
            let told = serde_json::to_string(&**request.messages.last().unwrap()).unwrap();
            text(&told.chars().take(2_000).collect::<String>())
        }
    };
    let build = move |engine: EngineBuilder| {
        let spec = signoff_core::ToolSpec {
            name: "bad".into(),
            description: "Misbehaves.".into(),
            parameters: json!({ "type": "object", "required": ["how"] }),
            effects: signoff_core::Effects::READ_ONLY,
        };
        let tool = FnTool::new(spec, |call: Invocation| async move {
            match call.arguments["how"].as_str() {
                Some("large") => Ok(json!("x".repeat(5 << 20))),
                Some("panic") => panic!("oh no"),
                _ => Err(ToolError::new("broken", "it is broken")),
            }
        });
        engine.workflow(workflow.clone()).tool(tool).model("default", Arc::new(Plays(model)))
    };
    for world in World::all(build) {
        for (how, told) in [("large", "truncated"), ("panic", "tool_panicked"), ("error", "broken")]
        {
            let run = world.run("one", json!(how)).await;
            let heard = output(&world, &run);
            assert!(heard.as_str().unwrap().contains(told), "{how}: {heard}");
            let entries = world.store.entries(&run, 0, 100).unwrap();
            let bytes = signoff_core::journal::encode(&entries).len();
            assert!(bytes < 600_000, "{how}: {bytes} bytes in the journal");
        }
    }
}

/// Never returns, and says so.
#[derive(Debug)]
struct Never(signoff_core::ToolSpec);

impl signoff_tools::Tool for Never {
    fn spec(&self) -> &signoff_core::ToolSpec {
        &self.0
    }

    fn call(
        &self,
        _: signoff_tools::Invocation,
    ) -> BoxFuture<'_, Result<Value, signoff_tools::ToolError>> {
        Box::pin(std::future::pending())
    }

    fn timeout(&self) -> Span {
        Span(50)
    }
}

#[tokio::test]
async fn a_tool_that_never_returns_is_given_up_and_the_agent_goes_on() {
    let file = "workflow: one\npattern: sequential\nagents:\n  a: { instructions: A., tools: [never] }\nsequential: { agents: [a] }\n";
    let known = Known { tools: vec!["never"], ..Known::default() };
    let workflow = Workflow::parse(file, &NoFiles, &known).unwrap().workflow;
    let model = |request: &ModelRequest| match request.turn {
        0 => vec![call("never", json!({}))],
        _ => text(&serde_json::to_string(&**request.messages.last().unwrap()).unwrap()),
    };
    let build = move |engine: EngineBuilder| {
        let spec = signoff_core::ToolSpec {
            name: "never".into(),
            description: "Never returns.".into(),
            parameters: json!({ "type": "object" }),
            effects: signoff_core::Effects::READ_ONLY,
        };
        let engine = engine.workflow(workflow.clone()).shared_tool(Arc::new(Never(spec)));
        engine.model("default", Arc::new(Plays(model)))
    };
    for world in World::all(build) {
        let run = world.run("one", json!("x")).await;
        let heard = output(&world, &run);
        assert!(heard.as_str().unwrap().contains("tool_timeout"), "{heard}");
        let entries = format!("{:?}", world.store.entries(&run, 0, 100).unwrap());
        assert!(entries.contains("did not return within"), "{entries}");
    }
}

#[tokio::test]
async fn a_request_of_kind_step_error_lets_a_person_retry() {
    use std::sync::atomic::{AtomicU32, Ordering};
    #[derive(Debug)]
    struct Fails(AtomicU32);
    impl Provider for Fails {
        fn complete<'a>(
            &'a self,
            _: &'a ModelRequest,
            _: &'a (dyn Fn(Delta) + Send + Sync),
        ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
            let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
            Box::pin(async move {
                if first {
                    let info = signoff_core::ErrorInfo::new("model_overloaded", "try later");
                    Err(ModelError { info, retryable: false, retry_after: None })
                } else {
                    Ok(ModelReply { parts: text("fine"), ..ModelReply::default() })
                }
            })
        }
    }
    let file = one_agent("human_input: on_demand");
    let known = Known { tools: vec!["request_user_input"], ..Known::default() };
    let workflow = Workflow::parse(&file, &NoFiles, &known).unwrap().workflow;
    let build = move |engine: EngineBuilder| {
        engine.workflow(workflow.clone()).model("default", Arc::new(Fails(AtomicU32::new(0))))
    };
    for world in World::all(build) {
        let run = world.run("one", json!("x")).await;
        assert_eq!(world.pending(&run)[0].body.kind, RequestKind::StepError);
        answer(&world, &run, "a", Decision::Retry { feedback: None }).await;
        assert_eq!(output(&world, &run), json!("fine"));
    }
}

#[tokio::test]
async fn what_a_budget_leaves_out_is_in_the_journal() {
    let file = "workflow: talk\npattern: group_chat\nagents:\n  a: { instructions: A., context_tokens: 60 }\ngroup_chat: { agents: [a], max_rounds: 8 }\n";
    let model = |request: &ModelRequest| {
        assert_eq!(request.messages[0].text(), "talk", "the person's first message stays");
        text(&format!("{} {}", request.turn, "blah ".repeat(12)))
    };
    for world in worlds(file, model) {
        let run = world.run("talk", json!("talk")).await;
        assert_eq!(world.status(&run), RunStatus::Completed);
        let entries = world.store.entries(&run, 0, 1_000).unwrap();
        let journal = String::from_utf8(signoff_core::journal::encode(&entries)).unwrap();
        assert!(journal.contains("left_out"), "{journal}");
    }
}

/// Says something, breaks off, and says it again from the beginning.
#[derive(Debug)]
struct Stammers;

impl Provider for Stammers {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        sink(Delta::Text("Hel".to_owned()));
        sink(Delta::Restart);
        sink(Delta::Restart);
        sink(Delta::Text(format!("Hello {}", request.turn)));
        let parts = text("Hello");
        Box::pin(async move { Ok(ModelReply { parts, ..ModelReply::default() }) })
    }
}

#[tokio::test]
async fn who_watches_is_told_when_a_model_begins_again() {
    let file = "workflow: hello\npattern: sequential\nsequential: { agents: [a] }\n\
                agents:\n  a: { instructions: Greet. }\n";
    let workflow = Workflow::parse(file, &NoFiles, &Known::default()).unwrap().workflow;
    let worlds = World::all(move |engine: EngineBuilder| {
        engine.workflow(workflow.clone()).model("default", Arc::new(Stammers))
    });
    for world in worlds {
        let mut live = world.engine.watch();
        world.run("hello", json!("x")).await;
        let mut seen = Vec::new();
        while let Ok(live) = live.try_recv() {
            match live.event {
                LiveEvent::Delta { text, .. } => seen.push(text),
                LiveEvent::Restart { agent, .. } => seen.push(format!("{agent} again")),
                _ => {}
            }
        }
        assert_eq!(seen, ["Hel", "a again", "Hello 0"]);
    }
}
