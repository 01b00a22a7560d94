//! Graphs of functions: routing, parallel work, asking, sleeping, calling.

#![allow(clippy::unwrap_used, clippy::single_match_else, clippy::needless_raw_string_hashes)] // tests

mod support;

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::request::RequestBody;
use signoff_core::state::Answer;
use signoff_core::{Actor, Decision, RunStatus, Span};
use signoff_runtime::{
    Context, DecideError, DecideRequest, Effect, EngineBuilder, EngineError, ForkRun, StartRun,
    WorkflowBuilder,
};
use signoff_store::Scope;
use support::{World, error};

fn chain() -> WorkflowBuilder {
    let step = |ctx: Context, message: Arc<Value>| async move {
        let n = message.as_i64().unwrap_or(0) + 1;
        ctx.say(signoff_core::Message::assistant(ctx.executor().clone(), format!("step {n}")));
        Ok(n.into())
    };
    WorkflowBuilder::new("chain")
        .function("a", step)
        .function("b", step)
        .function("c", step)
        .edge("a", "b")
        .edge("b", "c")
}

#[tokio::test]
async fn a_chain_runs_to_its_end() {
    for world in World::all(|engine| engine.built(chain())) {
        let run = world.run("chain", json!(0)).await;
        assert_eq!(world.status(&run), RunStatus::Completed);
        let state = world.engine.state(&run).unwrap();
        assert_eq!(state.output(), Some(json!(3)));
        assert_eq!(state.messages.len(), 4);
    }
}

#[tokio::test]
async fn edges_route_by_condition_switch_fan_out_and_fan_in() {
    let pass = |_: Context, message: Arc<Value>| async move { Ok(Value::clone(&message)) };
    let tag = |ctx: Context, message: Arc<Value>| async move {
        Ok(json!({ "by": ctx.executor(), "n": message["n"] }))
    };
    let build = move |engine: EngineBuilder| {
        engine.built(
            WorkflowBuilder::new("g")
                .function("start", pass)
                .function("small", tag)
                .function("big", tag)
                .function("left", tag)
                .function("right", tag)
                .function("end", pass)
                .switch("start", &[(Some("output.n < 10"), "small"), (None, "big")])
                .fan_out("big", &["left", "right"])
                .fan_in(&["left", "right"], "end"),
        )
    };
    for world in World::all(build) {
        let run = world.run("g", json!({ "n": 1 })).await;
        assert_eq!(
            world.engine.state(&run).unwrap().output(),
            Some(json!({ "by": "small", "n": 1 }))
        );
        let run = world.run("g", json!({ "n": 99 })).await;
        let output = world.engine.state(&run).unwrap().output().unwrap();
        assert_eq!(
            output,
            json!({ "left": { "by": "left", "n": 99 }, "right": { "by": "right", "n": 99 } })
        );
    }
}

#[tokio::test]
async fn a_loop_ends_at_its_bound() {
    let add = |_: Context, message: Arc<Value>| async move {
        Ok(json!(message.as_i64().unwrap_or(0) + 1))
    };
    let build = move |engine: EngineBuilder| {
        engine.built(WorkflowBuilder::new("loop").function("add", add).edge_when(
            "add",
            "add",
            "output < 100",
            Some(5),
        ))
    };
    for world in World::all(build) {
        let run = world.run("loop", json!(0)).await;
        let state = world.engine.state(&run).unwrap();
        assert_eq!((state.output(), state.visits["add"]), (Some(json!(6)), 6));
    }
}

#[tokio::test]
async fn a_condition_that_errs_closes() {
    let pass = |_: Context, message: Arc<Value>| async move { Ok(Value::clone(&message)) };
    let build = move |engine: EngineBuilder| {
        engine.built(
            WorkflowBuilder::new("doubt").function("a", pass).function("b", pass).edge_when(
                "a",
                "b",
                "output.missing > 1",
                None,
            ),
        )
    };
    for world in World::all(build) {
        let run = world.run("doubt", json!({})).await;
        assert_eq!(world.status(&run), RunStatus::Failed);
        assert_eq!(world.store.run(&run).unwrap().unwrap().error.unwrap().code, "edge_condition");
    }
}

