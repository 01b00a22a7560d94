//! Wrong keys and wrong kinds of values.

use crate::support::{GOOD, GRAPH, changed, changed_graph, good, parse, show, wrong};

#[test]
fn the_good_ones_are_good() {
    good(GOOD).graph().unwrap();
    good(GRAPH).graph().unwrap();
}

#[test]
fn unknown_keys() {
    assert_eq!(
        wrong(&changed("description:", "descripton:")),
        "3:1: unknown key `descripton`\nhint: did you mean `description`?"
    );
    assert_eq!(
        wrong(&changed("    answer_within: 30m", "    temperature: 1")),
        "24:5: unknown key `temperature`\nhint: known keys here: `name`, `instructions`, `remote`, `tools`, \
         `output`, `model`, `answer_within`, `default_answer`, `escalate_to`, `human_input`, `follow_ups`, `context_tokens`, `max_steps`"
    );
    assert_eq!(
        wrong(&changed("start: venue, require", "begin: venue, require")),
        "37:66: unknown key `begin`\nhint: known keys here: `agent`, `specialists`, `start`, \
         `require`, `max_visits`"
    );
    assert_eq!(
        wrong(&changed("workflow: event_planner\n", "workflow: event_planner\nuses: {}\n"))
            .lines()
            .next(),
        Some("3:1: unknown key `uses`")
    );
}

#[test]
fn a_misspelt_key_does_not_hide_a_misspelt_name() {
    let text = changed("description:", "descripton:").replace("start: venue", "start: venu");
    assert_eq!(
        wrong(&text),
        "3:1: unknown key `descripton`\nhint: did you mean `description`?\n\
         37:73: there is no specialist `venu`\nhint: did you mean `venue`?"
    );
}

#[test]
fn wrong_kinds_everywhere() {
    for (old, new, message) in [
        (
            "tools: [web_search, request_user_input]",
            "tools: web_search",
            "22:12: `tools` must be a list, this is text",
        ),
        ("name: Venue specialist", "name: [x]", "20:11: `name` must be text, this is a list"),
        ("name: Venue specialist", "name: 12", "20:11: `name` must be text, this is a number"),
        (
            "max_visits: 3",
            "max_visits: many",
            "37:106: `max_visits` must be a whole number, this is text",
        ),
        (
            "max_visits: 3",
            "max_visits: 2.5",
            "37:106: `max_visits` must be a whole number, this is a number",
        ),
        ("max_visits: 3", "max_visits: -1", "37:106: `max_visits` must be at least 0"),
        (
            "max_visits: 3",
            "max_visits: 4294967296",
            "37:106: `max_visits` must be at most 4294967295",
        ),
        (
            "model_calls: 100",
            "model_calls: yes",
            "38:24: `model_calls` must be a whole number, this is text",
        ),
        ("samples:\n  -", "samples:\n  x:", "7:3: `samples` must be a list, this is a mapping"),
        (
            "limits: { model_calls: 100, wall: 24h }",
            "limits:",
            "38:1: `limits` must be a mapping, this is empty",
        ),
        (
            "wall: 24h",
            "wall: tomorrow",
            "38:35: `tomorrow` is not a length of time\nhint: write for example 30s, 15m or 24h",
        ),
        (
            "wall: 24h",
            "wall: 99999999999999999999d",
            "38:35: `99999999999999999999d` is not a length of time\nhint: write for example 30s, 15m or 24h",
        ),
        (
            "pattern: coordinator",
            "pattern: cordinator",
            "36:10: `pattern` cannot be `cordinator`; it is one of `coordinator`, `sequential`, \
             `concurrent`, `handoff`, `group_chat`, `phases`, `graph`\nhint: did you mean `coordinator`?",
        ),
        (
            "pattern: coordinator",
            "pattern: [graph]",
            "36:10: `pattern` must be one of `coordinator`, `sequential`, `concurrent`, `handoff`, `group_chat`, `phases`, `graph`, \
             this is a list",
        ),
        (
            "require: all",
            "require: most",
            "37:89: `require` cannot be `most`; it is one of `all`, `any`",
        ),
        (
            "workflow: event_planner",
            "workflow: event planner",
            "2:11: `event planner` cannot be a name\nhint: a name begins with a letter and goes on \
             with letters, digits, `_` and `-`, 64 at most",
        ),
        (
            "web_search:\n    desc",
            "web.search:\n    desc",
            "29:3: `web.search` cannot be a name\nhint: a name begins with a letter and goes on \
             with letters, digits, `_` and `-`, 64 at most",
        ),
        (
            "    instructions: Mind the money.\n",
            "",
            "25:3: `budget` needs `instructions`\nhint: `instructions`: What it is told to be and \
             do: text, or the name of a `.md` or `.txt` file beside this one.",
        ),
        (
            "pattern: coordinator\n",
            "",
            "2:1: `pattern` is missing\nhint: `pattern`: How the agents work together.",
        ),
        (
            "[venue, budget], start",
            "[venue, 7], start",
            "37:57: item 2 of `specialists` must be text, this is a number",
        ),
    ] {
        assert_eq!(wrong(&changed(old, new)), message, "{new}");
    }
}

#[test]
fn alternatives_are_told_as_one() {
    assert_eq!(
        wrong(&changed_graph("{ from: approve, to: translate }", "{ from: 7, to: translate }")),
        "21:13: `from` must be text or a list, this is a number"
    );
    assert_eq!(
        wrong(&changed_graph("to: [writer, choose]", "to: [writer, {}]")),
        "13:33: item 2 of `to` must be text, this is a mapping"
    );
}

#[test]
fn many_problems_at_once() {
    let text = "\
workflow: 1party
descripton: x
model: 7
agents:
  a b: { instructions: x }
  venue: { tools: web, prompt: x }
  budget: [x]
pattern: cordinator
coordinator: { agent: venue, specialist: [venue] }
edges: { from: a }
limits: { wall: soon, model_calls: -1, calls: 3 }
";
    let problems = parse(text).unwrap_err();
    assert!(problems.len() >= 12, "{}", show(&problems));
    assert!(problems.iter().all(|problem| problem.line > 0 && problem.column > 0));
    assert!(problems.is_sorted_by_key(|problem| (problem.line, problem.column)));
    let semantic = "\
workflow: party
model: nope
input: { type: strin }
samples: [x]
agents:
  a: { instructions: '', tools: [nope, nope] }
  b: { instructions: gone.md, model: fats, max_steps: 0 }
  c: { instructions: x, answer_within: 0s, output: { $ref: '#/types/Nope' } }
pattern: sequential
coordinator: { agent: a, specialists: [b] }
sequential: { agents: [a, z, a] }
limits: { model_calls: 0 }
";
    let problems = parse(semantic).unwrap_err();
    assert!(problems.len() >= 14, "{}", show(&problems));
    assert!(problems.iter().all(|problem| problem.line > 0 && problem.column > 0));
}

#[test]
fn the_published_schema_is_stable_and_accepts_good_files() {
    let schema = signoff_core::workflow::json_schema();
    assert_eq!(schema["$id"], "https://signoff.dev/schema/workflow.json");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["title"], "Signoff workflow");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema, signoff_core::workflow::json_schema());
    assert!(!schema.to_string().contains("uint32"));
}
