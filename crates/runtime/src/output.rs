//! An agent's final answer, held against what was asked of it.

use serde_json::Value;

/// A final answer that fits.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// Free text.
    Text,
    /// JSON, and the text is nothing but that.
    Json,
    /// JSON that had to be picked out of the text.
    Picked(Value),
}

/// Checks `text`; says what is wrong with it, in words a model can act on.
pub(crate) fn check(
    text: Option<&str>,
    schema: Option<&signoff_core::schema::Validator>,
) -> Result<Answer, String> {
    let text = text.map(str::trim).filter(|text| !text.is_empty()).ok_or("the answer is empty")?;
    let Some(schema) = schema else {
        return Ok(Answer::Text);
    };
    let (value, whole) = find_json(text).ok_or("the answer is not JSON")?;
    signoff_core::schema::problems(schema, &value).map_err(|problems| problems.join("; "))?;
    Ok(if whole { Answer::Json } else { Answer::Picked(value) })
}

/// The JSON in `text`, and whether it is all of it. Models like to wrap it in a fence or a sentence.
fn find_json(text: &str) -> Option<(Value, bool)> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some((value, true));
    }
    let fenced = text.split("```").nth(1).map(|block| block.trim_start_matches("json"));
    let braced = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    [fenced, braced]
        .into_iter()
        .flatten()
        .find_map(|candidate| serde_json::from_str(candidate.trim()).ok())
        .map(|value| (value, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_found_where_models_put_it() {
        let schema =
            signoff_core::schema::compile(&json!({ "type": "object", "required": ["n"] })).unwrap();
        let check = |text| check(Some(text), Some(&schema));
        assert_eq!(check(r#" {"n":1} "#), Ok(Answer::Json));
        assert_eq!(check("```json\n{\"n\":1}\n```"), Ok(Answer::Picked(json!({ "n": 1 }))));
        assert_eq!(check("Here you are: {\"n\":1}. Bye"), Ok(Answer::Picked(json!({ "n": 1 }))));
        assert!(check("I could not find a venue.").unwrap_err().contains("not JSON"));
        assert!(check("{}").unwrap_err().contains("required"));
        assert!(super::check(Some("  "), None).is_err());
        assert_eq!(super::check(Some("x"), None), Ok(Answer::Text));
    }
}
