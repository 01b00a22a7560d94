//! Reference pages leave nothing out, and links lead somewhere.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::page::{page, pages, read, root};
use crate::shell::Shell;

#[test]
fn every_command_and_variable_is_in_the_reference() {
    let cli = page("docs/cli.md").text;
    let help = Shell::new().run("signoff --help").text;
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    for line in commands.lines() {
        let command = line.split_whitespace().next().unwrap();
        assert!(cli.contains(&format!("## `signoff {command}")), "docs/cli.md lacks {command}");
    }
    let env = read(&root().join("crates/cli/src/env.rs"));
    for after in env.split("name: \"").skip(1) {
        let name = after.split('"').next().unwrap();
        assert!(cli.contains(&format!("`{name}`")), "docs/cli.md lacks {name}");
    }
}

#[test]
fn every_key_of_the_workflow_file_is_in_the_reference() {
    let text = page("docs/workflows.md").text;
    let schema: Value = serde_json::from_str(&Shell::new().run("signoff schema").text).unwrap();
    let mut keys = BTreeSet::new();
    properties(&schema, &mut keys);
    assert!(keys.contains("answer_within") && keys.contains("switch"), "{keys:?}");
    let missing: Vec<_> = keys.iter().filter(|key| !text.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/workflows.md lacks {missing:?}");
}

fn properties(schema: &Value, keys: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(named)) = fields.get("properties") {
                keys.extend(named.keys().cloned());
            }
            fields.values().for_each(|value| properties(value, keys));
        }
        Value::Array(items) => items.iter().for_each(|value| properties(value, keys)),
        _ => {}
    }
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        for after in page.text.split("](").skip(1) {
            let target = after.split(')').next().unwrap();
            if target.contains("://") {
                continue;
            }
            let (file, place) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.path.clone(),
                file => page.path.parent().unwrap().join(file),
            };
            assert!(path.exists(), "{}: {target} leads nowhere", page.name());
            if !place.is_empty() {
                let found = read(&path).lines().any(|line| anchor(line).as_deref() == Some(place));
                assert!(found, "{}: {target}: there is no such heading", page.name());
            }
        }
    }
}

/// What a heading is linked by.
fn anchor(line: &str) -> Option<String> {
    let title = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let kept = title.to_lowercase().replace(' ', "-");
    Some(kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect())
}
