//! What was said and done in a conversation, made of the journals of its runs.

mod told;

use std::collections::BTreeMap;

use serde_json::Value;
use signoff_client::Workflow;
use signoff_core::ActivationId;
use signoff_core::journal::Entry;

use crate::text::{line, safe};
use crate::words::{JournalReader, plain};

/// How many things are kept.
const MAX_ITEMS: usize = 4000;
/// How much of a text is kept, in bytes.
const MAX_TEXT: usize = 256 * 1024;

/// Something in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// A person said it.
    You { by: String, text: String },
    /// An agent said it, in Markdown.
    Agent { agent: String, text: String },
    /// An agent used a tool.
    Tool { agent: String, name: String, arguments: String, result: Option<(String, bool)> },
    /// A question was answered.
    Answer { by: String, text: String },
    /// What the run gave, in Markdown.
    Output(String),
    /// Something worth knowing.
    Note(String),
    /// Something that happened in a run, for those who want to see all of it.
    Event(String),
    /// Something went wrong.
    Problem(String),
}

/// Something that was said, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// By whom.
    pub by: String,
    /// What.
    pub text: String,
}

/// How much of what was said stands beside a question.
const RECENT: usize = 5;
/// How many entries of a journal are read for it.
pub const RECENT_ENTRIES: u32 = 400;

/// What was said last before `question`, oldest first, by the last entries of a journal.
pub fn said_before(entries: &[Entry], question: &str) -> Vec<Spoken> {
    Transcript::of(entries, "").last_said(RECENT, question)
}

/// What was said and done, and by whom.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) items: Vec<Item>,
    /// How many things were there before those that are kept.
    pub(crate) dropped: usize,
    /// What agents are saying.
    pub(crate) saying: Vec<(String, String)>,
    /// Who is at work.
    working: BTreeMap<ActivationId, String>,
    /// Where in its plan the run is.
    pub(crate) step: Option<String>,
    /// What people call agents, in the order in which they are known.
    agents: Vec<(String, String)>,
    reader: JournalReader,
    /// Tool calls that are under way, by activation and key.
    calls: BTreeMap<(ActivationId, String), usize>,
    /// Where the items of the run begin.
    from: usize,
}

impl Transcript {
    /// Learns what the agents of a workflow are called.
    pub(crate) fn learn(&mut self, workflow: &Workflow) {
        for (id, title) in workflow.agents() {
            let title = title.as_deref().map_or_else(|| line(&id), line);
            match self.agents.iter_mut().find(|(known, _)| *known == id) {
                Some(known) => known.1 = title,
                None => self.agents.push((id, title)),
            }
        }
    }

    /// The number by which an agent is painted and marked.
    pub(crate) fn number(&self, agent: &str) -> usize {
        self.agents
            .iter()
            .position(|(id, title)| id == agent || title == agent)
            .unwrap_or(self.agents.len())
    }

    /// What people call an agent.
    pub(crate) fn title(&self, agent: &str) -> String {
        let known = self.agents.iter().find(|(id, _)| id == agent);
        known.map_or_else(|| line(agent), |(_, title)| title.clone())
    }

    /// Who is at work.
    pub(crate) fn working(&self) -> Vec<String> {
        let mut names: Vec<String> = self.working.values().map(|name| self.title(name)).collect();
        names.dedup();
        names
    }

