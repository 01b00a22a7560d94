//! What entries of a journal add to a conversation.

use serde_json::{Map, Value};
use signoff_core::journal::{EffectKind, Entry, Event, Outcome};
use signoff_core::message::HANDOFF_PREFIX;
use signoff_core::{ActivationId, Part};

use super::{Item, Transcript, bounded};
use crate::text::{line, safe};
use crate::words::{JournalReader, What, inline, plain};

impl Transcript {
    /// The next entry of a run.
    pub(crate) fn read(&mut self, entry: &Entry, me: &str) {
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
}

/// Whether a text is what agents hand each other as data.
fn is_data(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}
