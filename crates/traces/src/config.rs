//! Where spans are sent, as OpenTelemetry's environment variables say.

use signoff_net::Url;
use signoff_net::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

/// The variables that are read.
pub mod variable {
    /// Where traces, and whatever else, are sent; `/v1/traces` is added.
    pub const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    /// Where traces are sent, as it is.
    pub const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    /// Headers to send along: `name=value,…`.
    pub const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
    /// The same for traces only; they come on top.
    pub const TRACES_HEADERS: &str = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
    /// What this program is called in traces.
    pub const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
    /// What else is said of this program: `name=value,…`.
    pub const RESOURCE_ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
    /// `true` turns it all off.
    pub const DISABLED: &str = "OTEL_SDK_DISABLED";
}

const SERVICE_NAME: &str = "service.name";

/// A variable that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {problem}")]
pub struct ConfigError {
    /// Which one.
    pub variable: &'static str,
    /// What is wrong with it. Without what it says: that may be a key.
    pub problem: String,
}

/// Where spans are sent, and as whose.
#[derive(Clone)]
pub struct Config {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) resource: Vec<(String, String)>,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Config {
    /// The host that spans are sent to. Not all of the address: there may be a key in its path.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// What the variables say; nothing, if they name no place. A variable that is empty is not set.
    pub fn read(env: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, ConfigError> {
        let get = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        if get(variable::DISABLED).is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let url = match (get(variable::TRACES_ENDPOINT), get(variable::ENDPOINT)) {
            (Some(whole), _) => url(variable::TRACES_ENDPOINT, &whole)?,
            (None, Some(base)) => {
                let mut url = url(variable::ENDPOINT, &base)?;
                url.set_path(&format!("{}/v1/traces", url.path().trim_end_matches('/')));
                url
            }
            (None, None) => return Ok(None),
        };
        let mut headers = HeaderMap::new();
        for name in [variable::HEADERS, variable::TRACES_HEADERS] {
            add_headers(&mut headers, name, &get(name).unwrap_or_default())?;
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut resource = vec![
            (SERVICE_NAME.to_owned(), "signoff".to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id".to_owned(), signoff_runtime::new_id()),
        ];
        let more = get(variable::RESOURCE_ATTRIBUTES).unwrap_or_default();
        let named = get(variable::SERVICE_NAME).map(|name| (SERVICE_NAME.to_owned(), name));
        for (key, value) in pairs(variable::RESOURCE_ATTRIBUTES, &more)?.into_iter().chain(named) {
            resource.retain(|(known, _)| *known != key);
            resource.push((key, value));
        }
        Ok(Some(Self { url, headers, resource }))
    }
}

fn url(variable: &'static str, text: &str) -> Result<Url, ConfigError> {
    let wrong = |problem: &str| ConfigError { variable, problem: problem.to_owned() };
    let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("it must begin with http:// or https:// and a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let problem = format!("it must not hold a password; {} may", variable::HEADERS);
        return Err(wrong(&problem));
    }
    Ok(url)
}

fn add_headers(
    headers: &mut HeaderMap,
    variable: &'static str,
    text: &str,
) -> Result<(), ConfigError> {
    for (name, value) in pairs(variable, text)? {
        let header: Option<HeaderName> = name.parse().ok();
        let value = HeaderValue::from_str(&value).ok();
        let (Some(header), Some(mut value)) = (header, value) else {
            let problem = "there is something in it that cannot be a header".to_owned();
            return Err(ConfigError { variable, problem });
        };
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(())
}

/// `name=value,…`, where values may be percent-encoded.
fn pairs(variable: &'static str, text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), decoded(value.trim())))
        }
        _ => Err(ConfigError { variable, problem: "write name=value,name=value".to_owned() }),
    };
    text.split(',').filter(|it| !it.trim().is_empty()).map(pair).collect()
}

/// The text without its percent-encoding. What is not encoded well stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let encoded = after.get(..2).filter(|_| byte == b'%').and_then(hex);
        bytes.push(encoded.unwrap_or(byte));
        rest = if encoded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    digits
        .iter()
        .try_fold(0, |sum, byte| Some(16 * sum + digit(byte)?))
        .and_then(|n| n.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Option<Config>, ConfigError> {
        let find = |name: &str| set.iter().find(|(known, _)| *known == name);
        Config::read(&|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn nothing_is_done_without_a_place() {
        assert!(read(&[]).unwrap().is_none());
        assert!(read(&[(variable::ENDPOINT, " ")]).unwrap().is_none());
        let off = [(variable::ENDPOINT, "http://localhost:4318"), (variable::DISABLED, "True")];
        assert!(read(&off).unwrap().is_none());
    }

    #[test]
    fn the_path_is_added_to_the_base_only() {
        let url = |name, value| read(&[(name, value)]).unwrap().unwrap().url.to_string();
        let base = variable::ENDPOINT;
        assert_eq!(url(base, "http://localhost:4318"), "http://localhost:4318/v1/traces");
        assert_eq!(url(base, "https://a.example/otlp/"), "https://a.example/otlp/v1/traces");
        assert_eq!(url(variable::TRACES_ENDPOINT, "http://a.example/x"), "http://a.example/x");
    }

    #[test]
    fn headers_and_attributes_are_decoded() {
        let config = read(&[
            (variable::ENDPOINT, "http://localhost:4318"),
            (variable::HEADERS, "authorization=Basic%20abc=, x-a = 100%,"),
            (variable::TRACES_HEADERS, "x-a=2"),
            (variable::RESOURCE_ATTRIBUTES, "service.name=other,team=caf%C3%A9"),
            (variable::SERVICE_NAME, "mine"),
        ]);
        let config = config.unwrap().unwrap();
        assert_eq!(config.headers["authorization"], "Basic abc=");
        assert_eq!(config.headers["x-a"], "2");
        assert!(config.headers["authorization"].is_sensitive());
        let value = |key: &str| {
            let mut found = config.resource.iter().filter(|(known, _)| known == key);
            (found.next().map(|(_, value)| value.as_str()), found.next())
        };
        assert_eq!(value("service.name"), (Some("mine"), None));
        assert_eq!(value("team"), (Some("café"), None));
        assert!(!format!("{config:?}").contains("abc"));
    }

    #[test]
    fn what_is_wrong_is_told_without_its_value() {
        for (name, value) in [
            (variable::ENDPOINT, "collector:4317"),
            (variable::ENDPOINT, "http://me:hunter2@localhost"),
            (variable::HEADERS, "hunter2"),
            (variable::HEADERS, "a b=hunter2"),
            (variable::RESOURCE_ATTRIBUTES, "=hunter2"),
        ] {
            let all = [(name, value), (variable::ENDPOINT, "http://localhost:4318")];
            let error = read(&all).unwrap_err();
            assert_eq!(error.variable, name);
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