    pub(crate) fn add(&mut self, item: Item) {
        self.items.push(item);
        if self.items.len() > MAX_ITEMS {
            let drop = self.items.len() - MAX_ITEMS;
            self.items.drain(..drop);
            self.dropped += drop;
            self.from = self.from.saturating_sub(drop);
            self.calls.retain(|_, at| *at >= drop);
            self.calls.values_mut().for_each(|at| *at -= drop);
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        let agents = std::mem::take(&mut self.agents);
        *self = Self { agents, ..Self::default() };
    }

    /// What was said last, oldest first: at most so many, and not the question itself.
    pub(crate) fn last_said(&self, most: usize, question: &str) -> Vec<Spoken> {
        let question = line(question);
        let said = self.items.iter().rev().filter_map(|item| match item {
            Item::You { by, text } | Item::Answer { by, text } => {
                Some(Spoken { by: by.clone(), text: line(text) })
            }
            Item::Agent { agent, text } => {
                Some(Spoken { by: self.title(agent), text: line(text).replace("**", "") })
            }
            _ => None,
        });
        let mut said: Vec<Spoken> =
            said.filter(|it| it.text != question.replace("**", "")).take(most).collect();
        said.reverse();
        said
    }

    /// What was said last in a journal, of which these are the last entries.
    pub(crate) fn of(entries: &[Entry], me: &str) -> Self {
        let mut transcript = Self::default();
        for entry in entries {
            transcript.read(entry, me);
        }
        transcript
    }

    /// A piece of what an agent is saying.
    pub(crate) fn delta(&mut self, agent: &str, text: &str) {
        match self.saying.iter_mut().find(|(who, _)| who == agent) {
            Some((_, said)) if said.len() + text.len() <= MAX_TEXT => said.push_str(text),
            Some(_) => {}
            None => self.saying.push((agent.to_owned(), bounded(text))),
        }
    }

    /// What agents are saying and have not said yet. What was on its way when the whole came is not shown again.
    pub(crate) fn live(&self) -> impl DoubleEndedIterator<Item = &(String, String)> {
        self.saying.iter().filter(|(who, saying)| {
            let run = &self.items[self.from.min(self.items.len())..];
            let said = run.iter().rev().find_map(|item| match item {
                Item::Agent { agent, text } if agent == who => Some(text),
                _ => None,
            });
            let data = saying.trim_start().starts_with('{');
            !data && said.is_none_or(|said| !said.contains(saying.trim()))
        })
    }

    /// What that agent was saying does not count.
    pub(crate) fn restart(&mut self, agent: &str) {
        self.saying.retain(|(who, _)| who != agent);
    }

    /// What the run gave, unless it was said already.
    pub(crate) fn output(&mut self, output: &Value) {
        // A handoff gives its last answer, and the whole conversation without what agents did for themselves.
        let spoken = output["answer"].as_str().zip(output["conversation"].as_array());
        let text = match (spoken, output) {
            (Some((answer, _)), _) => answer.to_owned(),
            (None, Value::Object(_) | Value::Array(_)) => {
                format!("```json\n{}\n```", plain(output))
            }
            (None, Value::Null) => String::new(),
            (None, other) => plain(other),
        };
        let said = |item: &Item| matches!(item, Item::Agent { text: said, .. } if said.trim() == text.trim());
        let run = &self.items[self.from.min(self.items.len())..];
        if !text.trim().is_empty() && !run.iter().any(said) {
            self.add(Item::Output(bounded(&text)));
        }
        if let Some((_, messages)) = spoken {
            self.add(Item::Note(format!("the conversation has {} messages", messages.len())));
        }
    }

    /// All of it as Markdown, for a file.
    pub(crate) fn exported(&self) -> String {
        let one = |item: &Item| match item {
            Item::You { by, text } => format!("## {by}\n\n{text}\n"),
            Item::Agent { agent, text } => format!("## {}\n\n{}\n", self.title(agent), safe(text)),
            Item::Tool { agent, name, arguments, result } => {
                let result = result.as_ref().map_or("", |(text, _)| text.as_str());
                format!("*{} used {name}*\n\n```\n{arguments}\n{result}\n```\n", self.title(agent))
            }
            Item::Answer { by, text } => format!("**{by}** {text}\n"),
            Item::Output(text) => format!("## Result\n\n{}\n", safe(text)),
            Item::Note(text) | Item::Problem(text) => format!("*{text}*\n"),
            Item::Event(_) => String::new(),
        };
        self.items.iter().map(one).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

fn bounded(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n\n… and {} more bytes", &text[..end], text.len() - end)
}
