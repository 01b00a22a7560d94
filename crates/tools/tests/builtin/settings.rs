//! Nothing is offered that was not configured, and what is configured wrongly is said.

use serde_json::json;
use signoff_tools::Builtin;

use super::Tools;

fn names(settings: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::new(settings, folder.path());
    tools.0.iter().map(|tool| tool.spec().name.to_string()).collect()
}

#[test]
fn nothing_is_offered_that_was_not_configured() {
    assert!(names("").is_empty());
    assert_eq!(
        names("[files]\nroot = '.'"),
        ["read_file", "list_files", "write_file", "edit_file", "delete_file"]
    );
    assert_eq!(names("[files]\nroot = '.'\nread_only = true"), ["read_file", "list_files"]);
    assert_eq!(names("[command]\nallow = ['ls']\nroot = '.'"), ["run_command"]);
    assert_eq!(names("[http]"), ["http_get", "http_request"]);
    assert_eq!(names("[http]\nread_only = true"), ["http_get"]);
}

#[test]
fn wrong_settings_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (settings, problem) in [
        ("[files]\nroot = 'missing'", "tools.files.root: the folder"),
        ("[files]\nroot = '.'\ndeny = ['a/b']", "tools.files.deny[0]: `a/b` must be a name"),
        ("[files]\nroot = '.'\ndeny = ['[']", "tools.files.deny[0]:"),
        ("[command]\nallow = ['ls']", "tools.command.root:"),
        ("[command]\nallow = []\nroot = '.'", "tools.command.allow: no program"),
        ("[command]\nallow = ['bin/x']\nroot = '.'", "tools.command.allow[0]:"),
        ("[command]\nallow = ['ls']\nroot = '.'\ntimeout = '0s'", "tools.command.timeout:"),
        ("[command]\nallow = ['ls']\nroot = '.'\nmax_output = 1", "tools.command.max_output:"),
        ("[command]\nallow = ['ls']\nroot = '.'\nenv = ['A=B']", "tools.command.env:"),
        ("[http]\ntimeout = '0s'", "tools.http.timeout:"),
        ("[http]\nmax_bytes = 1", "tools.http.max_bytes:"),
        (
            "[http.headers.'a.example']\nx = { env = 'SIGNOFF_TEST_UNSET' }",
            "has no `SIGNOFF_TEST_UNSET`",
        ),
        ("[http.headers.'https://a.example/path']\nx = 'y'", "write a host"),
        ("[http.headers.'a.example']\n'bad name' = 'y'", "not a header's name"),
    ] {
        let found = toml::from_str::<Builtin>(settings).unwrap().tools(folder.path()).unwrap_err();
        assert!(found.contains(problem), "{settings}: {found}");
    }
    for settings in ["[file]", "[files]\nroot = '.'\nx = 1", "[http]\nprivate = true", "[files]"] {
        assert!(toml::from_str::<Builtin>(settings).is_err(), "{settings}");
    }
    // A value that cannot be sent is not repeated.
    let secret = "[http.headers.'a.example']\nauthorization = \"top\\nsecret\"";
    let settings = toml::from_str::<Builtin>(secret).unwrap();
    assert!(!settings.tools(folder.path()).unwrap_err().contains("secret"));
    assert!(!format!("{settings:?}").contains("secret"));
}

#[test]
fn effects_are_declared() {
    let folder = tempfile::tempdir().unwrap();
    let all = "[files]\nroot = '.'\n[command]\nallow = ['ls']\n[http]";
    let tools = Tools::new(all, folder.path());
    let effects: Vec<String> = tools
        .0
        .iter()
        .map(|tool| {
            let effects = json!(tool.spec().effects);
            let set = effects.as_object().unwrap().iter().filter(|(_, on)| **on == json!(true));
            let set: Vec<&str> = set.map(|(name, _)| name.as_str()).collect();
            format!("{}: {}", tool.spec().name, set.join(" "))
        })
        .collect();
    assert_eq!(
        effects,
        [
            "read_file: read_only idempotent",
            "list_files: read_only idempotent",
            "write_file: idempotent destructive file_edit",
            "edit_file: file_edit",
            "delete_file: idempotent destructive file_edit",
            "run_command: destructive open_world execute",
            "http_get: read_only idempotent open_world network",
            "http_request: destructive open_world network",
        ]
    );
}

/// The page names every tool with its arguments and effects.
#[test]
fn the_documentation_is_complete() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.md");
    let page = std::fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let all = "[files]\nroot = '.'\n[command]\nallow = ['ls']\n[http]";
    for tool in &Tools::new(all, folder.path()).0 {
        let spec = tool.spec();
        let heading = format!("### `{}`\n", spec.name);
        let section = page.split(&heading).nth(1).unwrap_or_else(|| panic!("no {heading}"));
        let section = section.split("\n#").next().unwrap();
        for argument in spec.parameters["properties"].as_object().unwrap().keys() {
            assert!(section.contains(&format!("| `{argument}` |")), "{} {argument}", spec.name);
        }
        let effects = json!(spec.effects);
        let set = effects.as_object().unwrap().iter().filter(|(_, on)| **on == json!(true));
        let set: Vec<String> = set.map(|(name, _)| format!("`{name}`")).collect();
        let line = format!("Effects: {}", set.join(", "));
        assert!(section.contains(&line), "{}: {line}", spec.name);
    }
    let settings = serde_json::to_value(schemars::schema_for!(Builtin)).unwrap();
    for (part, name) in
        [("FileSettings", "files"), ("CommandSettings", "command"), ("HttpSettings", "http")]
    {
        let heading = format!("### `[tools.{name}]`\n");
        let section = page.split(&heading).nth(1).unwrap_or_else(|| panic!("no {heading}"));
        let section = section.split("\n#").next().unwrap();
        for setting in settings["$defs"][part]["properties"].as_object().unwrap().keys() {
            assert!(section.contains(&format!("| `{setting}` |")), "{name}.{setting}");
        }
    }
}
