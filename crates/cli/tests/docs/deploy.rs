//! What is in `deploy/` fits the program: its options are known, and whoever reads such files reads these.

use std::collections::BTreeMap;
use std::process::Command;

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

use crate::page::{read, root};

fn deploy(name: &str) -> String {
    read(&root().join("deploy").join(name))
}

/// The words of a command line are such as `signoff serve` takes: it gets as far as its address.
fn is_taken(words: &[String]) {
    let mut words = words.to_vec();
    let place = words.iter().position(|word| word == "--addr").expect("it says where to listen");
    "no address".clone_into(&mut words[place + 1]);
    let folder = tempfile::tempdir().unwrap();
    if let Some(place) = words.iter().position(|word| word == "--data-dir") {
        words[place + 1] = folder.path().display().to_string();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_signoff"));
    let output = command.args(&words).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`no address` is not an address"), "{words:?}: {said}");
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_unit_starts_what_there_is() {
    let unit = deploy("signoff.service");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let (program, arguments) = start.split_once(' ').unwrap();
    is_taken(&words(arguments));
    if !std::path::Path::new("/usr/bin/systemd-analyze").is_file() {
        return;
    }
    // With a program that is here.
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("signoff.service");
    std::fs::write(&here, unit.replace(program, env!("CARGO_BIN_EXE_signoff"))).unwrap();
    let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&here).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // Other units of the machine are none of our business.
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("signoff")).collect();
    assert!(ours.is_empty(), "{said}");
}

#[test]
fn the_container_starts_what_there_is() {
    let file = deploy("Containerfile");
    let list = |name: &str| -> Vec<String> {
        let line = file.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        serde_json::from_str(line).unwrap()
    };
    assert_eq!(list("ENTRYPOINT "), ["/usr/bin/signoff"]);
    is_taken(&list("CMD "));
    let toolchain = read(&root().join("Cargo.toml"));
    let version = toolchain.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    let image = format!("FROM rust:{}-", version.trim_matches('"'));
    assert!(file.contains(&image), "{image}");
}

/// Everything beside the Containerfile is handed to whoever builds: not what runs have left there.
#[test]
fn an_image_is_built_without_the_data_of_runs() {
    let ignored = read(&root().join(".dockerignore"));
    let ignored: Vec<&str> = ignored.lines().collect();
    for folder in [".signoff", "target", ".git", "web/node_modules"] {
        assert!(ignored.contains(&folder), "{folder}");
    }
    // What git does not take is not for others.
    for line in read(&root().join(".gitignore")).lines() {
        let name = line.trim_end_matches('/');
        let is_ignored = ignored.iter().any(|it| it.trim_start_matches("**/") == name);
        assert!(is_ignored, "{name}");
    }
}

#[test]
fn the_three_nodes_start_what_there_is() {
    let compose = yaml(&deploy("compose.yaml"));
    let services = compose["services"].as_object().unwrap();
    let variables = read(&root().join("crates/cli/src/env.rs"));
    let mut nodes = 0;
    for (name, service) in services {
        for volume in service["volumes"].as_array().unwrap() {
            let volume = volume.as_str().unwrap().split(':').next().unwrap();
            assert!(compose["volumes"].get(volume).is_some(), "{name}: {volume}");
        }
        if name == "database" {
            continue;
        }
        nodes += 1;
        let command = service["command"].as_array().unwrap();
        is_taken(&command.iter().map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>());
        for variable in service["environment"].as_object().unwrap().keys() {
            let known =
                variables.contains(&format!("\"{variable}\"")) || variable.starts_with("PG");
            assert!(known, "{name}: {variable}");
        }
        let file = service["build"]["dockerfile"].as_str().unwrap();
        assert!(root().join(file).is_file(), "{file}");
        for other in service["depends_on"].as_object().unwrap().keys() {
            assert!(services.contains_key(other), "{name}: {other}");
        }
    }
    assert_eq!(nodes, 3);
}

/// A YAML file as a value, with what `<<` brings along.
fn yaml(text: &str) -> Value {
    let mut reader = Reader { events: Vec::new(), anchors: BTreeMap::new() };
    for event in Parser::new_from_str(text) {
        reader.events.push(event.unwrap().0);
    }
    reader.events.reverse();
    reader.events.retain(|event| {
        !matches!(
            event,
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd
        )
    });
    reader.value()
}

struct Reader<'a> {
    /// What comes, the next one last.
    events: Vec<Event<'a>>,
    anchors: BTreeMap<usize, Value>,
}

impl Reader<'_> {
    fn value(&mut self) -> Value {
        let (anchor, value) = match self.events.pop().unwrap() {
            Event::Alias(anchor) => return self.anchors[&anchor].clone(),
            Event::Scalar(text, _, anchor, _) => (anchor, Value::String(text.into_owned())),
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                while !matches!(self.events.last(), Some(Event::SequenceEnd)) {
                    items.push(self.value());
                }
                self.events.pop();
                (anchor, Value::Array(items))
            }
            Event::MappingStart(anchor, _) => {
                let mut fields = Map::new();
                while !matches!(self.events.last(), Some(Event::MappingEnd)) {
                    let key = self.value().as_str().unwrap().to_owned();
                    match self.value() {
                        Value::Object(others) if key == "<<" => fields.extend(others),
                        value => drop(fields.insert(key, value)),
                    }
                }
                self.events.pop();
                (anchor, Value::Object(fields))
            }
            other => panic!("{other:?}"),
        };
        self.anchors.insert(anchor, value.clone());
        value
    }
}
