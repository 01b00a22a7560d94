//! What speaks for asking, as far as it can be told without a model.

use serde::{Deserialize, Serialize};

use schemars::JsonSchema;

use serde_json::Value;

use super::like::{host_fits, host_of};
use super::{Action, Counts, Reason};
use crate::time::Span;
use crate::visible::Secrets;

/// How much of what an action is given is looked through for secrets, in bytes.
const MAX_LOOKED_AT: usize = 64 * 1024;

/// When a `smart` gate asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Smart {
    /// Words that must not stand in what the action is about.
    pub keywords: Vec<String>,
    /// Places where everything is asked for.
    pub environments: Vec<String>,
    /// Whether what cannot be undone is asked for.
    pub destructive: bool,
    /// How many files, hosts or people it is about at once.
    #[serde(skip_serializing_if = "are_usual_targets")]
    pub targets: u32,
    /// How many lines of text it is given; never for that, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// The hosts that need not be asked for, `*.` before one for all below it; all, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// Whether what has a secret in it is asked for.
    #[serde(skip_serializing_if = "std::clone::Clone::clone")]
    pub secrets: bool,
    /// How many changes a run makes before it is asked about each further one.
    pub writes: u32,
    /// After how many failures of the same.
    pub failures: u32,
    /// After how many times the same in a row.
    pub repeats: u32,
    /// After how many denials in a row everything is asked for, until somebody agrees to something.
    pub denials: u32,
    /// After how many denials among the last 50 answers.
    #[serde(skip_serializing_if = "are_usual_denials")]
    pub recent_denials: u32,
    /// From which cost of the run on, in the currency of the price list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// A model that is asked where nothing of this speaks for asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judge>,
}

/// A model that says how much can go wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    /// The model, by its alias.
    #[serde(default = "default_model")]
    pub model: String,
    /// From which risk on people are asked, from 0 to 1.
    #[serde(default = "threshold")]
    pub threshold: f64,
    /// How long it may take.
    #[serde(default = "timeout")]
    pub timeout: Span,
    /// Whether people need not be asked about what it finds harmless, where no gate insists on it. Otherwise it can only
    /// lead to asking.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clears: bool,
    /// What it should know about this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// How many targets are too many, if nothing is said.
const TARGETS: u32 = 20;
/// How many denials of late are too many, if nothing is said.
const RECENT_DENIALS: u32 = 10;

