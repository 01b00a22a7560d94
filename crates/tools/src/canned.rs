//! A tool whose replies are written down in the workflow file.

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::workflow::CannedTool;
use signoff_core::{Effects, ToolSpec};

use crate::tool::{BoxFuture, Invocation, Tool, ToolError};

/// How much memory one pattern may take when compiled.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// A read-only tool: the first reply whose pattern is found in the arguments' JSON text is given.
#[derive(Debug)]
pub struct Canned {
    spec: ToolSpec,
    replies: Vec<(Option<Regex>, Value)>,
}

impl Canned {
    /// The tool that `file` describes, called `name`; or what is wrong with a pattern of it.
    pub fn new(name: &str, file: &CannedTool) -> Result<Self, String> {
        let mut replies = Vec::with_capacity(file.replies.len());
        for (index, canned) in file.replies.iter().enumerate() {
            let pattern = match &canned.when {
                None => None,
                Some(when) => Some(
                    RegexBuilder::new(when)
                        .case_insensitive(true)
                        .size_limit(MAX_PATTERN_BYTES)
                        .build()
                        .map_err(|error| format!("tools.{name}.replies[{index}].when: {error}"))?,
                ),
            };
            replies.push((pattern, canned.reply.clone()));
        }
        let parameters = file.parameters.clone().unwrap_or_else(|| json!({ "type": "object" }));
        let spec = ToolSpec {
            name: name.into(),
            description: file.description.clone(),
            parameters,
            effects: Effects::READ_ONLY,
        };
        Ok(Self { spec, replies })
    }

    fn reply(&self, arguments: &Value) -> Result<Value, ToolError> {
        let text = arguments.to_string();
        let fits = |pattern: &Option<Regex>| pattern.as_ref().is_none_or(|it| it.is_match(&text));
        self.replies
            .iter()
            .find(|(pattern, _)| fits(pattern))
            .map(|(_, reply)| reply.clone())
            .ok_or_else(|| {
                let patterns: Vec<&str> = self
                    .replies
                    .iter()
                    .filter_map(|(it, _)| it.as_ref())
                    .map(Regex::as_str)
                    .collect();
                ToolError(
                    ErrorInfo::new(
                        "canned_no_reply",
                        format!("`{}` has no written reply for {text}", self.spec.name),
                    )
                    .hint(if patterns.is_empty() {
                        "it has no replies at all".to_owned()
                    } else {
                        format!("it knows replies for: {}", patterns.join(" · "))
                    }),
                )
            })
    }
}

impl Tool for Canned {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move { self.reply(&invocation.arguments) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signoff_core::workflow::CannedReply;

    fn canned(replies: &[(Option<&str>, Value)]) -> Result<Canned, String> {
        let replies = replies
            .iter()
            .map(|(when, reply)| CannedReply { when: when.map(Into::into), reply: reply.clone() })
            .collect();
        Canned::new(
            "web_search",
            &CannedTool { description: "Searches.".into(), parameters: None, replies },
        )
    }

    #[test]
    fn the_first_reply_that_fits_is_given() {
        let tool = canned(&[(Some("seattle"), json!(1)), (None, json!(2))]).unwrap();
        assert_eq!(tool.reply(&json!({ "query": "venues in SEATTLE" })), Ok(json!(1)));
        assert_eq!(tool.reply(&json!({ "query": "venues" })), Ok(json!(2)));
        assert!(tool.spec().effects.read_only);
    }

    #[test]
    fn no_reply_says_what_would_have_one() {
        let tool = canned(&[(Some("seattle"), json!(1)), (Some("paris"), json!(1))]).unwrap();
        let ToolError(info) = tool.reply(&json!({ "query": "Rome" })).unwrap_err();
        assert_eq!(info.code, "canned_no_reply");
        assert!(info.message.contains("Rome"));
        assert_eq!(info.hint.as_deref(), Some("it knows replies for: seattle · paris"));
    }

    #[test]
    fn bad_patterns_are_named() {
        let problem = canned(&[(None, json!(1)), (Some("("), json!(1))]).unwrap_err();
        assert!(problem.starts_with("tools.web_search.replies[1].when:"), "{problem}");
        assert!(
            canned(&[(Some("(a{100}){100}{100}"), json!(1))]).is_err(),
            "pattern bombs are refused"
        );
    }
}
