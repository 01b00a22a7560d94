//! What calling a tool costs, for people who decide about a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::expr::Expr;

/// The variables that an expression for an amount may use.
const VARIABLES: &[&str] = &["arguments"];
/// The longest unit, in characters.
const LONGEST_UNIT: usize = 16;
/// Amounts are shown in millionths at most.
const FINEST: f64 = 1_000_000.0;

/// What calling a tool costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// How much: a number, or a CEL expression over `arguments` that gives one.
    pub amount: Amount,
    /// Of what: a currency, or something else that can be counted.
    pub unit: String,
}

/// How much something costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Amount {
    /// Always the same.
    Number(f64),
    /// A CEL expression over `arguments`.
    Expression(String),
}

impl Cost {
    /// What is wrong with it, and at which key.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let units = self.unit.chars().count();
        if !(1..=LONGEST_UNIT).contains(&units) || self.unit.chars().any(char::is_control) {
            let message = format!("a unit has 1 to {LONGEST_UNIT} characters, for example EUR");
            return Some(("unit", message));
        }
        match &self.amount {
            Amount::Number(amount) => {
                fit(*amount).is_none().then(|| ("amount", "it is not less than 0".to_owned()))
            }
            Amount::Expression(source) => {
                let problem = Expr::compile(source, VARIABLES).err()?;
                Some(("amount", format!("the expression is wrong: {problem}")))
            }
        }
    }

    /// What a call with these arguments costs, as people are shown it: `amount` and `unit`, or why that is `unknown`.
    pub fn of(&self, arguments: &Value) -> Value {
        let amount = match &self.amount {
            Amount::Number(amount) => Ok(*amount),
            Amount::Expression(source) => evaluated(source, arguments),
        };
        let amount = amount.and_then(|it| fit(it).ok_or_else(|| format!("{it} is no amount")));
        match amount {
            Ok(amount) => json!({ "amount": amount, "unit": self.unit }),
            Err(problem) => json!({ "unknown": problem, "unit": self.unit }),
        }
    }
}

/// A cost as a preview has it, in words.
pub fn cost_in_words(cost: &Value) -> Option<String> {
    let unit = cost["unit"].as_str()?;
    match (&cost["amount"], cost["unknown"].as_str()) {
        (Value::Number(amount), _) => Some(format!("{amount} {unit}")),
        (_, Some(problem)) => Some(format!("not known in {unit}: {problem}")),
        _ => None,
    }
}

fn evaluated(source: &str, arguments: &Value) -> Result<f64, String> {
    let value = Expr::compile(source, VARIABLES)?.eval(&[("arguments", arguments)])?;
    value.as_f64().ok_or_else(|| "the expression gives no number".to_owned())
}

/// An amount that can be shown.
fn fit(amount: f64) -> Option<f64> {
    let fits = amount.is_finite() && amount >= 0.0;
    fits.then(|| (amount * FINEST).round() / FINEST).filter(|amount| amount.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(amount: &Value) -> Cost {
        serde_json::from_value(json!({ "amount": amount, "unit": "EUR" })).unwrap()
    }

    #[test]
    fn a_cost_is_a_number_or_follows_from_the_arguments() {
        let given = json!({ "guests": 3, "each": 0.1 });
        let said = |amount: Value| cost_in_words(&cost(&amount).of(&given)).unwrap();
        assert_eq!(said(json!(12)), "12.0 EUR");
        assert_eq!(said(json!(0.25)), "0.25 EUR");
        assert_eq!(said(json!("double(arguments.guests) * arguments.each")), "0.3 EUR");
        for broken in ["arguments.nothing", "'many'", "-1", "1.0 / 0.0"] {
            let said = said(json!(broken));
            assert!(said.starts_with("not known in EUR: "), "{broken}: {said}");
        }
    }

    #[test]
    fn what_can_never_be_an_amount_is_refused() {
        assert_eq!(cost(&json!(1.5)).problem(), None);
        for (amount, key) in
            [(json!(-1), "amount"), (json!("1 +"), "amount"), (json!("x"), "amount")]
        {
            assert_eq!(cost(&amount).problem().unwrap().0, key);
        }
        let nameless = Cost { unit: String::new(), ..cost(&json!(1)) };
        assert_eq!(nameless.problem().unwrap().0, "unit");
    }
}
