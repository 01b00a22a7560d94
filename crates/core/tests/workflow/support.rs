//! A good file, and a short way to say what is wrong with a bad one.

use signoff_core::workflow::{Diagnostic, Known, MapFiles, Workflow};

/// A file with a bit of everything a coordinator can have.
pub(crate) const GOOD: &str = r##"# A party.
workflow: event_planner
description: Plans an event.
model: default
input: { type: string }
samples:
  - Plan a party for 30 people
types:
  SpecialistOutput:
    type: object
    required: [summary, next_agent]
    properties:
      summary: { type: string }
      next_agent: { type: [string, "null"] }
agents:
  coordinator:
    instructions: |
      Put the plan together.
  venue:
    name: Venue specialist
    instructions: prompts/venue.md
    tools: [web_search, request_user_input]
    output: { $ref: "#/types/SpecialistOutput" }
    answer_within: 30m
  budget:
    instructions: Mind the money.
    output: { $ref: "#/types/SpecialistOutput" }
tools:
  web_search:
    description: Searches.
    parameters: { type: object, properties: { query: { type: string } } }
    replies:
      - when: venue
        reply: [The Foundry, Riverside Hall]
      - reply: nothing found
pattern: coordinator
coordinator: { agent: coordinator, specialists: [venue, budget], start: venue, require: all, max_visits: 3 }
limits: { model_calls: 100, wall: 24h }
"##;

/// A file with a bit of everything a graph can have.
pub(crate) const GRAPH: &str = r#"workflow: review
agents:
  writer: { instructions: Write. }
  critic: { instructions: Criticise. }
pattern: graph
executors:
  split: { transform: "{'text': output}" }
  approve: { ask: { prompt: Is it good?, kind: approval, within: 1h } }
  choose: { ask: { prompt: Which?, kind: selection, options: [a, b] } }
  publish: { function: publish }
  translate: { workflow: translation }
edges:
  - { from: split, to: [writer, choose] }
  - { from: [writer, choose], to: critic }
  - from: critic
    max: 3
    switch:
      - { when: output.good == true, to: approve }
      - { to: split }
  - { from: approve, to: publish, when: output == "yes" }
  - { from: approve, to: translate }
start: split
"#;

pub(crate) fn known() -> Known<'static> {
    Known {
        tools: vec!["request_user_input", "current_time"],
        functions: vec!["publish"],
        sources: vec!["places"],
        remotes: vec!["refunds", "travel-desk"],
        workflows: None,
        models: Some(vec!["default", "fast"]),
        taken: vec!["ask_human"],
    }
}

pub(crate) fn files() -> MapFiles {
    [("prompts/venue.md", "You find venues.\n")].into_iter().collect()
}

pub(crate) fn parse(text: &str) -> Result<Workflow, Vec<Diagnostic>> {
    Workflow::parse(text, &files(), &known()).map(|parsed| parsed.workflow)
}

pub(crate) fn good(text: &str) -> Workflow {
    match parse(text) {
        Ok(workflow) => workflow,
        Err(problems) => panic!("{}", show(&problems)),
    }
}

/// Everything that is wrong with `text`, one problem after the other.
pub(crate) fn wrong(text: &str) -> String {
    match parse(text) {
        Ok(_) => "nothing".to_owned(),
        Err(problems) => show(&problems),
    }
}

pub(crate) fn show(problems: &[Diagnostic]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The good file with `old` replaced by `new`.
pub(crate) fn changed(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    GOOD.replacen(old, new, 1)
}

pub(crate) fn changed_graph(old: &str, new: &str) -> String {
    assert!(GRAPH.contains(old), "{old}");
    GRAPH.replacen(old, new, 1)
}
