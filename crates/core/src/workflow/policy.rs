//! Policy files: read and checked as workflow files are.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

use super::diagnostic::{Diagnostic, Problem, locate};
use super::publish::{SPAN_PATTERN, bound_numbers};
use super::{read, structure};
use crate::policy::PolicyFile;

/// The JSON Schema of a policy file.
pub fn policy_schema() -> Value {
    SCHEMA.clone()
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = serde_json::to_value(schemars::schema_for!(PolicyFile)).unwrap_or_default();
    bound_numbers(&mut schema);
    schema["$defs"]["Span"]["pattern"] = SPAN_PATTERN.into();
    schema["title"] = "Signoff policy".into();
    schema
});

static VALIDATOR: LazyLock<Option<Validator>> =
    LazyLock::new(|| jsonschema::draft202012::new(&SCHEMA).ok());

impl PolicyFile {
    /// Reads a policy file. If anything is wrong, gives every problem in the order of the file.
    pub fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let (tree, mut problems) = read::read(text);
        let Some(tree) = tree else {
            return Err(locate(problems, None));
        };
        let value = tree.to_value();
        if value.is_null() && problems.is_empty() {
            return Ok(Self::default());
        }
        problems.extend(structure::problems_by(VALIDATOR.as_ref(), &value));
        if problems.is_empty() {
            match serde_json::from_value::<Self>(value) {
                Ok(file) => {
                    let found = file.problems();
                    if found.is_empty() {
                        return Ok(file);
                    }
                    let at = |(path, message)| Problem::value(path, message);
                    problems.extend(found.into_iter().map(at));
                }
                Err(error) => problems.push(Problem::value("", error.to_string())),
            }
        }
        Err(locate(problems, Some(&tree)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> Vec<(usize, String)> {
        let found = PolicyFile::parse(text).unwrap_err();
        found.into_iter().map(|it| (it.line, it.message)).collect()
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let fine = "gates:\n  - name: before_deploy\n  - name: mine\n    when: action.tool == 'x' && \
                    action.arguments.n > 3\n    within: 1h\nsmart: { writes: 5 }\n";
        assert_eq!(PolicyFile::parse(fine).unwrap().gates.len(), 2);
        assert_eq!(PolicyFile::parse("").unwrap(), PolicyFile::default());
        for (text, line, said) in [
            ("gates:\n  - name: x\n", 2, "it needs `when`"),
            ("gates:\n  - name: before_deploy\n    wen: true\n", 3, "unknown key"),
            ("gates:\n  - name: x\n    when: acton.kind == 'tool'\n", 3, "unknown name"),
            ("gates:\n  - name: x\n    when: action.kin == 'tool'\n", 3, "no `kin`"),
            ("gates:\n  - name: x\n    when: action.kind\n", 3, "not true or false"),
            ("gates:\n  - name: x\n    when: action.kind > 3\n", 3, "action.kind > 3"),
            ("gates:\n  - name: x\n    when: 'true'\n    ask: never\n", 4, "ask"),
            ("smart: { judge: { threshold: 7 } }\n", 1, "from 0 to 1"),
            ("gates: 7\n", 1, "gates"),
        ] {
            let found = wrong(text);
            assert!(found[0].0 == line && found[0].1.contains(said), "{text}: {found:?}");
        }
    }
}
