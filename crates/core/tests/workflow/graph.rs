//! Names that do not exist, patterns that do not fit, graphs that do not end.

use crate::support::{changed, changed_graph, wrong};

#[test]
fn names_that_do_not_exist() {
    for (old, new, message) in [
        (
            "agent: coordinator,",
            "agent: cordinator,",
            "16:3: agent `coordinator` is never used\nhint: remove it, or name it where agents are put to work\n\
             37:23: there is no agent `cordinator`\nhint: did you mean `coordinator`?",
        ),
        (
            "[venue, budget], start",
            "[venue, budge, budget], start",
            "37:57: there is no agent `budge`\nhint: did you mean `budget`?",
        ),
        (
            "start: venue",
            "start: coordinator",
            "37:73: there is no specialist `coordinator`\nhint: known here: `venue`, `budget`",
        ),
        (
            "tools: [web_search, request_user_input]",
            "tools: [web_search, mcp:place/*]",
            "22:25: there is no tool server `place`\nhint: did you mean `places`?",
        ),
        (
            "model: default",
            "model: fasst",
            "4:8: there is no model `fasst`\nhint: did you mean `fast`?",
        ),
        ("[web_search, req", "[web_search, web_search, req", "22:25: `web_search` is here twice"),
        ("max_visits: 3", "max_visits: 0", "37:106: `max_visits` must be at least 1"),
        ("model_calls: 100", "model_calls: 0", "38:24: `model_calls` must be more than nothing"),
        ("wall: 24h", "wall: 0s", "38:35: `wall` must be more than nothing"),
        (
            "answer_within: 30m",
            "answer_within: 0s",
            "24:20: `answer_within` must be more than nothing",
        ),
        ("answer_within: 30m", "max_steps: 0", "24:16: `max_steps` must be at least 1"),
        ("instructions: Mind the money.", "instructions: ''", "26:19: the instructions are empty"),
    ] {
        assert_eq!(wrong(&changed(old, new)), message, "{new}");
    }
}

#[test]
fn sections_and_patterns_belong_together() {
    assert_eq!(
        wrong(&changed("pattern: coordinator", "pattern: sequential")),
        "36:10: `pattern: sequential` needs `sequential`\nhint: add `sequential:`\n\
         37:1: `coordinator` belongs to `pattern: coordinator`, and this is `pattern: sequential`\n\
         hint: drop `coordinator`, or write `pattern: coordinator`"
    );
    let file = |rest: &str| {
        format!(
            "workflow: w\nagents:\n  a: {{ instructions: x }}\n  b: {{ instructions: x }}\n{rest}"
        )
    };
    assert_eq!(wrong(&file("pattern: sequential\nsequential: { agents: [a, b] }\n")), "nothing");
    assert_eq!(
        wrong(&file("pattern: sequential\nsequential: { agents: [a, b, a] }\n")),
        "6:30: `a` is here twice"
    );
    assert_eq!(
        wrong(&file("pattern: concurrent\nconcurrent: { agents: [], aggregator: a }\n")),
        "4:3: agent `b` is never used\nhint: remove it, or name it where agents are put to work\n\
         6:23: at least one agent is needed here"
    );
    assert_eq!(
        wrong(&file("pattern: concurrent\nconcurrent: { agents: [a, b], aggregator: a }\n")),
        "6:43: `a` is one of the agents it listens to"
    );
    assert_eq!(
        wrong(
            "workflow: w\nagents: { join: { instructions: x } }\npattern: concurrent\nconcurrent: { agents: [join] }\n"
        ),
        "2:11: `join` is a name the concurrent pattern uses itself\nhint: call the agent otherwise"
    );
    assert_eq!(
        wrong(&file("pattern: coordinator\ncoordinator: { agent: a, specialists: [a, b] }\n")),
        "6:40: `a` is the coordinator itself"
    );
    assert_eq!(
        wrong(&file("pattern: graph\nedges: [{ from: a, to: b }]\n")),
        "5:10: `pattern: graph` needs `start`\nhint: add `start:`"
    );
}

#[test]
fn specialists_say_who_is_next() {
    assert_eq!(
        wrong(&changed(
            "    instructions: Mind the money.\n    output: { $ref: \"#/types/SpecialistOutput\" }",
            "    instructions: Mind the money.\n    output: { type: object }"
        )),
        "27:13: the output of specialist `budget` has no `next_agent`\n\
         hint: add `next_agent: { type: [string, \"null\"] }` to its properties"
    );
}

#[test]
fn executors_have_one_kind() {
    assert_eq!(
        wrong(&changed_graph("{ function: publish }", "{ function: publish, agent: writer }")),
        "10:3: an executor has one kind, this one has agent and function\n\
         hint: write exactly one of agent, function, transform, ask, ask_given, workflow"
    );
    assert_eq!(
        wrong(&changed_graph("{ function: publish }", "{}")),
        "10:3: an executor needs a kind\n\
         hint: write exactly one of agent, function, transform, ask, ask_given, workflow"
    );
    assert_eq!(
        wrong(&changed_graph("{ function: publish }", "{ function: publsh }")),
        "10:24: there is no function `publsh`\nhint: did you mean `publish`?"
    );
    assert_eq!(
        wrong(&changed_graph("{ function: publish }", "{ agent: writr }")),
        "10:21: there is no agent `writr`\nhint: did you mean `writer`?"
    );
}

