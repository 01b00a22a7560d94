//! What models cost, and how fast the engine is.

use crate::support::Place;

const HELLO: &str = "workflow: hello\npattern: sequential\nsequential: { agents: [a, b] }\n\
                     agents:\n  a: { instructions: Greet. }\n  b: { instructions: Greet again. }\n";

#[test]
fn what_a_run_costs_is_told_and_kept() {
    let place = Place::new();
    place.write("hello.yaml", HELLO);
    place.write("script.yaml", "- text: Hello\n");
    let model = "[models.default]\nprovider = \"scripted\"\nscript = \"script.yaml\"\n";
    place.write("signoff.toml", model);
    let free = place.run(&["run", "hello.yaml", "x"]).exits(0);
    assert!(!free.stderr.contains("cost"), "{}", free.stderr);

    place.write("signoff.toml", format!("{model}prices = {{ input = 100.0, output = 400.0 }}\n"));
    let told = place.run(&["run", "hello.yaml", "x"]).exits(0);
    assert!(told.stderr.contains(" tokens in, "), "{}", told.stderr);
    assert!(told.stderr.contains(", cost 0.00"), "{}", told.stderr);
    let journal = place.run(&["journal", "last"]).exits(0);
    assert_eq!(journal.stdout.matches(", cost 0.00").count(), 2, "{}", journal.stdout);

    let events = place.run(&["run", "hello.yaml", "x", "--json"]).exits(0).events();
    let usage = &events.last().unwrap()["usage"];
    let (input, output) = (usage["input"].as_u64().unwrap(), usage["output"].as_u64().unwrap());
    assert!(input > 0 && output > 0, "{usage}");
    assert_eq!(usage["cost"].as_u64().unwrap(), input * 100_000 + output * 400_000);

    place.write("signoff.toml", format!("{model}prices = {{ input = -1.0, output = 1.0 }}\n"));
    let wrong = place.run(&["run", "hello.yaml", "x"]).exits(2);
    assert!(wrong.stderr.contains("models.default.prices"), "{}", wrong.stderr);
}

#[test]
fn many_agents_at_once_are_measured() {
    let place = Place::new();
    let output = place.run(&["bench", "agents"]).exits(0);
    let record = &output.events()[0];
    assert_eq!(record["workload"], "agents");
    assert_eq!(record["agent_turns"], 800.0);
    for figure in ["cpu_us_per_turn", "turns_per_s", "rss_before_mb"] {
        assert!(record[figure].as_f64().unwrap() > 0.0, "{figure}: {record}");
    }
    let wrong = place.run(&["bench", "w9"]);
    assert!(wrong.stderr.contains("there is no benchmark `w9`"), "{}", wrong.stderr);
}
