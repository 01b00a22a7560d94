//! Everything that is wrong with a set of files, for people and for programs.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use signoff_core::workflow::{Diagnostic, Parsed, Tree};
use signoff_models::Scripted;
use signoff_tools::Canned;

use crate::failure::{Exit, Failure};
use crate::style::printable;

/// Problems with the text they are about.
#[derive(Debug, Default)]
pub(crate) struct Report {
    problems: Vec<Diagnostic>,
    sources: BTreeMap<String, String>,
}

impl Report {
    /// Remembers the text of a file, to show lines of it.
    pub(crate) fn add_source(&mut self, name: &str, text: String) {
        self.sources.insert(name.to_owned(), text);
    }

    /// A problem of a file as a whole.
    pub(crate) fn add_file(&mut self, name: &str, problem: &str) {
        self.problems.push(Diagnostic {
            file: Some(name.to_owned()),
            line: 0,
            column: 0,
            path: String::new(),
            message: problem.to_owned(),
            suggestion: None,
        });
    }

    /// Problems at places.
    pub(crate) fn extend(&mut self, problems: impl IntoIterator<Item = Diagnostic>) {
        self.problems.extend(problems);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.problems.len()
    }

    /// The names of the files that have problems.
    pub(crate) fn files(&self) -> Vec<&str> {
        self.problems.iter().filter_map(|problem| problem.file.as_deref()).collect()
    }

    /// Each problem with its line and a caret.
    pub(crate) fn render(&self) -> String {
        let rendered = self.problems.iter().map(|problem| {
            let source = problem.file.as_ref().and_then(|file| self.sources.get(file));
            printable(&problem.render(source.map_or("", String::as_str)))
        });
        rendered.collect::<Vec<_>>().join("\n\n")
    }

    /// The problems as a list.
    pub(crate) fn to_json(&self) -> Value {
        self.problems
            .iter()
            .map(|problem| {
                let mut json = json!({
                    "file": problem.file,
                    "line": problem.line,
                    "column": problem.column,
                    "path": problem.path,
                    "message": problem.message,
                });
                if let Some(hint) = &problem.suggestion {
                    json["hint"] = hint.as_str().into();
                }
                json
            })
            .collect()
    }

    /// The problems as the error of a command.
    pub(crate) fn into_failure(self) -> Failure {
        Failure { exit: Exit::Usage, message: self.render(), hint: None, rendered: true }
    }
}

/// What is wrong with the patterns of canned tools.
pub(super) fn canned_problems(parsed: &Parsed) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (name, tool) in &parsed.workflow.tools {
        for (index, reply) in tool.replies.iter().enumerate() {
            let mut alone = tool.clone();
            alone.replies = vec![reply.clone()];
            if let Err(problem) = Canned::new(name, &alone) {
                let problem = problem.split_once(".when: ").map_or(&*problem, |(_, rest)| rest);
                let path = format!("/tools/{name}/replies/{index}/when");
                problems.push(diagnose(parsed.tree.as_ref(), path, problem));
            }
        }
    }
    problems
}

/// The script in `text`, or what is wrong with it and where.
pub(super) fn script(text: &str) -> Result<Scripted, Vec<Diagnostic>> {
    let tree = Tree::parse(text)?;
    let value = tree.to_value();
    let bare_list = value.is_array();
    Scripted::from_value(value).map_err(|error| {
        let path = pointer(&error.path);
        let own = if bare_list { path.strip_prefix("/rules") } else { None };
        let path = own.map_or(path.clone(), str::to_owned);
        vec![diagnose(Some(&tree), path, &error.problem)]
    })
}

fn diagnose(tree: Option<&Tree>, path: String, problem: &str) -> Diagnostic {
    let at = tree.map(|tree| tree.value_position(&path));
    let (line, column) = at.map_or((0, 0), |at| (at.line, at.column));
    let message = printable(problem);
    Diagnostic { file: None, line, column, path, message, suggestion: None }
}

/// `rules[3].when` as `/rules/3/when`.
fn pointer(path: &str) -> String {
    if path == "script" {
        return String::new();
    }
    let parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    parts.fold(String::new(), |pointer, part| format!("{pointer}/{part}"))
}
