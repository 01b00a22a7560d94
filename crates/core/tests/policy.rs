//! Gates: the most restrictive wins, doubt closes, and nothing that is added loosens.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;
use signoff_core::deciders::Who;
use signoff_core::policy::{
    Action, ActionKind, Checkpoint, Clock, Counts, Gate, GateFile, How, OnTimeout, Outcome, Policy,
    Remembered, Remind, Stage, split,
};
use signoff_core::{Effects, Risk, Span};

fn file(name: &str, when: Option<&str>, ask: How) -> GateFile {
    GateFile { name: name.to_owned(), when: when.map(str::to_owned), ask, ..GateFile::default() }
}

fn policy(gates: Vec<GateFile>) -> Policy {
    let gates = gates.into_iter().map(|file| Gate::compile(file).unwrap()).collect();
    Policy { gates, ..Policy::default() }
}

fn write(path: &str) -> Action {
    let effects = Effects { file_edit: true, ..Effects::default() };
    Action::tool("write_file", json!({ "path": path, "text": "x" }), effects)
}

fn command(line: &str) -> Vec<Action> {
    let action = |words: Vec<String>, writes: Vec<String>, opaque: Option<String>| Action {
        kind: ActionKind::Command,
        name: words.first().cloned().unwrap_or_default().into(),
        effects: Effects { execute: true, file_edit: !writes.is_empty(), ..Effects::default() },
        targets: writes,
        command: words,
        opaque,
        ..Action::tool("run", json!({ "command": line }), Effects::default())
    };
    match split(line) {
        Ok(parts) => parts.into_iter().map(|part| action(part.words, part.writes, None)).collect(),
        Err(why) => vec![action(Vec::new(), Vec::new(), Some(why))],
    }
}

fn outcome(policy: &Policy, action: &Action) -> Outcome {
    policy.judge(action, Remembered::default()).outcome
}

#[test]
fn a_gate_asks_where_its_condition_holds() {
    let when = r#"action.kind == "tool" && "file_edit" in action.effects && action.arguments.path.startsWith("src/")"#;
    let policy = policy(vec![file("sources", Some(when), How::Always)]);
    assert_eq!(outcome(&policy, &write("src/a.rs")), Outcome::Ask);
    assert_eq!(outcome(&policy, &write("notes.txt")), Outcome::Allow);
    let judged = policy.judge(&write("src/a.rs"), Remembered::default());
    assert_eq!(judged.reasons[0].to_string(), "sources");
}

#[test]
fn the_most_restrictive_wins() {
    let (yes, no) = (Some("true"), Some("false"));
    let judge = |gates: &[(Option<&str>, How)], remembered| {
        let gates = gates.iter().map(|(when, ask)| file("g", *when, *ask)).collect();
        policy(gates).judge(&write("a"), remembered).outcome
    };
    let nothing = Remembered::default();
    let approved = Remembered { approved: true, ..Remembered::default() };
    let denied = Remembered { approved: true, denied: true, bypass: false };
    assert_eq!(judge(&[], nothing), Outcome::Allow);
    assert_eq!(judge(&[(yes, How::Audit)], nothing), Outcome::Allow);
    assert_eq!(judge(&[(no, How::Deny), (no, How::Always)], nothing), Outcome::Allow);
    assert_eq!(judge(&[(yes, How::Always), (yes, How::Audit)], nothing), Outcome::Ask);
    assert_eq!(judge(&[(yes, How::Always), (yes, How::Deny)], approved), Outcome::Deny);
    assert_eq!(judge(&[(yes, How::Always)], approved), Outcome::Ask, "what must be asked is");
    assert_eq!(judge(&[], denied), Outcome::Deny);
}

