//! Which requests a client wants: the filters that lists, counts and streams share.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use signoff_core::request::{RequestKind, RequestStatus};
use signoff_core::time::{Span, Timestamp};
use signoff_core::{Actor, Risk};
use signoff_store::{Assigned, RequestFilter};

use super::runs::limit;
use crate::access::Caller;

/// The word for the caller.
const ME: &str = "me";
/// The word for nobody.
const NOBODY: &str = "none";

/// A query with the filters and perhaps more. Written out by a macro because a query that refuses what it does
/// not know cannot be made of two.
macro_rules! query {
    ($(#[$doc:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            /// Only those that stand there.
            status: Option<RequestStatus>,
            /// Only of this kind.
            kind: Option<RequestKind>,
            /// Only of this workflow.
            workflow: Option<String>,
            /// Only asked by this agent.
            agent: Option<String>,
            /// Only of this run and those that are part of it.
            run: Option<String>,
            /// Only of this conversation.
            conversation: Option<String>,
            /// Only those that this one looks after; `me` for the caller, `none` for nobody.
            assignee: Option<String>,
            /// Only those that wait at least so long: `30s`, `10m`, `2h`, `1d`.
            #[serde(default, deserialize_with = "age")]
            #[schemars(with = "Option<String>")]
            age: Option<Span>,
            /// Only those where so much can go wrong.
            risk: Option<Risk>,
            /// Those that somebody has put off, and no others; `false`, if not given: those are out of sight.
            deferred: Option<bool>,
            /// Only those whose prompt contains each of these words.
            text: Option<String>,
            $($more)*
        }

        impl $name {
            /// The filter this means to `caller` at the time `now`.
            pub(crate) fn filter(&self, caller: &Caller, now: Timestamp) -> RequestFilter {
                let assigned = self.assignee.as_deref().map(|name| match name {
                    ME => Assigned::To(caller.actor.clone()),
                    NOBODY => Assigned::ToNobody,
                    name => Assigned::To(Actor::new(name)),
                });
                RequestFilter {
                    status: self.status,
                    kind: self.kind,
                    workflow: self.workflow.as_deref().map(Into::into),
                    agent: self.agent.as_deref().map(Into::into),
                    root: self.run.as_deref().map(Into::into),
                    conversation: self.conversation.as_deref().map(Into::into),
                    text: self.text.clone(),
                    tenant: None,
                    assigned,
                    risk: self.risk,
                    deferred: Some(self.deferred.unwrap_or(false)),
                    asked_until: self.age.map(|age| Timestamp(now.0.saturating_sub_unsigned(age.0))),
                }
            }
        }
    };
}

query! {
    /// Which requests to count.
    CountQuery {}
}

query! {
    /// Which requests to list.
    ListQuery {
        /// How many: 1 to 500; 50, if not given.
        #[serde(default, deserialize_with = "limit")]
        #[schemars(with = "Option<u16>", range(min = 1, max = 500))]
        pub(super) limit: Option<usize>,
        /// `next_cursor` of the page before.
        pub(super) cursor: Option<String>,
    }
}

fn age<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Span>, D::Error> {
    let text = String::deserialize(from)?;
    let span = text
        .parse()
        .map_err(|_| serde::de::Error::custom("`age` is a time like 30s, 10m, 2h or 1d"))?;
    Ok(Some(span))
}
