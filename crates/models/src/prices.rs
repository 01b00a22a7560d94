//! What tokens cost.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use signoff_core::journal::Cost;

use crate::provider::{
    BoxFuture, Delta, ModelError, ModelIdentity, ModelReply, ModelRequest, Provider, Usage,
};

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

/// A model whose price is known: what its replies cost is part of them.
#[derive(Debug)]
pub struct Priced {
    model: Arc<dyn Provider>,
    price: Price,
}

impl Priced {
    /// `model` at this price.
    pub fn new(model: Arc<dyn Provider>, price: Price) -> Self {
        Self { model, price }
    }
}

impl Provider for Priced {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let mut reply = self.model.complete(request, sink).await?;
            reply.usage.cost = self.price.cost(reply.usage);
            Ok(reply)
        })
    }

    fn identity(&self) -> Option<ModelIdentity> {
        self.model.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_price() {
        let price = Price { input: 2.5, output: 10.0, cached_input: Some(0.25) };
        let usage =
            Usage { input: 1_000, output: 200, cached: 400, reasoning: 50, ..Usage::default() };
        let cost = price.cost(usage);
        assert_eq!(cost, Cost(600 * 2_500 + 400 * 250 + 200 * 10_000));
        assert_eq!(cost.to_string(), "0.0036");
        let odd = Usage { cached: 9_999, ..usage };
        assert_eq!(price.cost(odd), Cost(1_000 * 250 + 200 * 10_000));
        assert!(!Price { input: f64::NAN, ..price }.is_valid());
    }
}