fn asking() -> WorkflowBuilder {
    WorkflowBuilder::new("asking").function("ask", |ctx: Context, _| async move {
        let run = ctx.run().to_string();
        let before =
            ctx.effect("before", Effect::once("count"), |_| async move {
                Ok(json!(support::count(&run)))
            })
            .await?;
        let name = match ctx.ask("name", RequestBody::input("What is your name?")).await? {
            Answer::Decided { decision: Decision::Respond { content }, .. } => content,
            other => return Err(error(format!("{other:?}"))),
        };
        Ok(json!({ "name": name, "before": before }))
    })
}

#[tokio::test]
async fn an_answer_resumes_where_it_stood_and_no_effect_runs_twice() {
    for world in World::all(|engine| engine.built(asking())) {
        let run = world.run("asking", json!(null)).await;
        assert_eq!(world.status(&run), RunStatus::Waiting);
        let request = world.pending(&run).remove(0);
        assert_eq!(request.body.prompt, "What is your name?");
        assert_eq!(request.body.agent_path, vec!["ask".into()]);
        world.answer(&request.id, Decision::respond("Ada")).await.unwrap();
        world.engine.idle().await;
        let state = world.engine.state(&run).unwrap();
        assert_eq!(state.output().unwrap()["name"], "Ada");
        assert_eq!(support::counted(run.as_str()), 1);
        assert!(world.pending(&run).is_empty());
    }
}

#[tokio::test]
async fn six_wrong_answers_are_six_errors_and_the_same_again_is_a_success() {
    for world in World::all(|engine| engine.built(asking())) {
        let run = world.run("asking", json!(null)).await;
        let other = world.run("asking", json!(null)).await;
        let id = world.pending(&run).remove(0).id;
        let head = world.store.run(&run).unwrap().unwrap().head;
        let answer = |decision: Decision| DecideRequest::new(id.clone(), decision);
        let code = |result: Result<_, DecideError>| {
            result.map(|_: signoff_runtime::DecideOutcome| ()).unwrap_err().code()
        };
        let decide = |request: DecideRequest| world.engine.decide(request);

        let unknown = DecideRequest::new(run.request(99), Decision::respond("x"));
        assert_eq!(code(decide(unknown).await), "unknown_request");
        let mut foreign = answer(Decision::respond("x"));
        foreign.run = Some(other.clone());
        assert_eq!(code(decide(foreign).await), "foreign_request");
        assert_eq!(code(decide(answer(Decision::approve())).await), "decision_not_allowed");
        assert_eq!(code(decide(answer(Decision::respond(7))).await), "invalid_answer");
        assert_eq!(world.store.run(&run).unwrap().unwrap().head, head, "nothing changed");

        assert!(decide(answer(Decision::respond("Ada"))).await.unwrap().changed);
        world.engine.idle().await;
        let head = world.store.run(&run).unwrap().unwrap().head;
        assert!(!decide(answer(Decision::respond("Ada"))).await.unwrap().changed);
        assert_eq!(code(decide(answer(Decision::respond("Bob"))).await), "already_decided");
        let late =
            decide(answer(Decision::respond("Bob")).by(Actor::new("bob"))).await.unwrap_err();
        assert!(late.to_string().contains("already decided by local"), "{late}");
        assert!(late.to_string().contains("Ada"), "{late}");
        assert_eq!(world.store.run(&run).unwrap().unwrap().head, head, "nothing changed");
    }
}

#[tokio::test]
async fn a_deadline_expires_a_request_and_wakes_the_run() {
    let build = |engine: EngineBuilder| {
        engine.built(WorkflowBuilder::new("late").function("ask", |ctx: Context, _| async move {
            let mut body = RequestBody::input("Quick!");
            body.expires_at = Some(ctx.now("now").await?.plus(Span::seconds(60)));
            let answer = ctx.ask("q", body).await?;
            Ok(json!(answer == Answer::Expired))
        }))
    };
    for world in World::all(build) {
        let run = world.run("late", json!(null)).await;
        let id = world.pending(&run).remove(0).id;
        world.clock.advance(Span::seconds(59));
        world.look().await;
        assert_eq!(world.status(&run), RunStatus::Waiting);
        world.clock.advance(Span::seconds(2));
        world.look().await;
        assert_eq!(world.engine.state(&run).unwrap().output(), Some(json!(true)));
        let late = world.answer(&id, Decision::respond("x")).await.unwrap_err();
        assert_eq!(late.code(), "expired");
    }
}

