//! What was said and done in a conversation, made of the journals of its runs.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use signoff_client::Workflow;
use signoff_core::journal::{EffectKind, Entry, Event, Outcome};
use signoff_core::message::HANDOFF_PREFIX;
use signoff_core::{ActivationId, Part};

use crate::text::{line, safe};
use crate::words::{JournalReader, What, inline, plain};

/// How many things are kept.
const MAX_ITEMS: usize = 4000;
/// How much of a text is kept, in bytes.
const MAX_TEXT: usize = 256 * 1024;

/// Something in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
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

/// What was said and done, and by whom.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) items: Vec<Item>,
    /// What agents are saying.
    pub(super) saying: Vec<(String, String)>,
    /// Who is at work.
    working: BTreeMap<ActivationId, String>,
    /// Where in its plan the run is.
    pub(super) step: Option<String>,
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
    pub(super) fn learn(&mut self, workflow: &Workflow) {
        for (id, title) in workflow.agents() {
            let title = title.as_deref().map_or_else(|| line(&id), line);
            match self.agents.iter_mut().find(|(known, _)| *known == id) {
                Some(known) => known.1 = title,
                None => self.agents.push((id, title)),
            }
        }
    }

    /// The number by which an agent is painted and marked.
    pub(super) fn number(&self, agent: &str) -> usize {
        self.agents
            .iter()
            .position(|(id, title)| id == agent || title == agent)
            .unwrap_or(self.agents.len())
    }

    /// What people call an agent.
    pub(super) fn title(&self, agent: &str) -> String {
        let known = self.agents.iter().find(|(id, _)| id == agent);
        known.map_or_else(|| line(agent), |(_, title)| title.clone())
    }

    /// Who is at work.
    pub(super) fn working(&self) -> Vec<String> {
        let mut names: Vec<String> = self.working.values().map(|name| self.title(name)).collect();
        names.dedup();
        names
    }

    pub(super) fn add(&mut self, item: Item) {
        self.items.push(item);
        if self.items.len() > MAX_ITEMS {
            let drop = self.items.len() - MAX_ITEMS;
            self.items.drain(..drop);
            self.from = self.from.saturating_sub(drop);
            self.calls.retain(|_, at| *at >= drop);
            self.calls.values_mut().for_each(|at| *at -= drop);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        let agents = std::mem::take(&mut self.agents);
        *self = Self { agents, ..Self::default() };
    }

    /// A piece of what an agent is saying.
    pub(super) fn delta(&mut self, agent: &str, text: &str) {
        match self.saying.iter_mut().find(|(who, _)| who == agent) {
            Some((_, said)) if said.len() + text.len() <= MAX_TEXT => said.push_str(text),
            Some(_) => {}
            None => self.saying.push((agent.to_owned(), bounded(text))),
        }
    }

    /// What agents are saying and have not said yet. What was on its way when the whole came is not shown again.
    pub(super) fn live(&self) -> impl DoubleEndedIterator<Item = &(String, String)> {
        self.saying.iter().filter(|(who, saying)| {
            let said = self.items.iter().rev().take(12).find_map(|item| match item {
                Item::Agent { agent, text } if agent == who => Some(text),
                _ => None,
            });
            let data = saying.trim_start().starts_with('{');
            !data && said.is_none_or(|said| !said.contains(saying.trim()))
        })
    }

    /// What that agent was saying does not count.
    pub(super) fn restart(&mut self, agent: &str) {
        self.saying.retain(|(who, _)| who != agent);
    }

    /// The next entry of a run.
    pub(super) fn read(&mut self, entry: &Entry, me: &str) {
        if matches!(entry.event, Event::Started(_)) {
            (self.reader, self.from) = (JournalReader::default(), self.items.len());
            self.working.clear();
            self.calls.clear();
            self.saying.clear();
            self.step = None;
        }
        let what = self.reader.read(entry);
        let before = self.items.len();
        self.take(entry, &what, me);
        // What is shown in words of its own is not told again as an event.
        let told = self.items.len() != before;
        let quiet = matches!(entry.event, Event::Said { .. } | Event::RunCompleted {});
        if !told && !quiet {
            let who = if what.who.is_empty() {
                String::new()
            } else {
                format!(" {}", self.title(&what.who))
            };
            let text =
                if what.text.is_empty() { String::new() } else { format!(": {}", what.text) };
            self.add(Item::Event(format!("{}{who}{text}", what.kind)));
        }
    }

    fn take(&mut self, entry: &Entry, what: &What, me: &str) {
        match &entry.event {
            Event::Started(started) => {
                let by = if started.by.as_str() == me {
                    "you".to_owned()
                } else {
                    line(started.by.as_str())
                };
                self.add(Item::You { by, text: bounded(&safe(&plain(&started.input))) });
            }
            Event::Delivered(delivered) => {
                self.working.insert(delivered.activation, delivered.to.to_string());
            }
            Event::Asked { .. } => self.restart(&what.who),
            Event::Completed(completed) => {
                self.restart(&what.who);
                self.working.remove(&completed.activation);
                for next in &completed.next {
                    self.working.insert(next.activation, next.to.to_string());
                }
            }
            Event::Effect { activation, key, kind, outcome, .. } => {
                self.effect(*activation, key, *kind, outcome, &what.who);
            }
            Event::Decided { by, .. } => {
                let by = if by.as_str() == me { "you".to_owned() } else { line(by.as_str()) };
                self.add(Item::Answer { by, text: what.text.clone() });
            }
            Event::Expired { .. } => {
                self.add(Item::Note(format!("{}: nobody answered in time", self.title(&what.who))));
            }
            Event::Entered(entered) => {
                let title = entered.title.as_deref().map(line).unwrap_or_default();
                self.step = Some(match entered.step {
                    Some(step) => format!("step {step}: {title}"),
                    None => line(&entered.phase),
                });
            }
            Event::Failed { activation, error } => {
                self.working.remove(activation);
                self.add(Item::Problem(format!(
                    "{} failed: {}",
                    self.title(&what.who),
                    line(&error.message)
                )));
            }
            Event::Paused { .. } => self.add(Item::Note(format!("paused by {}", what.who))),
            Event::Resumed { .. } => self.add(Item::Note(format!("{} lets it go on", what.who))),
            Event::RunFailed { error } => {
                self.working.clear();
                self.add(Item::Problem(format!("the run failed: {}", line(&error.message))));
            }
            Event::RunCancelled { by, reason } => {
                self.working.clear();
                let why =
                    reason.as_deref().map(|why| format!(": {}", line(why))).unwrap_or_default();
                self.add(Item::Note(format!("stopped by {}{why}", line(by.as_str()))));
            }
            Event::RunCompleted {} => {
                self.working.clear();
                self.saying.clear();
            }
            _ => {}
        }
    }

    fn effect(
        &mut self,
        activation: ActivationId,
        key: &str,
        kind: EffectKind,
        outcome: &Outcome,
        who: &str,
    ) {
        match (kind, outcome) {
            (EffectKind::Judge, _) => {}
            (EffectKind::Tool, outcome) => {
                let at = self.calls.remove(&(activation, key.to_owned()));
                let (text, failed) = match outcome {
                    Outcome::Ok(value) => (plain(value), false),
                    Outcome::Err(error) => (error.message.clone(), true),
                    Outcome::Reply(_) => (String::new(), false),
                };
                if let Some(Item::Tool { result, .. }) = at.and_then(|at| self.items.get_mut(at)) {
                    *result = Some((bounded(&safe(&text)), failed));
                }
            }
            (_, Outcome::Reply(reply)) => {
                self.saying.retain(|(saying, _)| saying != who);
                for part in &reply.parts {
                    match part {
                        Part::Text(text) if !text.trim().is_empty() && !is_data(text) => {
                            self.add(Item::Agent { agent: who.to_owned(), text: bounded(text) });
                        }
                        Part::ToolCall(call) if call.name.starts_with(HANDOFF_PREFIX) => {
                            let to = self.title(&call.name[HANDOFF_PREFIX.len()..]);
                            self.add(Item::Note(format!("{} hands over to {to}", self.title(who))));
                        }
                        // A question is shown as one.
                        Part::ToolCall(call) if &*call.name == "request_user_input" => {}
                        Part::ToolCall(call) => {
                            self.calls.insert(
                                (activation, format!("{key}/{}", call.id)),
                                self.items.len(),
                            );
                            self.add(Item::Tool {
                                agent: who.to_owned(),
                                name: line(&call.name),
                                arguments: bounded(&safe(&inline(&call.arguments))),
                                result: None,
                            });
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// What the run gave, unless it was said already.
    pub(super) fn output(&mut self, output: &Value) {
        let text = plain(output);
        let said = |item: &Item| matches!(item, Item::Agent { text: said, .. } if said.trim() == text.trim());
        if !text.trim().is_empty()
            && !output.is_null()
            && !self.items[self.from.min(self.items.len())..].iter().any(said)
        {
            self.add(Item::Output(bounded(&text)));
        }
    }

    /// All of it as Markdown, for a file.
    pub(super) fn exported(&self) -> String {
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

/// Whether a text is what agents hand each other as data.
fn is_data(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

fn bounded(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n\n… and {} more bytes", &text[..end], text.len() - end)
}
