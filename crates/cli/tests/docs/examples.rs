//! What the pages show is there, is checked, and runs as shown.

use std::path::Path;

use serde_json::Value;

use crate::page::{pages, read, root};
use crate::shell::{Shell, commands, missing};

#[test]
fn files_are_shown_as_they_are() {
    let mut shown = 0;
    for page in pages() {
        for block in page.blocks() {
            let place = format!("{}:{}", page.name(), block.line);
            if let Some(file) = block.marker.as_deref().and_then(|it| it.strip_prefix("file: ")) {
                assert_eq!(block.text, read(&root().join(file)), "{place} is not {file}");
                shown += 1;
            } else if block.language == "yaml" && block.text.starts_with("workflow:") {
                let written = block.marker.as_deref().is_some_and(|it| it.starts_with("write: "));
                assert!(written, "{place}: a workflow that no test runs");
            }
        }
    }
    assert!(shown > 8, "{shown} files are shown");
}

#[test]
fn console_blocks_do_what_they_show() {
    let (mut ran, mut problems) = (0, Vec::new());
    for page in pages() {
        let mut shell = Shell::new();
        for block in page.blocks() {
            let marker = block.marker.as_deref().unwrap_or_default();
            if let Some(name) = marker.strip_prefix("write: ") {
                shell.write(name, &block.text);
            }
            if marker == "serve" {
                let output = shell.serve();
                let shown = commands(&block.text);
                let lacks = missing(&shown[0].output, &output.text);
                assert_eq!(lacks, None, "{}:{}\n{}", page.name(), block.line, output.text);
                continue;
            }
            if marker != "run" {
                let shows = block.language == "console" && block.text.contains("$ signoff");
                assert!(!shows, "{}:{} is not run", page.name(), block.line);
                continue;
            }
            for shown in commands(&block.text) {
                let output = shell.run(&shown.line);
                let problem = if output.code == shown.code {
                    missing(&shown.output, &output.text).map(|line| format!("lacks: {line}"))
                } else {
                    Some(format!("ends with {}, not {}", output.code, shown.code))
                };
                let place = format!("{}:{}: {}", page.name(), block.line, shown.line);
                problems.extend(problem.map(|it| format!("{place}\n{it}\n{}", output.text)));
                ran += 1;
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert!(ran > 30, "{ran} commands ran");
}

#[test]
fn every_example_of_the_documentation_runs() {
    let mut ran = 0;
    for entry in std::fs::read_dir(root().join("examples/workflows")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with("docs-") {
            continue;
        }
        let shell = Shell::new();
        let checked = shell.run(&format!("signoff check examples/workflows/{name}"));
        assert_eq!(checked.code, 0, "{name}: {}", checked.text);
        let input = sample(&folder);
        let answers = ["yaml", "json"]
            .map(|end| format!("examples/workflows/{name}/answers.{end}"))
            .into_iter()
            .find(|file| root().join(file).exists())
            .unwrap_or_else(|| panic!("{name} has no answers"));
        let workflow = if folder.join("workflow.yaml").exists() {
            format!("examples/workflows/{name}")
        } else {
            format!("hire --workflows examples/workflows/{name}")
        };
        let line =
            format!("signoff run {workflow} '{input}' --answers {answers} --no-prompt queue");
        let output = shell.run(&line);
        assert_eq!(output.code, 0, "{line}\n{}", output.text);
        assert!(!output.text.contains("not used"), "{line}\n{}", output.text);
        ran += 1;
    }
    assert!(ran >= 5, "{ran} examples ran");
}

/// The first sample of the folder's workflow, as it is typed.
fn sample(folder: &Path) -> String {
    let file = ["workflow.yaml", "hire.yaml"].map(|name| folder.join(name));
    let text = read(file.iter().find(|file| file.exists()).unwrap());
    let after = text.split("samples:\n  - ").nth(1).expect("it has a sample");
    let line = after.lines().next().unwrap();
    if !line.starts_with('{') {
        return line.to_owned();
    }
    // YAML in one line with plain words: quoting those makes it JSON.
    let json = line
        .split(' ')
        .map(|word| {
            let bare = word.trim_end_matches([',', ':']);
            let quoted = bare.starts_with(|c: char| c.is_alphabetic());
            if quoted { word.replacen(bare, &format!("\"{bare}\""), 1) } else { word.to_owned() }
        })
        .collect::<Vec<_>>()
        .join(" ");
    serde_json::from_str::<Value>(&json).unwrap().to_string()
}