// What came later is left out of a definition that does not mention it, so that its version stays what it was.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde wants it so
fn are_usual_targets(targets: &u32) -> bool {
    *targets == TARGETS
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde wants it so
fn are_usual_denials(denials: &u32) -> bool {
    *denials == RECENT_DENIALS
}

fn default_model() -> String {
    "default".to_owned()
}

fn threshold() -> f64 {
    0.7
}

fn timeout() -> Span {
    Span::seconds(90)
}

impl Default for Smart {
    fn default() -> Self {
        let words = [
            "prod",
            "production",
            "secret",
            "secrets",
            "password",
            "credential",
            "credentials",
            "token",
            "key",
            ".env",
            "delete",
            "drop",
            "truncate",
            "destroy",
            "sudo",
            "force",
        ];
        Self {
            keywords: words.map(str::to_owned).to_vec(),
            environments: vec!["production".to_owned()],
            destructive: true,
            targets: TARGETS,
            lines: None,
            hosts: None,
            secrets: true,
            writes: 50,
            failures: 3,
            repeats: 3,
            denials: 3,
            recent_denials: RECENT_DENIALS,
            cost: None,
            judge: None,
        }
    }
}

impl Smart {
    /// Everything that speaks for asking about this action.
    pub(super) fn criteria(&self, gate: &str, action: &Action) -> Vec<Reason> {
        let mut found = Vec::new();
        let mut speaks = |criterion: &str, evidence: String| {
            found.push(Reason { gate: gate.into(), criterion: criterion.to_owned(), evidence });
        };
        if let Some(why) = &action.opaque {
            speaks("unclear", why.clone());
        }
        if let Some((word, place)) = self.keyword(action) {
            speaks("keyword", format!("`{word}` in `{place}`"));
        }
        if self.environments.iter().any(|it| **it == *action.environment) {
            speaks("environment", action.environment.to_string());
        }
        if self.destructive && action.effects.destructive {
            speaks("destructive", "it cannot be undone".to_owned());
        }
        let about = action.targets.len();
        if self.targets > 0 && about >= self.targets as usize {
            speaks("targets", format!("{about} at once"));
        }
        if let Some(bound) = self.lines {
            let longest = texts(&action.arguments).map(|text| text.lines().count()).max();
            if let Some(lines) = longest.filter(|lines| *lines >= bound as usize) {
                speaks("lines", format!("{lines} lines"));
            }
        }
        if let Some(host) = self.strange_host(action) {
            speaks("host", host);
        }
        if self.secrets && has_secret(action) {
            speaks("secret", "there is one in what it is given".to_owned());
        }
        let counts = action.counts;
        #[allow(clippy::cast_precision_loss)] // money, in whole units
        let spent = counts.cost.0 as f64 / 1e9;
        if self.cost.is_some_and(|bound| spent >= bound) {
            speaks("cost", format!("{} so far", counts.cost));
        }
        for (criterion, count, bound) in [
            ("writes", counts.writes, self.writes),
            ("failures", counts.failures, self.failures),
            ("loop", counts.repeats, self.repeats),
        ] {
            let counted = criterion != "writes" || !action.effects.read_only;
            if counted && bound > 0 && count >= bound {
                speaks(criterion, format!("{count} so far"));
            }
        }
        found
    }

    /// Why everything is asked for: people denied too much of late.
    pub(super) fn breaks(&self, counts: Counts) -> Option<String> {
        let reached = |count: u32, bound: u32| bound > 0 && count >= bound;
        if reached(counts.denials, self.denials) {
            return Some(format!("{} in a row", counts.denials));
        }
        reached(counts.recent_denials, self.recent_denials)
            .then(|| format!("{} of the last 50", counts.recent_denials))
    }

    /// An address that is not at one of the hosts that need not be asked for.
    fn strange_host(&self, action: &Action) -> Option<String> {
        let known = self.hosts.as_ref()?;
        let places = action.targets.iter().chain(&action.command);
        places.filter(|place| place.contains("://")).find_map(|place| match host_of(place) {
            Some(host) if known.iter().any(|known| host_fits(known, &host)) => None,
            Some(host) => Some(host),
            None => Some("an address whose host cannot be told".to_owned()),
        })
    }

    /// The first word that stands in what the action is about, and where.
    fn keyword<'a>(&'a self, action: &'a Action) -> Option<(&'a str, &'a str)> {
        let places = action.targets.iter().chain(&action.command);
        places
            .flat_map(|place| self.keywords.iter().map(move |word| (word.as_str(), place.as_str())))
            .find(|(word, place)| {
                let place = place.to_ascii_lowercase();
                let word = word.to_ascii_lowercase();
                // A word among others, not a part of one.
                place.match_indices(&word).any(|(at, _)| {
                    let before = place[..at].chars().next_back();
                    let after = place[at + word.len()..].chars().next();
                    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
                    apart(before) && apart(after)
                })
            })
    }
}

/// All texts in a value.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let mut todo = vec![value];
    std::iter::from_fn(move || {
        while let Some(value) = todo.pop() {
            match value {
                Value::String(text) => return Some(text.as_str()),
                Value::Array(items) => todo.extend(items),
                Value::Object(fields) => todo.extend(fields.values()),
                _ => {}
            }
        }
        None
    })
}

/// Whether something in it looks like a key, a token or a password.
fn has_secret(action: &Action) -> bool {
    let (looks_like, mut left) = (Secrets::default(), MAX_LOOKED_AT);
    let words = action.command.iter().map(String::as_str);
    let fields = action.arguments.as_object().into_iter().flatten();
    fields.clone().any(|(name, value)| {
        value.as_str().is_some_and(|text| looks_like.mask_field(name, text) != text)
    }) || texts(&action.arguments).chain(words).any(|text| {
        let mut end = text.len().min(left);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        left -= end;
        looks_like.mask(&text[..end]) != text[..end]
    })
}
