//! What asking models took.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Tokens in and out of a model, and their price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Of the tokens read, those the provider had kept from an earlier call.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Of the tokens written, those that were thought and not said.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// What they cost by the price list of that moment; nothing, if there was none.
    #[serde(default, skip_serializing_if = "Cost::is_nothing")]
    pub cost: Cost,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            cost: self.cost.plus(other.cost),
        }
    }

    /// Whether nothing was used, as far as is known.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens in, {} out", self.input, self.output)?;
        if self.cost.is_nothing() { Ok(()) } else { write!(f, ", cost {}", self.cost) }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
fn is_zero(number: &u64) -> bool {
    *number == 0
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

    /// Whether it is no money at all.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
    pub fn is_nothing(&self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // To the hundredth of a cent, rounded up: a call that cost something never shows as nothing.
        let units = self.0.div_ceil(100_000);
        write!(f, "{}.{:04}", units / 10_000, units % 10_000)
    }
}
