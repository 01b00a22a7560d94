//! What a plain YAML scalar means: the core schema of YAML 1.2, and nothing of YAML 1.1.
//!
//! `yes`, `on` and `1:30` are text here.

use serde_json::{Number, Value};

/// The value of an unquoted scalar, or why it has none.
pub(super) fn resolve(text: &str) -> Result<Value, &'static str> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF"
        | ".nan" | ".NaN" | ".NAN" => {
            return Err("infinite and undefined numbers are not supported");
        }
        _ => match number(text) {
            Some(number) => Value::Number(number?),
            None => Value::String(text.to_owned()),
        },
    })
}

const TOO_LARGE: &str = "the number is too large";

/// The number `text` is, if it looks like one.
fn number(text: &str) -> Option<Result<Number, &'static str>> {
    let based = |digits: &str, radix: u32| {
        (!digits.is_empty() && digits.chars().all(|c| c.is_digit(radix)))
            .then(|| u64::from_str_radix(digits, radix).map(Number::from).map_err(|_| TOO_LARGE))
    };
    if let Some(digits) = text.strip_prefix("0o") {
        return based(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return based(digits, 16);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let plain = text.strip_prefix('+').unwrap_or(text);
        return Some(match (plain.parse::<i64>(), plain.parse::<u64>()) {
            (Ok(number), _) => Ok(number.into()),
            (_, Ok(number)) => Ok(number.into()),
            _ => Err(TOO_LARGE),
        });
    }
    looks_like_float(unsigned).then(|| text.parse::<f64>().map_or(Err(TOO_LARGE), whole))
}

/// `3.0` is the same number as `3`, in JSON Schema and in a content hash.
#[expect(clippy::cast_possible_truncation, reason = "bounded just before")]
fn whole(number: f64) -> Result<Number, &'static str> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Ok((number as i64).into());
    }
    Number::from_f64(number).ok_or(TOO_LARGE)
}

/// `( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn looks_like_float(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    exponent_fits && digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_core_schema() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("True", json!(true)),
            ("12", json!(12)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("0o17", json!(15)),
            ("0xff", json!(255)),
            ("18446744073709551615", json!(u64::MAX)),
            ("1.5", json!(1.5)),
            ("3.0", json!(3)),
            ("1e3", json!(1000)),
            (".5", json!(0.5)),
            ("yes", json!("yes")),
            ("on", json!("on")),
            ("1:30", json!("1:30")),
            ("1.2.3", json!("1.2.3")),
            (".", json!(".")),
            ("-", json!("-")),
            ("e5", json!("e5")),
            ("0x", json!("0x")),
            ("nan", json!("nan")),
            ("inf", json!("inf")),
            ("1_000", json!("1_000")),
        ] {
            assert_eq!(resolve(text), Ok(value), "{text}");
        }
        assert!(resolve("99999999999999999999").is_err());
        assert!(resolve("1e999").is_err());
        assert!(resolve(".inf").is_err());
    }
}