#[tokio::test]
async fn an_answer_after_the_deadline_but_before_the_timer_is_too_late_all_the_same() {
    let build = |engine: EngineBuilder| {
        engine.built(WorkflowBuilder::new("late").function("ask", |ctx: Context, _| async move {
            let mut body = RequestBody::input("Quick!");
            body.expires_at = Some(ctx.now("now").await?.plus(Span::seconds(60)));
            Ok(json!(ctx.ask("q", body).await? == Answer::Expired))
        }))
    };
    for world in World::all(build) {
        let run = world.run("late", json!(null)).await;
        let id = world.pending(&run).remove(0).id;
        world.clock.advance(Span::seconds(61));
        assert_eq!(world.answer(&id, Decision::respond("x")).await.unwrap_err().code(), "expired");
        world.look().await;
        assert_eq!(world.engine.state(&run).unwrap().output(), Some(json!(true)));
    }
}

#[tokio::test]
async fn sleeping_costs_nothing_and_ends() {
    let build = |engine: EngineBuilder| {
        engine.built(WorkflowBuilder::new("nap").function("nap", |ctx: Context, _| async move {
            ctx.sleep("nap", Span::seconds(3600)).await?;
            Ok(json!("rested"))
        }))
    };
    for world in World::all(build) {
        let run = world.run("nap", json!(null)).await;
        assert_eq!(world.status(&run), RunStatus::Waiting);
        world.clock.advance(Span::seconds(3601));
        world.look().await;
        assert_eq!(world.engine.state(&run).unwrap().output(), Some(json!("rested")));
    }
}

#[tokio::test]
async fn parallel_questions_are_answered_in_any_order() {
    let build = |engine: EngineBuilder| {
        engine.built(WorkflowBuilder::new("two").function("two", |ctx: Context, _| async move {
            let (a, b) = futures_util::future::join(
                ctx.ask("a", RequestBody::input("a?")),
                ctx.ask("b", RequestBody::input("b?")),
            )
            .await;
            let text = |answer| match answer {
                Answer::Decided { decision: Decision::Respond { content }, .. } => content,
                _ => Value::Null,
            };
            Ok(json!([text(a?), text(b?)]))
        }))
    };
    for world in World::all(build) {
        let run = world.run("two", json!(null)).await;
        let pending = world.pending(&run);
        assert_eq!(pending.len(), 2);
        world.answer(&pending[1].id, Decision::respond("B")).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.status(&run), RunStatus::Waiting);
        assert_eq!(world.pending(&run).len(), 1);
        world.answer(&pending[0].id, Decision::respond("A")).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.engine.state(&run).unwrap().output(), Some(json!(["A", "B"])));
    }
}

#[tokio::test]
async fn a_waiting_branch_holds_up_nobody_else() {
    let build = |engine: EngineBuilder| {
        engine.built(
            WorkflowBuilder::new("branches")
                .function(
                    "start",
                    |_, message: Arc<Value>| async move { Ok(Value::clone(&message)) },
                )
                .function("asks", |ctx: Context, _| async move {
                    ctx.ask("q", RequestBody::input("?")).await?;
                    Ok(json!("asked"))
                })
                .function("works", |ctx: Context, _| async move {
                    ctx.effect("work", Effect::repeatable(), |_| async {
                        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                        Ok(json!(1))
                    })
                    .await?;
                    Ok(json!("worked"))
                })
                .function("after", |_, _| async { Ok(json!("after")) })
                .fan_out("start", &["asks", "works"])
                .edge("works", "after"),
        )
    };
    for world in World::all(build) {
        let run = world.run("branches", json!(1)).await;
        let state = world.engine.state(&run).unwrap();
        assert_eq!(state.outputs.len(), 1, "the other branch went on to its end");
        let id = world.pending(&run).remove(0).id;
        world.answer(&id, Decision::respond("x")).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.engine.state(&run).unwrap().output(), Some(json!(["after", "asked"])));
    }
}