#[test]
fn questions_fit_their_kind() {
    for (old, new, message) in [
        (
            "kind: selection, options: [a, b]",
            "kind: selection",
            "9:13: a selection needs `options`\nhint: list the answers",
        ),
        (
            "kind: selection, options: [a, b]",
            "options: [a, b]",
            "9:36: only a selection has `options`\nhint: write `kind: selection`, or drop the options",
        ),
        ("options: [a, b]", "options: [a, a]", "9:66: `a` is here twice"),
        (
            "kind: approval",
            "kind: plan_review",
            "8:48: a workflow cannot ask `plan_review`\nhint: write input, selection or approval",
        ),
        ("within: 1h", "within: 0s", "8:66: `within` must be more than nothing"),
        ("prompt: Which?", "prompt: ''", "9:28: the question is empty"),
    ] {
        assert_eq!(wrong(&changed_graph(old, new)), message, "{new}");
    }
}

#[test]
fn edges_are_well_formed() {
    for (old, new, message) in [
        (
            "{ from: approve, to: translate }",
            "{ from: approve, to: [translate, transalte] }",
            "21:38: there is no executor `transalte`\nhint: did you mean `translate`?",
        ),
        (
            "{ from: approve, to: publish, when: output == \"yes\" }",
            "{ from: approve, to: publish, switch: [{ to: publish }] }",
            "20:35: an edge has `to` or `switch`, not both\nhint: drop one of them",
        ),
        (
            "  - { from: approve, to: translate }\n",
            "  - { from: approve, to: translate }\n  - { from: publish }\n",
            "22:5: the edge leads nowhere\nhint: add `to` or `switch`",
        ),
        (
            "{ from: [writer, choose], to: critic }",
            "{ from: [writer, choose], to: [critic, publish], max: 2 }",
            "14:35: a fan-in leads to one executor\nhint: lead it to one, and from there to the others\n\
             14:54: a fan-in has no `max`\nhint: it waits for all its sources, once each time",
        ),
        (
            "- { when: output.good == true, to: approve }",
            "- { to: approve }",
            "18:9: only the last case may do without `when`\nhint: the cases after it would never be looked at",
        ),
        ("max: 3", "max: 0", "16:10: `max` must be at least 1"),
        (
            "{ from: approve, to: translate }",
            "{ from: approve, to: [] }",
            "11:3: executor `translate` cannot be reached from `split`\nhint: lead an edge to it, or remove it\n\
             21:26: at least one executor is needed here",
        ),
        (
            "start: split",
            "start: splt",
            "22:8: there is no executor `splt`\nhint: did you mean `split`?",
        ),
    ] {
        let text = changed_graph(old, new);
        assert_eq!(wrong(&text), message, "{new}");
    }
}

#[test]
fn expressions_compile() {
    let text = wrong(&changed_graph("when: output == \"yes\"", "when: outptu == \"yes\""));
    assert!(
        text.starts_with(
            "20:41: the expression `outptu == \"yes\"` is wrong: unknown name `outptu`"
        ),
        "{text}"
    );
    let text = wrong(&changed_graph("\"{'text': output}\"", "\"{'text': \""));
    assert!(text.starts_with("7:23: the expression `{'text': ` is wrong"), "{text}");
}

#[test]
fn everything_can_be_reached() {
    assert_eq!(
        wrong(&changed_graph("  - { from: approve, to: translate }\n", "")),
        "11:3: executor `translate` cannot be reached from `split`\nhint: lead an edge to it, or remove it"
    );
    assert_eq!(
        wrong(&changed_graph("to: [writer, choose]", "to: writer")),
        "9:3: executor `choose` cannot be reached from `split`\nhint: lead an edge to it, or remove it\n\
         14:22: this fan-in would wait for ever for `choose`\nhint: `choose` is never reached"
    );
    assert_eq!(
        wrong(&changed_graph("agents:\n", "agents:\n  idle: { instructions: x }\n")),
        "3:3: agent `idle` is never used\nhint: remove it, or name it where agents are put to work"
    );
}

#[test]
fn loops_have_a_bound() {
    assert_eq!(
        wrong(&changed_graph("    max: 3\n", "")),
        "15:5: the loop split -> writer -> critic -> split has no bound\n\
         hint: put `max: 3` on this edge from `critic` to `split`"
    );
    assert_eq!(
        wrong(&changed_graph(
            "{ from: approve, to: translate }",
            "{ from: approve, to: [translate, approve] }"
        )),
        "21:5: the loop approve -> approve has no bound\n\
         hint: put `max: 3` on this edge from `approve` to `approve`"
    );
}