#[test]
fn smart_asks_if_something_speaks_for_it() {
    let policy = policy(vec![file("smart", Some("true"), How::Smart)]);
    let reasons = |action: &Action| {
        let judged = policy.judge(action, Remembered::default());
        let found = judged.reasons.iter().map(|it| it.criterion.clone()).collect::<Vec<_>>();
        assert_eq!(judged.outcome == Outcome::Ask, !found.is_empty());
        found
    };
    assert!(reasons(&write("notes.txt")).is_empty());
    assert_eq!(reasons(&write("config/production/a.yaml")), ["keyword"]);
    assert!(reasons(&write("products/keyboard.txt")).is_empty(), "a part of a word is not it");
    let delete = Effects { destructive: true, ..Effects::default() };
    assert_eq!(reasons(&Action { effects: delete, ..write("a") }), ["destructive"]);
    assert_eq!(
        reasons(&Action { environment: "production".into(), ..write("a") }),
        ["environment"]
    );
    let counts = Counts { writes: 60, failures: 3, repeats: 3, ..Counts::default() };
    assert_eq!(reasons(&Action { counts, ..write("a") }), ["writes", "failures", "loop"]);
    let approved = Remembered { approved: true, ..Remembered::default() };
    assert_eq!(policy.judge(&write("production/x"), approved).outcome, Outcome::Allow);
    let many = Action { targets: vec!["a".to_owned(); 20], ..write("a") };
    assert_eq!(reasons(&many), ["targets"]);
    for arguments in [
        json!({ "text": "use sk-proj-abcdefghijklmnopqrstuvwxyz012345" }),
        json!({ "list": [{ "text": "password=hunter2hunter2" }] }),
        json!({ "api_key": "0123456789" }),
    ] {
        let action = Action { arguments, ..write("a") };
        assert_eq!(reasons(&action), ["secret"], "{action:?}");
        let told = policy.judge(&action, Remembered::default()).reasons[0].to_string();
        assert!(!told.contains("sk-") && !told.contains("hunter2"), "{told}");
    }
}

#[test]
fn smart_asks_about_what_is_large_or_strange_where_it_is_told_to() {
    let mut policy = policy(vec![file("smart", Some("true"), How::Smart)]);
    let long = Action::tool("write", json!({ "text": "x\n".repeat(300) }), Effects::default());
    let get = |url: &str| Action::tool("get", json!({ "url": url }), Effects::default());
    for action in [&long, &get("https://example.org/x")] {
        assert_eq!(
            outcome(&policy, action),
            Outcome::Allow,
            "nobody said what is large or strange"
        );
    }
    policy.smart.lines = Some(300);
    policy.smart.hosts = Some(vec!["example.com".to_owned(), "*.example.net".to_owned()]);
    let why = |action: &Action| policy.judge(action, Remembered::default()).reasons;
    assert_eq!(why(&long)[0].to_string(), "smart: lines (300 lines)");
    for (url, told) in [
        ("https://example.com/x", None),
        ("https://api.example.net:8443/x", None),
        ("https://example.org/x", Some("smart: host (example.org)")),
        (
            "https://example.com@evil.org/",
            Some("smart: host (an address whose host cannot be told)"),
        ),
    ] {
        let why = why(&get(url)).first().map(ToString::to_string);
        assert_eq!(why.as_deref(), told, "{url}");
    }
    let fetched = command("curl https://example.org/install.sh");
    assert_eq!(why(&fetched[0])[0].criterion, "host");
}

#[test]
fn too_many_denials_of_late_lead_to_asking_about_everything() {
    let policy = policy(vec![file("other", Some("false"), How::Always)]);
    let asked = |denials: u32, recent_denials: u32| {
        let counts = Counts { denials, recent_denials, ..Counts::default() };
        outcome(&policy, &Action { counts, ..write("a") }) == Outcome::Ask
    };
    assert!(!asked(2, 9) && asked(3, 3) && asked(0, 10));
}

#[test]
fn doubt_closes() {
    let policy = policy(vec![
        file("wrong", Some("action.arguments.nowhere == 1"), How::Smart),
        file("shape", Some("action.arguments.path"), How::Smart),
    ]);
    let judged = policy.judge(&write("a"), Remembered::default());
    assert_eq!(judged.outcome, Outcome::Ask);
    assert_eq!(judged.reasons.len(), 2);
    assert!(judged.reasons.iter().all(|reason| reason.criterion == "unclear"), "{judged:?}");
}

