//! From YAML events to a [`Tree`], without recursion and within bounds.

use std::collections::{BTreeMap, HashMap};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::Value;

use super::diagnostic::{MAX_PROBLEMS, Problem, quote};
use super::scalar;
use super::tree::{
    Data, Field, MAX_DEPTH, MAX_EXPANDED_BYTES, MAX_FILE_BYTES, MAX_NODES, Node, Position, Tree,
};

/// The tree, as far as there is one, and everything that is wrong with the text.
pub(super) fn read(text: &str) -> (Option<Tree>, Vec<Problem>) {
    if text.len() > MAX_FILE_BYTES {
        let message =
            format!("the file has {} bytes; at most {MAX_FILE_BYTES} are read", text.len());
        return (None, vec![Problem::at(Position::START, message)]);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(problem) = unprintable(text) {
        return (None, vec![problem]);
    }
    let mut reader = Reader::default();
    let mut events = Parser::new_from_str(text);
    while let Some(event) = events.next_event() {
        let done = match event {
            Ok((event, span)) => reader.take(event, position(&span.start)),
            Err(error) => Err(Problem::at(
                position(error.marker()),
                format!("this is not YAML: {}", error.info()),
            )),
        };
        if let Err(problem) = done {
            reader.problems.push(problem);
            return (None, reader.problems);
        }
        if reader.problems.len() >= MAX_PROBLEMS {
            return (None, reader.problems);
        }
    }
    let nothing = Node { position: Position::START, data: Data::Scalar(Value::Null) };
    (Some(Tree { root: reader.root.unwrap_or(nothing) }), reader.problems)
}

/// YAML forbids control characters, and the scanner takes a zero for the end of the text.
fn unprintable(text: &str) -> Option<Problem> {
    for (n, line) in text.split('\n').enumerate() {
        let found = line.chars().enumerate().find(|(_, c)| {
            c.is_control() && !matches!(c, '\t' | '\r' | '\u{85}') || *c == '\u{feff}'
        });
        if let Some((column, c)) = found {
            let at = Position { line: n + 1, column: column + 1 };
            let message = format!("the character U+{:04X} is not allowed in a file", u32::from(c));
            return Some(Problem::at(at, message).hint("is this a text file?"));
        }
    }
    None
}

fn position(marker: &Marker) -> Position {
    Position { line: marker.line().max(1), column: marker.col() + 1 }
}

/// A list or mapping that is still open.
struct Open {
    position: Position,
    anchor: usize,
    /// What it cost before, to know what it costs itself.
    nodes_before: usize,
    bytes_before: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    Map {
        fields: Vec<Field>,
        seen: HashMap<String, Position>,
        /// The key whose value comes next; none inside for a key that was refused.
        key: Option<(Option<String>, Position)>,
    },
}

/// A value that an alias may repeat, and what repeating it costs.
struct Anchored {
    node: Node,
    nodes: usize,
    bytes: usize,
}

#[derive(Default)]
struct Reader {
    stack: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    anchors: BTreeMap<usize, Anchored>,
    nodes: usize,
    bytes: usize,
    problems: Vec<Problem>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), Problem> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Problem::at(at, "a second document begins here")
                        .hint("keep one workflow in a file and remove the `---`"));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), at);
                self.count(1, text.len(), at)?;
                self.scalar(&text, style, anchor, at);
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref(), at);
                self.open(OpenKind::List(Vec::new()), anchor, at)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref(), at);
                let kind = OpenKind::Map { fields: Vec::new(), seen: HashMap::new(), key: None };
                self.open(kind, anchor, at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(anchor, at)?,
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, at: Position) {
        // Any tag could ask for code to make the value; here there is none to ask for.
        if let Some(tag) = tag {
            let message = format!("tags such as {} are not supported", quote(&tag.to_string()));
            self.problems.push(Problem::at(at, message).hint("remove the tag"));
        }
    }

    fn count(&mut self, nodes: usize, bytes: usize, at: Position) -> Result<(), Problem> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.nodes > MAX_NODES {
            let message = format!("the file has more than {MAX_NODES} values, aliases expanded");
            return Err(Problem::at(at, message));
        }
        if self.bytes > MAX_EXPANDED_BYTES {
            let message = format!(
                "the file has more than {MAX_EXPANDED_BYTES} bytes of text, aliases expanded"
            );
            return Err(Problem::at(at, message));
        }
        Ok(())
    }

    fn open(&mut self, kind: OpenKind, anchor: usize, position: Position) -> Result<(), Problem> {
        if self.stack.len() >= MAX_DEPTH {
            let message = format!("the file nests deeper than {MAX_DEPTH} levels");
            return Err(Problem::at(position, message));
        }
        let (nodes_before, bytes_before) = (self.nodes, self.bytes);
        self.count(1, 0, position)?;
        self.stack.push(Open { position, anchor, nodes_before, bytes_before, kind });
        Ok(())
    }

    fn close(&mut self) {
        let Some(open) = self.stack.pop() else {
            return;
        };
        let data = match open.kind {
            OpenKind::List(items) => Data::List(items),
            OpenKind::Map { fields, .. } => Data::Map(fields),
        };
        let node = Node { position: open.position, data };
        if open.anchor > 0 {
            let (nodes, bytes) = (self.nodes - open.nodes_before, self.bytes - open.bytes_before);
            self.anchors.insert(open.anchor, Anchored { node: node.clone(), nodes, bytes });
        }
        self.add(node);
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Result<(), Problem> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(Problem::at(at, "this alias stands inside of what it repeats"));
        };
        let (nodes, bytes) = (anchored.nodes, anchored.bytes);
        // Counted before it is copied: what is too large never exists.
        self.count(nodes, bytes, at)?;
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Ok(());
        };
        let node = anchored.node.clone();
        if self.stack.len() + depth(&node) > MAX_DEPTH {
            let message = format!("the file nests deeper than {MAX_DEPTH} levels");
            return Err(Problem::at(at, message));
        }
        self.add(node);
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, anchor: usize, at: Position) {
        let value = match style {
            ScalarStyle::Plain => scalar::resolve(text).unwrap_or_else(|problem| {
                let hint = "put it in quotes if it is meant as text";
                self.problems.push(Problem::at(at, problem).hint(hint));
                Value::Null
            }),
            _ => Value::String(text.to_owned()),
        };
        let node = Node { position: at, data: Data::Scalar(value) };
        if anchor > 0 {
            let anchored = Anchored { node: node.clone(), nodes: 1, bytes: text.len() };
            self.anchors.insert(anchor, anchored);
        }
        if text == "<<" && style == ScalarStyle::Plain && self.expects_key() {
            let hint = "write the keys out, or repeat a whole value with an alias";
            self.problems.push(Problem::at(at, "merge keys are not supported").hint(hint));
            self.set_key(None, at);
            return;
        }
        self.add(node);
    }

    fn expects_key(&self) -> bool {
        matches!(self.stack.last(), Some(Open { kind: OpenKind::Map { key: None, .. }, .. }))
    }

    fn set_key(&mut self, name: Option<String>, at: Position) {
        if let Some(Open { kind: OpenKind::Map { key, .. }, .. }) = self.stack.last_mut() {
            *key = Some((name, at));
        }
    }

    /// Puts a finished value where it belongs.
    fn add(&mut self, mut node: Node) {
        let Some(open) = self.stack.last_mut() else {
            self.root = Some(node);
            return;
        };
        match &mut open.kind {
            OpenKind::List(items) => items.push(node),
            OpenKind::Map { key: key @ None, seen, .. } => {
                let at = node.position;
                let name = if let Data::Scalar(Value::String(name)) = node.data {
                    key_name(name, at, seen, &mut self.problems)
                } else {
                    let problem = Problem::at(at, "a key must be text");
                    self.problems.push(problem.hint("put it in quotes"));
                    None
                };
                *key = Some((name, at));
            }
            OpenKind::Map { fields, key, .. } => {
                let Some((Some(name), position)) = key.take() else {
                    return;
                };
                // A value that is not there has no place of its own.
                if matches!(node.data, Data::Scalar(Value::Null)) {
                    node.position = position;
                }
                fields.push(Field { key: name, position, value: node });
            }
        }
    }
}

/// The name of a key, unless its mapping has it already.
fn key_name(
    name: String,
    at: Position,
    seen: &mut HashMap<String, Position>,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    if let Some(first) = seen.get(&name) {
        let message = format!("the key {} is here twice", quote(&name));
        let hint = format!("it is already at {}:{}", first.line, first.column);
        problems.push(Problem::at(at, message).hint(hint));
        return None;
    }
    seen.insert(name.clone(), at);
    Some(name)
}

fn depth(node: &Node) -> usize {
    match &node.data {
        Data::Scalar(_) => 0,
        Data::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Data::Map(fields) => 1 + fields.iter().map(|field| depth(&field.value)).max().unwrap_or(0),
    }
}
