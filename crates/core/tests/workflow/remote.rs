//! Agents that run elsewhere.

use crate::support::{good, wrong};

fn file(agent: &str) -> String {
    format!(
        "workflow: shop\nagents:\n  clerk: {{ {agent} }}\npattern: sequential\nsequential: {{ agents: [clerk] }}\n"
    )
}

#[test]
fn an_agent_may_run_elsewhere() {
    let workflow = good(&file(
        "remote: refunds, name: Refunds, answer_within: 2h, default_answer: no, escalate_to: boss, follow_ups: 3",
    ));
    let agent = &workflow.agents["clerk"];
    assert_eq!(agent.remote.as_deref(), Some("refunds"));
    let json = workflow.canonical_json();
    assert!(json.contains(r#""remote":"refunds""#) && !json.contains("instructions"), "{json}");
    // An agent of this workflow is as it was before there were others.
    let json = good(&file("instructions: Sell.")).canonical_json();
    assert!(!json.contains("remote"), "{json}");
}

#[test]
fn it_must_be_configured() {
    assert_eq!(
        wrong(&file("remote: refund")),
        "3:20: there is no remote agent `refund`\nhint: did you mean `refunds`?"
    );
}

#[test]
fn what_it_has_there_is_not_said_here() {
    for (more, place, key) in [
        ("instructions: Sell.", "3:29", "instructions"),
        ("tools: [request_user_input]", "3:29", "tools"),
        ("model: fast", "3:29", "model"),
        ("context_tokens: 100", "3:29", "context_tokens"),
        ("max_steps: 3", "3:29", "max_steps"),
    ] {
        assert_eq!(
            wrong(&file(&format!("remote: refunds, {more}"))),
            format!(
                "{place}: `{key}` does not go with `remote`\nhint: an agent that runs elsewhere has its instructions, tools and model there"
            )
        );
    }
}
