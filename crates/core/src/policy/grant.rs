//! What people decided once and want to hold for more: remembered decisions, and a bypass for a while.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Action;
use super::like::{MAX_PATTERN, host_fits, host_of, path_fits};
use crate::decision::Actor;
use crate::id::{ConversationId, Name, RequestId, RunId, Tenant};
use crate::time::{Span, Timestamp};

/// How long a grant that reaches beyond one conversation holds, if nothing is said.
const DEFAULT_WITHIN: Span = Span::seconds(24 * 3600);
/// The longest that any grant holds that reaches beyond one conversation.
const MAX_WITHIN: Span = Span::seconds(30 * 24 * 3600);
/// How long a bypass holds, if nothing is said, and at most.
const BYPASS_WITHIN: Span = Span::seconds(3600);
const MAX_BYPASS: Span = Span::seconds(8 * 3600);

/// Where a remembered decision holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// In this run.
    Run,
    /// In this conversation.
    #[serde(alias = "session")]
    Conversation,
    /// In all runs of this workflow.
    Workflow,
    /// In everything of the tenant.
    Tenant,
}

/// What of an argument must be the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Alike {
    /// It begins so. A path with `..` in it does not.
    Prefix {
        /// How.
        prefix: String,
    },
    /// It is a path that fits a pattern: `*` and `?` stand for anything but `/`, `**` for any folders.
    Glob {
        /// The pattern.
        glob: String,
    },
    /// It is an address at this host, or, with `*.` before it, at one below it.
    Host {
        /// The host.
        host: String,
    },
    /// It is this.
    Exactly(Value),
}

impl Alike {
    fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Exactly(wanted) => wanted == value,
            Self::Glob { glob } => value.as_str().is_some_and(|text| path_fits(glob, text)),
            Self::Host { host } => {
                let found = value.as_str().and_then(host_of);
                found.is_some_and(|found| host_fits(host, &found))
            }
            Self::Prefix { prefix } => value.as_str().is_some_and(|text| {
                text.starts_with(prefix.as_str()) && !text.split(['/', '\\']).any(|it| it == "..")
            }),
        }
    }
}

/// A wish to remember a decision, as it is sent along with it: a reach, or more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Remember {
    /// For exactly the same action.
    Reach(Reach),
    /// For the same, or for what is like it.
    Like {
        /// Where it holds.
        reach: Reach,
        /// For all calls of the tool whose arguments are so; those not named may be anything. Without it, for
        /// exactly the same action.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<std::collections::BTreeMap<String, Alike>>,
        /// For how long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Span>,
        /// How often.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        times: Option<u32>,
    },
}

/// What a grant says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Granted {
    /// It may be done without asking, unless a gate always asks.
    Approve,
    /// It is not done.
    Deny,
    /// Nobody is asked, whatever gates say that ask. What they forbid stays so.
    Bypass,
}

/// Which actions a grant is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// Exactly this one.
    Digest(String),
    /// Calls of this tool with arguments like these. The tool must not have changed since.
    Calls {
        /// The tool.
        tool: Name,
        /// What it was then.
        implementation: String,
        /// The arguments that matter.
        arguments: std::collections::BTreeMap<String, Alike>,
    },
    /// All.
    Everything,
}

/// Something that people decided for more than one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: Name,
    /// Whose.
    pub tenant: Tenant,
    /// What it says.
    pub what: Granted,
    /// Which actions it is about.
    pub about: About,
    /// Where it holds.
    pub reach: Reach,
    /// The run, conversation or workflow of that reach; empty for a tenant.
    pub place: String,
    /// Who granted it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How often it may still be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The request it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
}

/// Where an action happens.
#[derive(Clone, Debug)]
pub struct Place {
    /// The run at the top.
    pub run: RunId,
    /// The conversation.
    pub conversation: ConversationId,
    /// The workflow.
    pub workflow: Name,
}

/// A decided action that is to be remembered, as it was shown to people.
#[derive(Clone, Debug)]
pub struct Shown<'a> {
    /// Where it happens.
    pub place: &'a Place,
    /// Whose it is.
    pub tenant: &'a Tenant,
    /// Its digest.
    pub digest: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// What the tool was.
    pub implementation: &'a str,
}

