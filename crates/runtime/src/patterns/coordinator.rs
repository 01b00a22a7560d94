//! A coordinator sends the work round its specialists and puts the result together.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::Message;
use signoff_core::journal::{ErrorInfo, Payload};
use signoff_core::workflow::{Coordinator, Require};

use crate::agent::{AgentSpec, Turn, TurnEnd};
use crate::context::{Context, View};
use crate::executor::{BoxFuture, Executor};

pub(crate) struct CoordinatorExecutor {
    settings: Arc<Coordinator>,
    lead: Arc<AgentSpec>,
}

impl CoordinatorExecutor {
    pub(crate) fn new(settings: Coordinator, lead: Arc<AgentSpec>) -> Self {
        Self { settings: Arc::new(settings), lead }
    }
}

impl Executor for CoordinatorExecutor {
    fn run(
        &self,
        ctx: Context,
        _message: Arc<Value>,
    ) -> BoxFuture<'static, Result<Payload, ErrorInfo>> {
        let (settings, lead) = (Arc::clone(&self.settings), Arc::clone(&self.lead));
        Box::pin(async move { coordinate(&ctx, &settings, &lead).await })
    }
}

async fn coordinate(
    ctx: &Context,
    settings: &Coordinator,
    lead: &AgentSpec,
) -> Result<Payload, ErrorInfo> {
    let mut visits: BTreeMap<String, u32> = BTreeMap::new();
    let mut current = settings
        .start
        .clone()
        .or_else(|| settings.specialists.first().cloned())
        .ok_or_else(|| ErrorInfo::new("invalid_workflow", "there are no specialists"))?;
    loop {
        let visit = visits.entry(current.clone()).or_default();
        *visit += 1;
        let key = format!("{current}#{visit}");
        let message = json!({ "from": lead.id });
        let output = ctx.invoke(&key, &current, message).await?;
        let wanted = output.get("next_agent").and_then(Value::as_str);
        match choose(settings, &visits, wanted) {
            Choice::Next { specialist, because } => {
                let text = format!(
                    "{current} has finished. {because}{specialist}, please read the conversation so far and do your part."
                );
                ctx.say(Message::user(text).by(lead.id.clone()));
                current = specialist;
            }
            Choice::Synthesis { because } => {
                let text = format!(
                    "{because}Please put everything the specialists found together in one plan: nothing they agreed with the people may be missing."
                );
                ctx.say(Message::user(text).by(lead.id.clone()));
                return match Turn::new(ctx, lead, View::Now).take().await? {
                    TurnEnd::Answer(plan) => Ok(plan),
                    TurnEnd::Handoff(_) => {
                        Err(ErrorInfo::new("internal", "a coordinator hands nothing over"))
                    }
                };
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Next { specialist: String, because: String },
    Synthesis { because: String },
}

/// Who comes next: whoever the last specialist named, within the bounds; then whoever was not heard.
fn choose(settings: &Coordinator, visits: &BTreeMap<String, u32>, wanted: Option<&str>) -> Choice {
    let visited = |name: &str| visits.get(name).copied().unwrap_or(0);
    let unheard = || match settings.require {
        Require::All => settings.specialists.iter().find(|name| visited(name) == 0).cloned(),
        Require::Any => None,
    };
    let note = match wanted {
        Some(name) if !settings.specialists.iter().any(|known| known == name) => {
            format!("There is no specialist called {name}. ")
        }
        Some(name) if visited(name) >= settings.max_visits => {
            format!("{name} has been visited {} times, which is the limit. ", visited(name))
        }
        Some(name) => {
            return Choice::Next { specialist: name.to_owned(), because: String::new() };
        }
        None => String::new(),
    };
    match unheard() {
        Some(specialist) => Choice::Next {
            because: if note.is_empty() && wanted.is_none() {
                format!("{specialist} has not been heard yet. ")
            } else {
                note
            },
            specialist,
        },
        None => Choice::Synthesis { because: note },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Coordinator {
        Coordinator {
            agent: "lead".into(),
            specialists: vec!["a".into(), "b".into()],
            start: None,
            require: Require::All,
            max_visits: 2,
        }
    }

    fn visits(list: &[(&str, u32)]) -> BTreeMap<String, u32> {
        list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
    }

    fn next(choice: Choice) -> Option<String> {
        match choice {
            Choice::Next { specialist, .. } => Some(specialist),
            Choice::Synthesis { .. } => None,
        }
    }

    #[test]
    fn the_named_one_comes_next() {
        assert_eq!(next(choose(&settings(), &visits(&[("a", 1)]), Some("b"))), Some("b".into()));
    }

    #[test]
    fn nobody_is_left_out() {
        let choice = choose(&settings(), &visits(&[("a", 1)]), None);
        assert_eq!(next(choice), Some("b".into()));
        let choice = choose(&settings(), &visits(&[("a", 1)]), Some("nobody"));
        assert_eq!(next(choice), Some("b".into()));
    }

    #[test]
    fn ping_pong_ends() {
        let choice = choose(&settings(), &visits(&[("a", 2), ("b", 2)]), Some("a"));
        assert_eq!(next(choice), None);
    }
}
