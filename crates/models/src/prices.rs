//! What tokens cost.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::provider::Usage;

/// The price of a model, per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// A million tokens read.
    #[schemars(range(min = 0.0))]
    pub input: f64,
    /// A million tokens written, thoughts included.
    #[schemars(range(min = 0.0))]
    pub output: f64,
    /// A million tokens read that the provider had kept; as `input` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub cached_input: Option<f64>,
}

/// An amount of money, in billionths of the price list's currency: small enough that nothing gets lost
/// in adding up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost(pub u64);

impl Cost {
    /// Both amounts together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // To the hundredth of a cent, rounded up: a call that cost something never shows as nothing.
        let units = self.0.div_ceil(100_000);
        write!(f, "{}.{:04}", units / 10_000, units % 10_000)
    }
}

impl Price {
    /// Whether all of it can be a price.
    pub fn is_valid(&self) -> bool {
        [Some(self.input), Some(self.output), self.cached_input]
            .into_iter()
            .flatten()
            .all(|price| price.is_finite() && price >= 0.0)
    }

    /// What `usage` costs.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn cost(&self, usage: Usage) -> Cost {
        let cached = usage.cached.min(usage.input);
        let fresh = usage.input - cached;
        let per_million = fresh as f64 * self.input
            + cached as f64 * self.cached_input.unwrap_or(self.input)
            + usage.output as f64 * self.output;
        // A price per million tokens is a price in millionths per token. (The cast saturates.)
        Cost((per_million * 1_000.0).round() as u64)
    }
}

/// A price list: prices by model alias.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Prices(pub BTreeMap<String, Price>);

impl Prices {
    /// What `usage` of `model` costs, if the list has its price.
    pub fn cost(&self, model: &str, usage: Usage) -> Option<Cost> {
        self.0.get(model).map(|price| price.cost(usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_price() {
        let price = Price { input: 2.5, output: 10.0, cached_input: Some(0.25) };
        let usage = Usage { input: 1_000, output: 200, cached: 400, reasoning: 50 };
        let cost = price.cost(usage);
        assert_eq!(cost, Cost(600 * 2_500 + 400 * 250 + 200 * 10_000));
        assert_eq!(cost.to_string(), "0.0036");
        let list = Prices(BTreeMap::from([("a".to_owned(), price)]));
        assert_eq!(list.cost("a", usage), Some(cost));
        assert_eq!(list.cost("b", usage), None);
        let odd = Usage { cached: 9_999, ..usage };
        assert_eq!(price.cost(odd), Cost(1_000 * 250 + 200 * 10_000));
        assert!(!Price { input: f64::NAN, ..price }.is_valid());
    }
}