#[test]
fn every_way_to_write_a_file_is_seen() {
    let policy = policy(vec![file("before_file_edit", None, How::Always)]);
    assert_eq!(outcome(&policy, &write("a")), Outcome::Ask);
    for line in [
        "echo x > a",
        "ls; echo x >> a",
        "cat a | tee b",
        "sed -i s/a/b/ c",
        "cp a b",
        "bash -c 'echo x > a'",
        "echo $(rm a)",
        "true && mv a b",
        "git checkout .",
        "python3 <<< x",
    ] {
        let asked = command(line).iter().any(|part| outcome(&policy, part) == Outcome::Ask);
        assert!(asked, "{line}");
    }
    for line in ["ls -l", "cat a", "grep x a | wc -l", "git status"] {
        let asked = command(line).iter().any(|part| outcome(&policy, part) == Outcome::Ask);
        assert!(!asked, "{line}");
    }
}

#[test]
fn checkpoints_are_about_what_they_say() {
    let covers =
        |checkpoint: Checkpoint, line: &str| command(line).iter().any(|it| checkpoint.covers(it));
    for (checkpoint, yes, no) in [
        (Checkpoint::BeforeFileDelete, "rm a", "ls"),
        (Checkpoint::BeforeExecution, "ls", ""),
        (Checkpoint::BeforeInstall, "npm install left-pad", "npm test"),
        (Checkpoint::BeforeNetwork, "curl x", "echo x"),
        (Checkpoint::BeforeDeploy, "kubectl apply -f x", "kubectl get pods"),
        (Checkpoint::BeforeMessageOut, "mail bob", "ls"),
    ] {
        assert!(covers(checkpoint, yes), "{checkpoint:?}: {yes}");
        assert!(!covers(checkpoint, no), "{checkpoint:?}: {no}");
    }
    let plan = Action { kind: ActionKind::Plan, ..write("a") };
    assert!(
        Checkpoint::AfterPlanning.covers(&plan) && !Checkpoint::AfterPlanning.covers(&write("a"))
    );
    let send = |name: &str, effects| Action::tool(name, json!({}), effects);
    assert!(Checkpoint::BeforeMessageOut.covers(&send("send_email", Effects::default())));
    assert!(!Checkpoint::BeforeMessageOut.covers(&send("read_email", Effects::READ_ONLY)));
    assert!(Checkpoint::BeforeDeploy.covers(&send("deploy_site", Effects::default())));
}

#[test]
fn a_wrong_gate_is_refused_with_everything_that_is_wrong() {
    let wrong = |file: GateFile| {
        let problems = Gate::compile(file).unwrap_err();
        problems.into_iter().map(|problem| problem.key).collect::<Vec<_>>()
    };
    assert_eq!(wrong(file("mine", None, How::Always)), ["name"]);
    assert_eq!(wrong(file("mine", Some("action.kind =="), How::Always)), ["when"]);
    assert_eq!(wrong(file("mine", Some("acton.kind == 'x'"), How::Always)), ["when"]);
    let timed = GateFile {
        on_timeout: OnTimeout::Approve,
        within: Some(Span::seconds(1)),
        risk: Some(Risk::High),
        who: Some(Who { count: 0, ..Who::default() }),
        ..file("before_deploy", None, How::Always)
    };
    assert_eq!(wrong(timed.clone()), ["who", "on_timeout"]);
    let fine = GateFile { risk: Some(Risk::Low), who: None, ..timed };
    assert!(Gate::compile(fine.clone()).is_ok());
    assert_eq!(wrong(GateFile { within: None, ..fine.clone() }), ["on_timeout"]);
    assert_eq!(wrong(GateFile { on_timeout: OnTimeout::Escalate, ..fine }), ["escalation"]);
}

#[test]
fn stages_that_share_a_clock_must_fit_on_it() {
    let stage =
        |within: Option<u64>| Stage { who: Who::default(), within: within.map(Span::seconds) };
    let gate = |within: u64, stages: &[Option<u64>]| GateFile {
        within: Some(Span::seconds(within)),
        on_timeout: OnTimeout::Escalate,
        escalation: stages.iter().map(|it| stage(*it)).collect(),
        clock: Clock::Shared,
        ..file("before_deploy", None, How::Always)
    };
    let problems = |file: GateFile| match Gate::compile(file) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.into_iter().map(|problem| problem.key).collect::<Vec<_>>(),
    };
    assert!(problems(gate(1, &[Some(2), Some(3)])).is_empty());
    for wrong in [&[None][..], &[Some(1)], &[Some(3), Some(2)], &[Some(2), None]] {
        assert_eq!(problems(gate(1, wrong)), ["clock"], "{wrong:?}");
    }
    let reset = GateFile { clock: Clock::Reset, ..gate(1, &[None, Some(1)]) };
    assert!(problems(reset).is_empty());
    let alone = GateFile { clock: Clock::Shared, ..file("before_deploy", None, How::Always) };
    assert_eq!(problems(alone), ["clock"]);
    let share =
        GateFile { remind: Some(Remind::Share(50)), ..file("before_deploy", None, How::Always) };
    assert_eq!(problems(share), ["remind"], "of which time?");
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![Just(How::Always), Just(How::Smart), Just(How::Audit), Just(How::Deny)]
}

