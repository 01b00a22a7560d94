//! A YAML file as a tree in which every value and every key knows its line and column.
//!
//! Owns what a file may look like before anybody asks what it says: its size, its nesting, what
//! aliases expand to. Other files of the engine (scripted replies, answers) are read by it too.

use serde_json::Value;

use super::diagnostic::{Diagnostic, locate};
use super::read;

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;
/// How deep a file may nest.
pub const MAX_DEPTH: usize = 64;
/// How many values a file may have, with aliases expanded.
pub const MAX_NODES: usize = 100_000;
/// How many bytes of text a file may have, with aliases expanded.
pub(super) const MAX_EXPANDED_BYTES: usize = 4 * MAX_FILE_BYTES;

/// A place in a file: line and column, both from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// Where a file begins.
    pub const START: Self = Self { line: 1, column: 1 };
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) position: Position,
    pub(super) data: Data,
}

#[derive(Clone, Debug)]
pub(super) enum Data {
    /// Null, a truth value, a number or text.
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<Field>),
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) position: Position,
    pub(super) value: Node,
}

/// A file, read.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) root: Node,
}

impl Tree {
    /// Reads one YAML document, or says everything that keeps it from being one.
    pub fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        match read::read(text) {
            (Some(tree), problems) if problems.is_empty() => Ok(tree),
            (tree, problems) => Err(locate(problems, tree.as_ref())),
        }
    }

    /// The file's content without places.
    pub fn to_value(&self) -> Value {
        self.root.to_value()
    }

    /// The place of the value at `pointer`, or of the nearest thing around it that exists.
    pub fn value_position(&self, pointer: &str) -> Position {
        self.walk(pointer).value
    }

    /// The place of the key that holds the value at `pointer`; of the value, if it is in a list.
    pub fn key_position(&self, pointer: &str) -> Position {
        let found = self.walk(pointer);
        found.key.unwrap_or(found.value)
    }

    fn walk(&self, pointer: &str) -> Found {
        let mut node = &self.root;
        let mut found = Found { value: node.position, key: None };
        for step in pointer.split('/').skip(1) {
            let next = match &node.data {
                Data::Scalar(_) => None,
                Data::List(items) => {
                    step.parse().ok().and_then(|n: usize| items.get(n)).map(|item| (item, None))
                }
                Data::Map(fields) => {
                    let step = step.replace("~1", "/").replace("~0", "~");
                    fields
                        .iter()
                        .find(|field| field.key == step)
                        .map(|field| (&field.value, Some(field.position)))
                }
            };
            let Some((next, key)) = next else {
                break;
            };
            node = next;
            found = Found { value: node.position, key };
        }
        found
    }
}

struct Found {
    value: Position,
    key: Option<Position>,
}

impl Node {
    // The depth is bounded, so recursion is.
    fn to_value(&self) -> Value {
        match &self.data {
            Data::Scalar(value) => value.clone(),
            Data::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Data::Map(fields) => Value::Object(
                fields.iter().map(|field| (field.key.clone(), field.value.to_value())).collect(),
            ),
        }
    }
}

/// `pointer` one step deeper.
pub(super) fn join(pointer: &str, step: &str) -> String {
    format!("{pointer}/{}", step.replace('~', "~0").replace('/', "~1"))
}