#[tokio::test]
async fn executors_call_each_other() {
    let build = |engine: EngineBuilder| {
        engine.built(
            WorkflowBuilder::new("calls")
                .function("lead", |ctx: Context, _| async move {
                    let first = ctx.invoke("1", "helper", 20).await?;
                    let (a, b) = futures_util::future::join(
                        ctx.invoke("2", "helper", 1),
                        ctx.invoke("3", "helper", Value::clone(&first)),
                    )
                    .await;
                    Ok(json!([first, a?, b?]))
                })
                .function("helper", |ctx: Context, message: Arc<Value>| async move {
                    if message.as_i64() == Some(1) {
                        ctx.ask("q", RequestBody::input("really?")).await?;
                    }
                    Ok(json!(message.as_i64().unwrap_or(0) + 1))
                }),
        )
    };
    for world in World::all(build) {
        let run = world.run("calls", json!(null)).await;
        assert_eq!(world.status(&run), RunStatus::Waiting);
        let id = world.pending(&run).remove(0).id;
        world.answer(&id, Decision::respond("yes")).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.engine.state(&run).unwrap().output(), Some(json!([21, 2, 22])));
    }
}

#[tokio::test]
async fn a_sub_workflow_is_a_run_whose_requests_name_the_path() {
    let build = |engine: EngineBuilder| {
        let inner = asking();
        let outer = WorkflowBuilder::new("outer")
            .sub_workflow("sub", inner.definition())
            .function("end", |_, message: Arc<Value>| async move { Ok(message["name"].clone()) })
            .edge("sub", "end");
        engine.built(inner).built(outer)
    };
    for world in World::all(build) {
        let run = world.run("outer", json!(null)).await;
        world.engine.idle().await;
        assert_eq!(world.status(&run), RunStatus::Waiting);
        let request = world.pending(&run).remove(0);
        assert_ne!(request.run, run);
        assert_eq!(request.root, run);
        assert_eq!(request.body.agent_path, vec!["sub".into(), "ask".into()]);
        world.answer(&request.id, Decision::respond("Ada")).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.engine.state(&run).unwrap().output(), Some(json!("Ada")));
    }
}

fn asking_inside() -> impl Fn(EngineBuilder) -> EngineBuilder {
    |engine| {
        let inner = asking();
        let outer = WorkflowBuilder::new("outer").sub_workflow("sub", inner.definition());
        engine.built(inner).built(outer)
    }
}

#[tokio::test]
async fn the_end_of_a_run_ends_the_runs_inside_it() {
    for world in World::all(asking_inside()) {
        let run = world.run("outer", json!(null)).await;
        world.engine.idle().await;
        let inside = world.pending(&run).remove(0);
        world.engine.cancel(&run, Actor::new("boss"), None).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.status(&run), RunStatus::Cancelled);
        assert_eq!(world.status(&inside.run), RunStatus::Cancelled);
        assert!(world.pending(&run).is_empty());
    }
}

#[tokio::test]
async fn aborting_inside_stops_the_whole_run() {
    let build = |engine: EngineBuilder| {
        let inner = WorkflowBuilder::new("inner").function("ask", |ctx: Context, _| async move {
            ctx.ask("q", RequestBody::approval("Go?", json!(1))).await?;
            Ok(json!(1))
        });
        let outer = WorkflowBuilder::new("outer").sub_workflow("sub", inner.definition());
        engine.built(inner).built(outer)
    };
    for world in World::all(build) {
        let run = world.run("outer", json!(null)).await;
        world.engine.idle().await;
        let inside = world.pending(&run).remove(0);
        let stop = Decision::reject(Some("no money".into()), signoff_core::decision::Then::Stop);
        let decide = DecideRequest::new(inside.id, stop).by(Actor::new("boss"));
        world.engine.decide(decide).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.status(&inside.run), RunStatus::Cancelled);
        assert_eq!(world.status(&run), RunStatus::Cancelled);
        let error = world.store.run(&run).unwrap().unwrap().error.unwrap();
        assert!(error.message.contains("boss") && error.message.contains("no money"), "{error}");
    }
}