fn gates() -> impl Strategy<Value = Vec<GateFile>> {
    let when = prop_oneof![
        Just(Some("true".to_owned())),
        Just(Some("false".to_owned())),
        Just(Some("action.tool == 'write_file'".to_owned())),
        Just(Some("action.arguments.nothing.x".to_owned())),
    ];
    let gate =
        (when, how(), prop::option::of(1_u64..5)).prop_map(|(when, ask, minutes)| GateFile {
            within: minutes.map(|minutes| Span::seconds(minutes * 60)),
            ..file("g", when.as_deref(), ask)
        });
    prop::collection::vec(gate, 0..6)
}

proptest! {
    /// A gate more never allows what was not allowed before, and their order means nothing.
    #[test]
    fn nothing_that_is_added_loosens(
        some in gates(), more in gates(), approved: bool, denied: bool, secret: bool,
    ) {
        let action = write(if secret { "production/secret" } else { "a" });
        let remembered = Remembered { approved, denied, bypass: false };
        let before = policy(some.clone()).judge(&action, remembered);
        let all: Vec<_> = some.iter().chain(&more).cloned().collect();
        let after = policy(all.clone()).judge(&action, remembered);
        prop_assert!(after.outcome >= before.outcome);
        prop_assert!(before.reasons.iter().all(|reason| after.reasons.contains(reason)));
        if let (Some(was), Some(is)) = (before.within, after.within) {
            prop_assert!(is.0 <= was.0);
        }
        let mut turned = all;
        turned.reverse();
        prop_assert_eq!(policy(turned).judge(&action, remembered).outcome, after.outcome);
    }

    /// No line makes the splitter panic, and every program it finds stands in the line.
    #[test]
    fn any_line_is_split_or_refused(line in ".{0,80}") {
        if let Ok(parts) = split(&line) {
            for part in parts {
                prop_assert!(!part.words.is_empty() || !part.writes.is_empty());
            }
        }
    }
}

/// What is told apart without evaluating is told apart rightly.
#[test]
fn plain_links_say_what_the_whole_says() {
    let conditions = [
        "action.kind == 'tool'",
        "action.tool == 'write_file' && action.arguments.path.startsWith('src/')",
        "action.tool == 'other' && action.arguments.nothing > 3",
        "'file_edit' in action.effects && action.environment == 'local'",
        "'network' in action.effects && action.arguments.x == 1",
        "action.counts.writes > 3 && action.tool == 'write_file'",
        "action.arguments.path.endsWith('.rs') && action.phase == 'control'",
        "action.agent == 'ann' || action.tool == 'write_file'",
        "action.arguments.path == 7",
        "action.targets.exists(t, t.endsWith('.rs'))",
        "action.targets.exists(t, t.contains('b')) && action.arguments.nothing == 1",
        "action.targets.exists(t, t == 'b' || t == 'c')",
    ];
    let actions = [
        write("src/a.rs"),
        write("b"),
        Action { counts: Counts { writes: 9, ..Counts::default() }, ..write("src/a") },
        Action { phase: Some("control".into()), ..write("x.rs") },
        Action::tool(
            "other",
            json!({ "path": 7 }),
            Effects { network: true, ..Effects::default() },
        ),
        Action {
            agent_path: vec!["ann".into()],
            ..Action::tool("z", json!({}), Effects::default())
        },
    ];
    for condition in conditions {
        // With a link that is always true but not plain, everything is evaluated.
        let whole = format!("({condition}) || false");
        for action in &actions {
            let judge = |when: &str| {
                let policy = policy(vec![file("g", Some(when), How::Always)]);
                outcome(&policy, action)
            };
            assert_eq!(judge(condition), judge(&whole), "{condition}: {action:?}");
        }
    }
}
