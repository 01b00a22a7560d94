//! What the audit says of agents elsewhere that gates let be told something.

use signoff_core::decision::Then;

use super::*;

const FILE: &str = "
workflow: shop
agents: { clerk: { remote: desk, name: Clerk } }
pattern: sequential
sequential: { agents: [clerk] }
gates:
  - { name: away, when: action.kind == 'remote' }
";

/// What the audit says of this kind.
fn said(world: &World, decision: &str) -> Vec<Value> {
    let audit = world.store.audit(None, 0, 100).unwrap();
    let lines = audit.iter().map(|it| serde_json::from_str::<Value>(&it.decision).unwrap());
    lines.filter(|line| line["decision"] == decision).collect()
}

#[tokio::test]
async fn what_an_agent_elsewhere_was_told_is_in_the_audit_once() {
    let known = Known { remotes: vec!["desk"], ..Known::default() };
    let workflow = Workflow::parse(FILE, &NoFiles, &known).unwrap().workflow;
    let world = |script: &[RemoteState]| {
        let script = script.to_vec();
        World::all(|engine| engine.workflow(workflow.clone()).remote(Played::new(script.clone())))
    };
    // It is told once, and looked at for as long as it works.
    for world in world(&[RemoteState::Working, done("ok")]) {
        let run = world.run("shop", json!("a refund")).await;
        assert!(said(&world, "executed").is_empty(), "people are asked first");
        decide(&world, &run, Decision::approve()).await;
        assert_eq!(output(&world, &run), "ok");
        let (asked, told) = (said(&world, "asked"), said(&world, "executed"));
        assert_eq!((asked.len(), told.len()), (1, 1), "{told:?}");
        assert_eq!((&told[0]["tool"], &told[0]["result"]), (&json!("desk"), &json!("ok")));
        assert_eq!(told[0]["digest"], asked[0]["digest"]);
        assert!(!told[0].to_string().contains("refund"), "{told:?}");
    }
    for world in world(&[done("ok")]) {
        let run = world.run("shop", json!("a refund")).await;
        decide(&world, &run, Decision::reject(None, Then::Continue)).await;
        assert!(said(&world, "executed").is_empty(), "it was not told");
    }
}
