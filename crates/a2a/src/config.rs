//! `[a2a.NAME]` in the operator's configuration.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::Span;
use signoff_net::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use signoff_net::{Secret, Url};

use crate::failure::Failure;
use crate::signature::{CardKey, PublicKey};

/// Where an agent says what it is.
const CARD: &str = "/.well-known/agent-card.json";
/// The longest name of an agent.
const MAX_NAME: usize = 64;
/// The shortest key that is looked for in what comes back. A shorter one is in every text, and no key.
const SHORTEST: usize = 6;
/// Headers that are ours to set.
const OURS: [&str; 7] = [
    "accept",
    "content-type",
    "content-length",
    "host",
    "last-event-id",
    "a2a-version",
    "a2a-extensions",
];

/// An agent that runs elsewhere and speaks A2A.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct A2aConfig {
    /// Where the agent is: its card is at `/.well-known/agent-card.json` below it. Or the address of the
    /// card itself, which then ends in `.json`.
    pub url: String,
    /// The environment variable that holds a token, sent as `Authorization: Bearer`.
    pub token_env: Option<String>,
    /// Headers of every request to it, each with the name of the environment variable that holds its value.
    #[serde(default)]
    pub headers_env: BTreeMap<String, String>,
    /// Other places the card may lead to, such as `https://rpc.example`. What is sent to the agent, the
    /// token included, goes there then.
    #[serde(default)]
    pub origins: Vec<String>,
    /// How long it may work without an answer or a question.
    #[serde(default = "a_day")]
    pub timeout: Span,
    /// A skill that its card must have.
    pub skill: Option<String>,
    /// What to do when it does not know a task any more.
    #[serde(default)]
    pub lost: Lost,
    /// The public key that must have signed its card, as a JWK: `{ kty = "EC", crv = "P-256", x = "…", y = "…" }`.
    pub card_key: Option<CardKey>,
}

/// What to do when an agent has lost a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// Ask a person: what the task has done is not known.
    #[default]
    Ask,
    /// Begin another one, which may do the same again.
    Again,
}

fn a_day() -> Span {
    Span::seconds(24 * 3600)
}

/// Where an agent is, and what it is sent along.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) card: Url,
    pub(crate) origins: Vec<Url>,
    pub(crate) skill: Option<String>,
    pub(crate) key: Option<PublicKey>,
    headers_env: Vec<(HeaderName, String, bool)>,
}

impl A2aConfig {
    pub(crate) fn place(&self, name: &str) -> Result<Place, Failure> {
        self.read(name).map_err(|problem| Failure::Config(format!("[a2a.{name}]: {problem}")))
    }

    fn read(&self, name: &str) -> Result<Place, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fits) {
            return Err(format!(
                "`{name}` cannot be the name of an agent: use letters, digits, `-` and `_`, at most {MAX_NAME}"
            ));
        }
        let mut card = address("url", &self.url)?;
        if Path::new(card.path()).extension().is_none_or(|it| it != "json") {
            let path = format!("{}{CARD}", card.path().trim_end_matches('/'));
            card.set_path(&path);
        }
        let mut origins = vec![card.clone()];
        for origin in &self.origins {
            origins.push(address("origins", origin)?);
        }
        if self.timeout.0 == 0 {
            return Err("`timeout` must be more than nothing".to_owned());
        }
        let mut headers_env = Vec::new();
        for (name, variable) in &self.headers_env {
            let name: HeaderName =
                name.parse().map_err(|_| format!("`{name}` is not the name of a header"))?;
            if OURS.contains(&name.as_str()) {
                return Err(format!("the header `{name}` is set by the protocol"));
            }
            headers_env.push((name, variable.clone(), false));
        }
        if let Some(variable) = &self.token_env {
            if headers_env.iter().any(|(name, ..)| *name == AUTHORIZATION) {
                return Err(
                    "`token_env` is the header `Authorization`: give one of them".to_owned()
                );
            }
            headers_env.push((AUTHORIZATION, variable.clone(), true));
        }
        let key = self.card_key.as_ref().map(CardKey::read).transpose()?;
        Ok(Place { card, origins, skill: self.skill.clone(), key, headers_env })
    }
}

fn address(key: &str, text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|problem| format!("`{key}`: {problem}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("`{key}` must begin with http or https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("`{key}` must not hold a password: use `token_env` or `headers_env`"));
    }
    Ok(url)
}

impl Place {
    /// Whether messages may go to `url`.
    pub(crate) fn allows(&self, url: &Url) -> bool {
        self.origins.iter().any(|origin| origin.origin() == url.origin())
    }

    /// The headers of a request, and what must not be seen anywhere else.
    pub(crate) fn headers(&self) -> Result<(HeaderMap, Vec<Secret>), Failure> {
        let mut headers = HeaderMap::new();
        let mut secrets = Vec::new();
        for (name, variable, bearer) in &self.headers_env {
            let wrong = |what| Failure::Auth(format!("the environment variable {variable} {what}"));
            let value = std::env::var(variable).map_err(|_| wrong("is not set"))?;
            let value = value.trim();
            let text = if *bearer { format!("Bearer {value}") } else { value.to_owned() };
            let mut header =
                HeaderValue::from_str(&text).map_err(|_| wrong("does not fit into a header"))?;
            header.set_sensitive(true);
            headers.insert(name.clone(), header);
            // Some servers quote what they were sent, and some without the scheme before it.
            let bare = value.split_once(' ').map(|(_, bare)| bare);
            let long = [Some(value), bare].into_iter().flatten().filter(|it| it.len() >= SHORTEST);
            secrets.extend(long.map(Secret::new));
        }
        Ok((headers, secrets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Place, String> {
        let config: A2aConfig = toml::from_str(text).map_err(|error| error.to_string())?;
        config.place("desk").map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_card_is_found_from_the_address() {
        let card = |url: &str| read(&format!("url = \"{url}\"")).unwrap().card.to_string();
        assert_eq!(card("https://a.example"), "https://a.example/.well-known/agent-card.json");
        assert_eq!(card("https://a.example/b/"), "https://a.example/b/.well-known/agent-card.json");
        assert_eq!(card("https://a.example/c.json"), "https://a.example/c.json");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (wrong, problem) in [
            ("", "missing field"),
            ("url = \"a.example\"", "`url`"),
            ("url = \"file:///etc/passwd\"", "http"),
            ("url = \"https://user:pass@a.example\"", "password"),
            ("url = \"https://a.example\"\norigins = [\"b\"]", "`origins`"),
            ("url = \"https://a.example\"\ntimeout = \"0s\"", "more than nothing"),
            ("url = \"https://a.example\"\nheaders_env = { A2A-Version = \"B\" }", "protocol"),
            (
                "url = \"https://a.example\"\ntoken_env = \"T\"\nheaders_env = { Authorization = \"B\" }",
                "one of them",
            ),
            ("url = \"https://a.example\"\ntoken = \"secret\"", "unknown field"),
        ] {
            let found = read(wrong).unwrap_err();
            assert!(found.contains(problem), "{wrong}: {found}");
        }
        let config = A2aConfig { url: "https://a.example".into(), ..A2aConfig::default() };
        assert!(config.place("a b").is_err());
    }
}