impl Grant {
    /// A decision remembered; or why it cannot be.
    pub fn remembered(
        id: Name,
        what: Granted,
        wish: &Remember,
        shown: &Shown<'_>,
        (by, at, request): (&Actor, Timestamp, &RequestId),
    ) -> Result<Self, String> {
        let (reach, arguments, within, times) = match wish {
            Remember::Reach(reach) => (*reach, None, None, None),
            Remember::Like { reach, arguments, within, times } => {
                (*reach, arguments.clone(), *within, *times)
            }
        };
        let long =
            |alike: &Alike| matches!(alike, Alike::Glob { glob } if glob.len() > MAX_PATTERN);
        if arguments.iter().flatten().any(|(_, alike)| long(alike)) {
            return Err(format!("`glob` has at most {MAX_PATTERN} bytes"));
        }
        if times == Some(0) {
            return Err("`times` must be at least 1".to_owned());
        }
        let wide = matches!(reach, Reach::Workflow | Reach::Tenant);
        let within = within.or_else(|| wide.then_some(DEFAULT_WITHIN));
        if wide && within.is_some_and(|within| within > MAX_WITHIN) {
            return Err(format!("beyond one conversation it holds for {MAX_WITHIN} at most"));
        }
        let about = match arguments {
            None => About::Digest(shown.digest.to_owned()),
            Some(arguments) => About::Calls {
                tool: shown.tool.into(),
                implementation: shown.implementation.to_owned(),
                arguments,
            },
        };
        let place = match reach {
            Reach::Run => shown.place.run.to_string(),
            Reach::Conversation => shown.place.conversation.to_string(),
            Reach::Workflow => shown.place.workflow.to_string(),
            Reach::Tenant => String::new(),
        };
        let until = within.map(|within| at.plus(within));
        let (tenant, by) = (shown.tenant.clone(), by.clone());
        let request = Some(request.clone());
        Ok(Self { id, tenant, what, about, reach, place, by, at, until, times, request })
    }

    /// Nobody is asked for a while; or why that cannot be.
    pub fn bypass(
        id: Name,
        tenant: Tenant,
        within: Option<Span>,
        by: Actor,
        at: Timestamp,
    ) -> Result<Self, String> {
        let within = within.unwrap_or(BYPASS_WITHIN);
        if within > MAX_BYPASS {
            return Err(format!("nobody is asked for {MAX_BYPASS} at most"));
        }
        Ok(Self {
            id,
            tenant,
            what: Granted::Bypass,
            about: About::Everything,
            reach: Reach::Tenant,
            place: String::new(),
            by,
            at,
            until: Some(at.plus(within)),
            times: None,
            request: None,
        })
    }

    /// Whether it holds for this action, there and then.
    pub fn covers(&self, action: &Action, digest: &str, place: &Place, now: Timestamp) -> bool {
        let here = match self.reach {
            Reach::Run => self.place == place.run.as_str(),
            Reach::Conversation => self.place == place.conversation.as_str(),
            Reach::Workflow => *self.place == *place.workflow,
            Reach::Tenant => true,
        };
        let in_time = self.until.is_none_or(|until| now < until) && self.times != Some(0);
        here && in_time
            && match &self.about {
                About::Everything => true,
                About::Digest(granted) => granted == digest,
                About::Calls { tool, implementation, arguments } => {
                    *tool == action.name
                        && *implementation == action.implementation
                        && arguments.iter().all(|(name, alike)| {
                            alike.fits(action.arguments.get(name).unwrap_or(&Value::Null))
                        })
                }
            }
    }