#[tokio::test]
async fn cancel_and_pause() {
    for world in World::all(|engine| engine.built(asking())) {
        let run = world.run("asking", json!(null)).await;
        let id = world.pending(&run).remove(0).id;
        world.engine.pause(&run, Actor::local(), None).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.status(&run), RunStatus::Paused);
        world.answer(&id, Decision::respond("Ada")).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.status(&run), RunStatus::Paused, "an answer is kept, but nothing moves");
        world.engine.unpause(&run, Actor::local()).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.status(&run), RunStatus::Completed);

        let run = world.run("asking", json!(null)).await;
        let id = world.pending(&run).remove(0).id;
        world.engine.cancel(&run, Actor::new("boss"), Some("enough".into())).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.status(&run), RunStatus::Cancelled);
        assert_eq!(
            world.answer(&id, Decision::respond("x")).await.unwrap_err().code(),
            "cancelled"
        );
        assert!(world.engine.cancel(&run, Actor::local(), None).await.is_err());
    }
}

#[tokio::test]
async fn a_fork_with_another_answer_leaves_the_old_run_alone() {
    for world in World::all(|engine| engine.built(asking())) {
        let run = world.run("asking", json!(null)).await;
        let id = world.pending(&run).remove(0).id;
        world.answer(&id, Decision::respond("Ada")).await.unwrap();
        world.engine.idle().await;
        let entries = world.store.entries(&run, 0, 100).unwrap();
        let decided = entries
            .iter()
            .find(|entry| matches!(entry.event, signoff_core::Event::Decided { .. }))
            .unwrap()
            .seq;
        let fork = ForkRun {
            run: run.clone(),
            at: decided,
            decision: Some(Decision::respond("Grace")),
            by: Actor::local(),
            reason: None,
        };
        let forked = world.engine.fork(fork.clone()).await.unwrap().run;
        world.engine.idle().await;
        assert_eq!(world.engine.state(&forked).unwrap().output().unwrap()["name"], "Grace");
        assert_eq!(world.engine.state(&run).unwrap().output().unwrap()["name"], "Ada");
        assert_eq!(support::counted(forked.as_str()), 0, "no effect before the fork ran again");
        let wrong = ForkRun { decision: Some(Decision::approve()), ..fork.clone() };
        assert!(world.engine.fork(wrong).await.is_err());
        let beyond = ForkRun { at: 10_000, decision: None, ..fork };
        assert!(world.engine.fork(beyond).await.is_err());
    }
}

#[tokio::test]
async fn panics_and_errors_fail_the_run_only() {
    let build = |engine: EngineBuilder| {
        engine.built(WorkflowBuilder::new("bad").function(
            "bad",
            |_, message: Arc<Value>| async move {
                assert!(message != json!("panic").into(), "boom");
                Err(error("refused"))
            },
        ))
    };
    for world in World::all(build) {
        for (input, code) in [("panic", "panic"), ("error", "test")] {
            let run = world.run("bad", json!(input)).await;
            assert_eq!(world.store.run(&run).unwrap().unwrap().error.unwrap().code, code);
        }
    }
}

#[tokio::test]
async fn the_wall_limit_ends_a_run() {
    let build = |engine: EngineBuilder| {
        let limits =
            signoff_core::workflow::Limits { wall: Some(Span::seconds(10)), ..Default::default() };
        engine.built(asking().limits(limits))
    };
    for world in World::all(build) {
        let run = world.run("asking", json!(null)).await;
        world.clock.advance(Span::seconds(11));
        world.look().await;
        assert_eq!(world.store.run(&run).unwrap().unwrap().error.unwrap().code, "limit_wall");
        assert!(world.pending(&run).is_empty());
    }
}

