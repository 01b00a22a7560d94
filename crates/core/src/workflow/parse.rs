//! From the text of a file to a definition, or to everything that is wrong with it.

use serde_json::Value;

use super::diagnostic::{Diagnostic, Problem, locate};
use super::files::{self, FileSource};
use super::tree::{Position, Tree, join};
use super::validate::{self, Known};
use super::{Workflow, read, structure};

/// A definition, and where its parts stand in the file it came from.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The definition, with prompt files read in.
    pub workflow: Workflow,
    /// The file it came from; none for a definition built in Rust.
    pub tree: Option<Tree>,
}

impl From<Workflow> for Parsed {
    fn from(workflow: Workflow) -> Self {
        Self { workflow, tree: None }
    }
}

impl Workflow {
    /// Reads a workflow file. `files` has the prompt files beside it, `known` what it may name. If
    /// anything is wrong, gives every problem in the order of the file.
    pub fn parse(
        text: &str,
        files: &dyn FileSource,
        known: &Known<'_>,
    ) -> Result<Parsed, Vec<Diagnostic>> {
        let (tree, mut problems) = read::read(text);
        let Some(tree) = tree else {
            return Err(locate(problems, None));
        };
        let value = tree.to_value();
        if value.is_null() && problems.is_empty() {
            return Err(locate(vec![empty()], None));
        }
        let found = structure::problems(&value);
        // What is left without unknown keys is looked at as well, so that a misspelt key does not
        // hide a misspelt name. With anything else wrong the rest means nothing yet.
        let whole = found.is_empty() && problems.is_empty();
        let rest = structure::without_unknown_keys(value, &found);
        problems.extend(found);
        let workflow = rest.and_then(|rest| match serde_json::from_value::<Workflow>(rest) {
            Ok(workflow) => Some(workflow),
            Err(error) => {
                problems.push(Problem::value("", error.to_string()));
                None
            }
        });
        if let Some(mut workflow) = workflow {
            problems.extend(validate::problems(&workflow, known, whole));
            problems.extend(read_prompts(&mut workflow, files));
            if problems.is_empty() {
                if let Some(phases) = &mut workflow.phases {
                    phases.expand();
                }
                return Ok(Parsed { workflow, tree: Some(tree) });
            }
        }
        Err(locate(problems, Some(&tree)))
    }

    /// Like [`Workflow::parse`], from bytes that may not be text.
    pub fn parse_bytes(
        bytes: &[u8],
        files: &dyn FileSource,
        known: &Known<'_>,
    ) -> Result<Parsed, Vec<Diagnostic>> {
        let text = text_of(bytes)?;
        Self::parse(text, files, known)
    }
}

/// The text in `bytes`, or where it stops being text.
pub fn text_of(bytes: &[u8]) -> Result<&str, Vec<Diagnostic>> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let good = String::from_utf8_lossy(good);
        let line = good.matches('\n').count() + 1;
        let last = good.rsplit('\n').next().unwrap_or_default();
        let at = Position { line, column: last.chars().count() + 1 };
        let problem = Problem::at(at, "the file is not UTF-8 text").hint("save it as UTF-8");
        locate(vec![problem], None)
    })
}

fn empty() -> Problem {
    Problem::at(Position::START, "the file is empty")
        .hint("a workflow begins with `workflow: NAME`")
}

/// Puts the text of prompt files in the place of their names.
fn read_prompts(workflow: &mut Workflow, files: &dyn FileSource) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, agent) in &mut workflow.agents {
        if !files::names_file(&agent.instructions) {
            continue;
        }
        match files::prompt(files, &agent.instructions) {
            Ok(text) => agent.instructions = text,
            Err((message, hint)) => {
                let path = join(&join("/agents", name), "instructions");
                problems.push(Problem::value(path, message).hint(hint));
            }
        }
    }
    problems
}

/// The content of another YAML file of the engine: bounded and checked as workflow files are.
pub fn yaml(text: &str) -> Result<Value, Vec<Diagnostic>> {
    Tree::parse(text).map(|tree| tree.to_value())
}
