//! What speaks for asking, as far as it can be told without a model.

use serde::{Deserialize, Serialize};

use schemars::JsonSchema;

use super::{Action, Reason};
use crate::time::Span;

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
    /// How many changes a run makes before it is asked about each further one.
    pub writes: u32,
    /// After how many failures of the same.
    pub failures: u32,
    /// After how many times the same in a row.
    pub repeats: u32,
    /// After how many denials in a row everything is asked for, until somebody agrees to something.
    pub denials: u32,
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
            writes: 50,
            failures: 3,
            repeats: 3,
            denials: 3,
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