    /// As clients see it.
    pub fn to_json(&self) -> Value {
        let mut shown = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(fields) = &mut shown {
            let time = |at: Timestamp| Value::from(at.rfc3339());
            fields.insert("at".into(), time(self.at));
            if let Some(until) = self.until {
                fields.insert("until".into(), time(until));
            }
            fields.retain(|name: &String, _| name != "tenant");
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Effects;
    use serde_json::json;

    fn place(run: &str) -> Place {
        Place {
            run: RunId::new(run),
            conversation: ConversationId::new("conv_1"),
            workflow: "clerk".into(),
        }
    }

    fn write(path: &str) -> Action {
        Action::tool("write", json!({ "path": path, "text": "x" }), Effects::default())
    }

    fn granted(wish: &str, action: &Action) -> Result<Grant, String> {
        let (place, tenant, digest) = (place("run_1"), Tenant::local(), action.digest());
        let shown = Shown {
            place: &place,
            tenant: &tenant,
            digest: &digest,
            tool: &action.name,
            implementation: &action.implementation,
        };
        let wish: Remember = serde_json::from_str(wish).unwrap();
        let who = (&Actor::local(), Timestamp(0), &RequestId::new("run_1.1"));
        Grant::remembered("g".into(), Granted::Approve, &wish, &shown, who)
    }

    fn covers(grant: &Grant, action: &Action, run: &str, at: i64) -> bool {
        grant.covers(action, &action.digest(), &place(run), Timestamp(at))
    }

    #[test]
    fn exactly_the_same_in_the_same_run() {
        let grant = granted(r#""run""#, &write("a")).unwrap();
        assert!(covers(&grant, &write("a"), "run_1", 1));
        assert!(!covers(&grant, &write("b"), "run_1", 1));
        assert!(!covers(&grant, &write("a"), "run_2", 1));
    }

    #[test]
    fn what_is_alike_for_a_while() {
        let wish = r#"{"reach":"workflow","arguments":{"path":{"prefix":"src/"}},"within":"1s","times":2}"#;
        let grant = granted(wish, &write("src/a")).unwrap();
        assert!(covers(&grant, &write("src/b"), "run_2", 999));
        assert!(!covers(&grant, &write("src/b"), "run_2", 1000), "its time is over");
        assert!(!covers(&grant, &write("src/../etc"), "run_2", 1));
        assert!(!covers(&grant, &write("etc"), "run_2", 1));
        let other = Action { implementation: "changed".to_owned(), ..write("src/b") };
        assert!(!covers(&grant, &other, "run_2", 1), "the tool is another one");
        assert!(!covers(&Grant { times: Some(0), ..grant }, &write("src/b"), "run_2", 1));
    }

    #[test]
    fn paths_by_a_pattern_and_addresses_by_their_host() {
        let wish = r#"{"reach":"run","arguments":{"path":{"glob":"src/**/*.rs"}}}"#;
        let grant = granted(wish, &write("src/a.rs")).unwrap();
        assert!(covers(&grant, &write("src/a.rs"), "run_1", 1));
        assert!(covers(&grant, &write("src/deep/er/b.rs"), "run_1", 1));
        for other in ["src/a.txt", "src/../a.rs", "a.rs", ""] {
            assert!(!covers(&grant, &write(other), "run_1", 1), "{other}");
        }
        let get = |url: &str| Action::tool("get", json!({ "url": url }), Effects::default());
        let wish = r#"{"reach":"run","arguments":{"url":{"host":"*.example.com"}}}"#;
        let grant = granted(wish, &get("https://api.example.com/1")).unwrap();
        assert!(covers(&grant, &get("https://api.example.com/2?x"), "run_1", 1));
        for other in
            ["https://example.org/", "https://api.example.com@evil.org/", "api.example.com"]
        {
            assert!(!covers(&grant, &get(other), "run_1", 1), "{other}");
        }
        let long = json!({ "reach": "run", "arguments": { "path": { "glob": "*".repeat(600) } } });
        assert!(granted(&long.to_string(), &write("a")).unwrap_err().contains("glob"));
    }

    #[test]
    fn nothing_holds_for_ever_beyond_a_conversation() {
        let grant = granted(r#""tenant""#, &write("a")).unwrap();
        assert!(grant.until.is_some());
        assert!(granted(r#"{"reach":"tenant","within":"31d"}"#, &write("a")).is_err());
        let bypass = |within| {
            Grant::bypass("g".into(), Tenant::local(), within, Actor::local(), Timestamp(0))
        };
        assert_eq!(bypass(None).unwrap().until, Some(Timestamp(3_600_000)));
        assert!(bypass(Some(Span::seconds(9 * 3600))).is_err());
    }
}
