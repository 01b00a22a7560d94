//! Agents elsewhere among agents here: handed over to, and in a group chat.

use signoff_core::Part;
use signoff_core::message::ToolCall;
use signoff_models::{Delta, ModelError, ModelReply, ModelRequest, Provider};

use super::*;

/// A model that hands over to the clerk, or says who it is.
#[derive(Debug)]
struct Here;

impl Provider for Here {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let hands_over = request.tools.iter().any(|tool| &*tool.name == "handoff_to_clerk");
        let part = if hands_over {
            let name = "handoff_to_clerk".into();
            Part::ToolCall(ToolCall { id: "1".into(), name, arguments: json!({}) })
        } else {
            Part::Text("from here".to_owned())
        };
        let reply = ModelReply { parts: vec![part], ..ModelReply::default() };
        Box::pin(async move { Ok(reply) })
    }
}

fn worlds(file: &str, script: &[RemoteState]) -> Vec<(World, Arc<Played>)> {
    let known = Known { remotes: vec!["desk"], ..Known::default() };
    let workflow = Workflow::parse(file, &NoFiles, &known).unwrap().workflow;
    let agents = Mutex::new(Vec::new());
    let worlds = World::all(|engine| {
        let agent = Played::new(script.to_vec());
        agents.lock().unwrap().push(Arc::clone(&agent));
        engine.workflow(workflow.clone()).model("default", Arc::new(Here)).remote(agent)
    });
    worlds.into_iter().zip(agents.into_inner().unwrap()).collect()
}

const SUPPORT: &str = r#"
workflow: shop
pattern: handoff
agents:
  triage: { instructions: Find out. }
  clerk: { remote: desk, name: Clerk }
handoff:
  agents: [triage, clerk]
  handoffs: { triage: [clerk] }
  until: text.startsWith("Granted")
"#;

#[tokio::test]
async fn it_is_handed_over_to_asks_and_talks_with_the_person() {
    let script = [asks("q1", "How much?"), done("Shall I?"), done("Granted")];
    for (world, agent) in worlds(SUPPORT, &script) {
        let run = world.run("shop", json!("a refund")).await;
        // Its own question, in its task.
        assert_eq!(world.pending(&run)[0].body.prompt, "How much?");
        decide(&world, &run, Decision::respond("all of it")).await;
        // What it said last waits for the person, as with every agent that has the conversation.
        let waits = world.pending(&run).remove(0);
        assert!(waits.body.prompt.contains("Shall I?"), "{}", waits.body.prompt);
        assert_eq!(waits.body.agent_path.last().unwrap().as_ref(), "clerk");
        decide(&world, &run, Decision::respond("yes")).await;
        assert_eq!(world.status(&run), RunStatus::Completed);
        let heard = agent.heard();
        assert_eq!(heard[..2], ["begin a refund", "answer T q1 all of it"]);
        // The next turn is a new task, which is told everything that was said.
        assert!(heard[2].starts_with("begin a refund"), "{heard:?}");
        for said in ["How much?", "all of it", "Shall I?", "yes"] {
            assert!(heard[2].contains(said), "{said}: {heard:?}");
        }
        assert!(!heard[2].contains("handoff"), "{heard:?}");
    }
}

const CHAT: &str = r#"
workflow: shop
pattern: group_chat
agents:
  writer: { instructions: Write. }
  clerk: { remote: desk, name: Clerk }
group_chat:
  agents: [writer, clerk]
  rule: 'round % 2 == 1 ? "writer" : "clerk"'
  max_rounds: 4
"#;

#[tokio::test]
async fn it_speaks_in_a_group_chat_and_may_ask_in_its_turn() {
    let script = [RemoteState::Working, done("one"), asks("q", "Really?"), done("two")];
    for (world, agent) in worlds(CHAT, &script) {
        let run = world.run("shop", json!("discuss")).await;
        assert_eq!(world.pending(&run)[0].body.prompt, "Really?");
        decide(&world, &run, Decision::respond("really")).await;
        assert_eq!(world.status(&run), RunStatus::Completed);
        let said: Vec<String> =
            world.engine.state(&run).unwrap().messages.iter().map(|it| it.text()).collect();
        let words = ["discuss", "from here", "one", "from here", "Really?", "really", "two"]
            .map(String::from);
        assert_eq!(said, words);
        let heard = agent.heard();
        assert_eq!(agent.begun(), 2, "a task for each of its turns: {heard:?}");
        assert_eq!(heard[0], "begin discuss | writer: from here");
        assert!(heard[2].contains("clerk: one"), "{heard:?}");
    }
}

/// One that fails in the middle is put to a person, and the others go on with what the person said.
#[tokio::test]
async fn a_turn_that_fails_does_not_end_the_chat() {
    let failed = RemoteState::Failed(ErrorInfo::new("broken", "it broke"));
    for (world, agent) in worlds(CHAT, &[failed, done("two")]) {
        let run = world.run("shop", json!("discuss")).await;
        assert_eq!(world.pending(&run)[0].body.kind, RequestKind::StepError);
        decide(&world, &run, Decision::respond("I say one")).await;
        assert_eq!(world.status(&run), RunStatus::Completed);
        assert!(agent.heard().last().unwrap().contains("I say one"), "{:?}", agent.heard());
    }
}

/// A task that its agent has lost begins again if the operator said so, and not too often.
#[tokio::test]
async fn what_may_begin_again_does_so_a_few_times() {
    let lost = RemoteState::Failed(ErrorInfo::new("lost", "it is lost"));
    for (world, agent) in worlds(CHAT, &[lost.clone(), lost.clone(), done("one"), done("two")]) {
        *agent.again.lock().unwrap() = true;
        let run = world.run("shop", json!("discuss")).await;
        assert_eq!(world.status(&run), RunStatus::Completed);
        assert_eq!(agent.begun(), 4);
    }
    for (world, agent) in worlds(CHAT, &[lost]) {
        *agent.again.lock().unwrap() = true;
        let run = world.run("shop", json!("discuss")).await;
        assert_eq!(world.pending(&run)[0].body.context["error"]["code"], "lost");
        assert_eq!(agent.begun(), 4, "three times more, and then a person is asked");
        // The question stands, whatever the operator says by now.
        world.look().await;
        assert_eq!((agent.begun(), world.pending(&run).len()), (4, 1));
    }
}
