//! Effects as spans: asking a model, calling a tool, telling an agent elsewhere.

use signoff_core::journal::{EffectKind, Entry, Outcome, Reply};
use signoff_core::{ActivationId, Key, Name, Part, Timestamp};
use signoff_runtime::AgentProfile;

use super::{Cast, Open, SpanReader};
use crate::id::Place;
use crate::span::{Kind, Span};

impl SpanReader {
    /// The span of something that an agent does, as far as it is known which.
    pub(super) fn by(&self, operation: &str, agent: Option<&AgentProfile>, span: Span) -> Span {
        let span = span
            .text("gen_ai.operation.name", operation)
            .text("gen_ai.provider.name", agent.map_or("unknown", provider))
            .text("gen_ai.conversation.id", self.started.conversation.as_str());
        let Some(agent) = agent else { return span };
        span.text("gen_ai.agent.name", &agent.name)
            .maybe("gen_ai.request.model", model(agent).as_deref())
    }

    pub(super) fn effect(
        &mut self,
        entry: &Entry,
        activation: ActivationId,
        key: &Key,
        (kind, outcome, took): (EffectKind, &Outcome, u64),
        cast: &dyn Cast,
    ) -> Option<Span> {
        let open = self.open.get_mut(&activation)?;
        if let Outcome::Reply(reply) = outcome {
            open.remember_calls(key, reply);
        }
        let began = entry.at.0.saturating_sub_unsigned(took);
        let start = Timestamp(began).max(open.began);
        let open = self.open.get(&activation)?;
        let span = |name| self.span(Place::Entry(entry.seq), name, start, entry.at);
        let span = match kind {
            EffectKind::Local => return None,
            EffectKind::Model | EffectKind::Judge => self.chat(open, outcome, span, cast),
            EffectKind::Tool => open.tool(key, span),
            EffectKind::Remote => {
                let name = open.agent.as_ref().map_or(&open.executor, |agent| &agent.name);
                let mut span = span(format!("invoke_agent {name}"));
                span.kind = Kind::Client;
                self.by("invoke_agent", open.agent.as_ref(), span)
            }
        };
        let span = self.below(activation, span);
        Some(match outcome {
            Outcome::Err(error) => span.failed(&error.code),
            _ => span,
        })
    }

    fn chat(
        &self,
        open: &Open,
        outcome: &Outcome,
        span: impl FnOnce(String) -> Span,
        cast: &dyn Cast,
    ) -> Span {
        let reply = match outcome {
            Outcome::Reply(reply) => Some(reply),
            _ => None,
        };
        let by = reply.and_then(|reply| reply.by.as_ref());
        // Another model than the one that was asked first may have answered.
        let agent = open.agent.clone().map(|agent| match by {
            Some(by) => AgentProfile { model: Some(by.clone()), identity: cast.model(by), ..agent },
            None => agent,
        });
        let model = agent.as_ref().and_then(model);
        let name = model.map_or_else(|| "chat".to_owned(), |model| format!("chat {model}"));
        let mut span = self.by("chat", agent.as_ref(), span(name));
        span.kind = Kind::Client;
        let identity = agent.as_ref().and_then(|agent| agent.identity.as_ref());
        if let Some((host, port)) = identity.and_then(|identity| identity.server.as_ref()) {
            span = span.text("server.address", host).number("server.port", u64::from(*port));
        }
        match reply {
            Some(reply) => with_usage(span, reply),
            None => span,
        }
    }
}

impl Open {
    /// The name of a tool is in the reply that calls it.
    fn remember_calls(&mut self, key: &Key, reply: &Reply) {
        for part in &reply.parts {
            if let Part::ToolCall(call) = part {
                self.calls.insert(format!("{key}/{}", call.id).into(), call.name.clone());
            }
        }
    }

    fn tool(&self, key: &Key, span: impl FnOnce(String) -> Span) -> Span {
        // Where it has asked people, the key ends with the number of the round.
        let first = key.rsplit_once('~').map_or(&**key, |(first, _)| first);
        let (key, tool) = match self.calls.get(key) {
            Some(tool) => (&**key, Some(tool)),
            None => (first, self.calls.get(first)),
        };
        let name =
            tool.map_or_else(|| "execute_tool".to_owned(), |tool| format!("execute_tool {tool}"));
        let call = tool.and_then(|_| key.split_once('/')).map(|(_, call)| call);
        span(name)
            .text("gen_ai.operation.name", "execute_tool")
            .maybe("gen_ai.tool.name", tool.map(|tool| &**tool))
            .maybe("gen_ai.tool.call.id", call)
    }
}

/// Who stands behind an agent: a model's provider, or the protocol of agents elsewhere.
fn provider(agent: &AgentProfile) -> &str {
    match (&agent.identity, &agent.model) {
        (Some(identity), _) => identity.provider,
        (None, Some(_)) => "unknown",
        (None, None) => "a2a",
    }
}

/// The provider's name of an agent's model, or the alias where there is none.
fn model(agent: &AgentProfile) -> Option<Name> {
    let own = agent.identity.as_ref().and_then(|identity| identity.model.clone());
    own.or_else(|| agent.model.clone())
}

fn with_usage(span: Span, reply: &Reply) -> Span {
    let usage = reply.usage;
    let mut span = span;
    if usage.is_nothing() {
        return span;
    }
    span = span
        .number("gen_ai.usage.input_tokens", usage.input)
        .number("gen_ai.usage.output_tokens", usage.output);
    if usage.cached > 0 {
        span = span.number("gen_ai.usage.cache_read.input_tokens", usage.cached);
    }
    if usage.reasoning > 0 {
        span = span.number("gen_ai.usage.reasoning.output_tokens", usage.reasoning);
    }
    if !usage.cost.is_nothing() {
        // Billionths; what a fraction of one gets wrong nobody pays.
        #[allow(clippy::cast_precision_loss)]
        let cost = usage.cost.0 as f64 / 1e9;
        span = span.amount("signoff.usage.cost", cost);
    }
    span
}
