//! The tool calls of one reply: tools, questions to people, handing over.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use signoff_core::journal::ErrorInfo;
use signoff_core::message::{HANDED_TO, HANDOFF_PREFIX, ToolCall};
use signoff_core::request::RequestBody;
use signoff_core::{Key, Name, Part};
use signoff_tools::{REQUEST_USER_INPUT, Tool, ToolSource, UserInput};

use super::Turn;
use super::people::answer_message;
use super::spec::Here;
use crate::context::Effect;

/// What a call turned out to be.
enum Wanted {
    Tool(Arc<dyn Tool>),
    Handoff(Name),
    /// It cannot be done; the model is told why.
    Nothing(String),
}

impl Turn<'_> {
    /// Carries out the calls of one reply: all tools at once, then all questions at once. A question
    /// closes the message, and each answer is a message of its own. Handing over ends the turn, and
    /// its name is returned.
    pub(super) async fn perform(
        &mut self,
        here: &Here,
        key: &str,
        calls: &[&ToolCall],
    ) -> Result<Option<Name>, ErrorInfo> {
        let (mut questions, mut work) = (Vec::new(), Vec::new());
        let (mut handed, mut handing) = (None, None);
        for call in calls {
            let effect: Key = format!("{key}/{}", call.id).into();
            if &*call.name == REQUEST_USER_INPUT {
                match self.question(here, call) {
                    Ok((question, body)) => {
                        questions.push((effect, call.id.clone(), question, body));
                    }
                    Err(problem) => work.push((effect, *call, Wanted::Nothing(problem))),
                }
                continue;
            }
            let wanted = match call.name.strip_prefix(HANDOFF_PREFIX) {
                Some(to) => handoff(here, to, handed.as_ref()),
                None => self.find_tool(here, &call.name).map_or_else(
                    || Wanted::Nothing(format!("there is no tool `{}`", call.name)),
                    Wanted::Tool,
                ),
            };
            if let Wanted::Handoff(to) = &wanted {
                (handed, handing) = (Some(to.clone()), Some(effect.clone()));
            }
            work.push((effect, *call, wanted));
        }
        let ctx = self.ctx;
        let keys = join_all(work.into_iter().map(|(effect, call, wanted)| async move {
            // What came of it is in the journal under the key, and the model is told, good or bad.
            let outcome = match wanted {
                Wanted::Tool(tool) => {
                    return ctx
                        .call_keyed(&effect, &tool, &call.arguments)
                        .await
                        .map(|(key, _)| key);
                }
                Wanted::Handoff(to) => match ctx.clear_handoff(&effect, &to).await? {
                    None => Ok(json!({ HANDED_TO: to })),
                    Some(refused) => Err(refused),
                },
                // It was there when it was called, and has asked something since: its question is not
                // its result.
                Wanted::Nothing(problem) if ctx.has_asked(&effect) => {
                    return Err(ErrorInfo::new("tool_missing", problem)
                        .hint("start its server again, then resume the run"));
                }
                Wanted::Nothing(problem) => Err(ErrorInfo::new("tool_arguments", problem)),
            };
            let told = ctx.effect(&effect, Effect::repeatable(), |_| async { outcome });
            let _ = told.await;
            Ok::<Key, ErrorInfo>(effect)
        }))
        .await;
        for key in keys {
            let key = key?;
            if handing.as_ref() == Some(&key) && self.ctx.has_failed(&key) {
                handed = None;
            }
            self.unfinished.push(Part::Effect(key));
        }
        if handed.is_some() || !questions.is_empty() {
            let message = self.close();
            self.ctx.say(message);
        }
        let answers =
            join_all(questions.iter().map(|(key, _, _, body)| self.ask(key, body.clone()))).await;
        for ((_, id, question, _), answer) in questions.into_iter().zip(answers) {
            self.ctx.say(answer_message(id, &question, answer?));
        }
        Ok(handed)
    }

    fn question(
        &mut self,
        here: &Here,
        call: &ToolCall,
    ) -> Result<(UserInput, RequestBody), String> {
        if !here.specs.iter().any(|spec| &*spec.name == REQUEST_USER_INPUT) {
            return Err("you cannot ask people; go on with what you know".to_owned());
        }
        if self.asked >= self.agent.people.follow_ups {
            return Err(format!(
                "you have asked {} questions, as many as you may; go on with what you know",
                self.asked
            ));
        }
        let question = UserInput::parse(&call.arguments)?;
        let body = question.to_request()?;
        self.asked += 1;
        Ok((question, body))
    }

    /// A tool of the agent itself, or of a source as it is now.
    fn find_tool(&self, here: &Here, name: &str) -> Option<Arc<dyn Tool>> {
        let from_sources = || self.offered.iter().find(|tool| &*tool.spec().name == name);
        here.tools.get(name).or_else(from_sources).cloned()
    }

    /// Asks the agent's sources for the tools they have now. A source that does not answer for a while
    /// has none.
    pub(super) async fn look_at_sources(&mut self, here: &Here) {
        let mut offered = Vec::new();
        for (source, pattern) in &here.sources {
            let tools = patiently(&**source).await;
            let wanted = |tool: &Arc<dyn Tool>| pattern.fits(&tool.spec().name);
            offered.extend(tools.into_iter().filter(wanted));
        }
        self.offered = offered;
    }
}

fn handoff(here: &Here, to: &str, already: Option<&Name>) -> Wanted {
    match (here.handoffs.iter().find(|name| &***name == to), already) {
        (None, _) => Wanted::Nothing(format!("you cannot hand over to `{to}`")),
        (Some(_), Some(other)) => {
            Wanted::Nothing(format!("you have handed over to `{other}` already"))
        }
        (Some(name), None) => Wanted::Handoff(name.clone()),
    }
}

/// The tools of a source. One that has just been restarted gets some time to answer.
async fn patiently(source: &dyn ToolSource) -> Vec<Arc<dyn Tool>> {
    for pause in [100, 400, 1_600, 6_400] {
        match source.tools().await {
            Ok(tools) => return tools,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(pause)).await,
        }
    }
    source.tools().await.unwrap_or_else(|error| {
        let (server, code, error) = (source.name(), &error.0.code, &error.0.message);
        tracing::warn!(server, code, error, "an agent goes on without the tools of a server");
        Vec::new()
    })
}