#[tokio::test]
async fn a_run_in_a_conversation_sees_what_was_said_before() {
    for world in World::all(|engine| engine.built(chain())) {
        let first = world.engine.run(StartRun::new("chain", 0)).await.unwrap();
        let mut again = StartRun::new("chain", 10);
        again.conversation = Some(first.conversation.clone());
        let second = world.engine.run(again).await.unwrap();
        let state = world.engine.state(&second.run).unwrap();
        assert_eq!((state.prior.len(), state.messages.len()), (4, 4));
        let apart = world.run("chain", json!(0)).await;
        assert_eq!(world.engine.state(&apart).unwrap().prior.len(), 0);
    }
}

#[tokio::test]
async fn a_run_finishes_on_the_definition_it_began_with() {
    let define = |word: &str| {
        let ask = signoff_core::workflow::AskFile {
            prompt: "Well?".into(),
            kind: signoff_core::RequestKind::Input,
            options: Vec::new(),
            risk: None,
            within: None,
        };
        WorkflowBuilder::new("w")
            .ask("q", ask)
            .transform("end", &format!("output.answer + ' {word}'"))
            .edge("q", "end")
    };
    for world in World::all(|engine| engine.built(define("old"))) {
        let waiting = world.run("w", json!(null)).await;
        // The same workflow, changed, in a process that never saw the old one.
        let later = signoff_runtime::Engine::builder(Arc::clone(&world.store))
            .clock(world.clock.clone())
            .built(define("new"))
            .build()
            .unwrap();
        let fresh = later.run(StartRun::new("w", json!(null))).await.unwrap().run;
        for (run, output) in [(waiting, "fine old"), (fresh, "fine new")] {
            let decide = DecideRequest::new(run.request(1), Decision::respond("fine"));
            later.decide(decide).await.unwrap();
            later.idle().await;
            assert_eq!(later.state(&run).unwrap().output(), Some(json!(output)));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_begins_once_however_many_try() {
    for world in World::all(|engine| {
        let wait = |ctx: Context, _: Arc<Value>| async move {
            ctx.ask("q", RequestBody::input("Well?")).await?;
            Ok(Value::Null)
        };
        engine.built(WorkflowBuilder::new("wait").function("w", wait))
    }) {
        for round in 0..20 {
            let tries = (0..8).map(|_| {
                let start = StartRun {
                    conversation: Some(format!("conv_{round}").as_str().into()),
                    ..StartRun::new("wait", json!(0))
                };
                let engine = world.engine.clone();
                tokio::spawn(async move { engine.start(start).await })
            });
            let tries: Vec<_> = tries.collect();
            let mut begun = Vec::new();
            let mut refused = Vec::new();
            for one in tries {
                match one.await.unwrap() {
                    Ok(started) => begun.push(started.run),
                    Err(EngineError::ConversationBusy { run }) => refused.push(run),
                    Err(other) => panic!("{other}"),
                }
            }
            assert_eq!((begun.len(), refused.len()), (1, 7));
            assert!(refused.iter().all(|run| *run == begun[0]));
        }
        world.engine.idle().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_slept_keeps_its_own_work() {
    for world in World::all(|engine| {
        let slow = |ctx: Context, _: Arc<Value>| async move {
            let effect = Effect::once(json!({ "does": "something long" }));
            let done = ctx.effect("e", effect, |_| async {
                tokio::time::sleep(std::time::Duration::from_millis(300)).await;
                Ok(json!("done"))
            });
            done.await.map(|value| Value::clone(&value))
        };
        engine.built(WorkflowBuilder::new("slow").function("s", slow))
    }) {
        let run = world.engine.start(StartRun::new("slow", json!(0))).await.unwrap().run;
        world.engine.look_for_work(&Scope::All).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        world.clock.advance(Span::seconds(8 * 3600));
        assert_eq!(world.engine.look_for_work(&Scope::All).await.unwrap(), 0);
        world.engine.idle().await;
        assert_eq!(world.status(&run), RunStatus::Completed);
        assert!(world.pending(&run).is_empty());
    }
}
