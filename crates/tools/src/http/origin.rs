//! Which hosts may be asked, and what the operator sends to them.

use signoff_net::header::{HeaderName, HeaderValue as Sent};
use signoff_net::{Request, Url};

use crate::builtin::{HeaderValue, HttpSettings, hinted};
use crate::tool::ToolError;

/// The hosts that may be asked, and the headers for some of them.
pub(super) struct Origins {
    hosts: Vec<String>,
    headers: Vec<(String, Vec<(HeaderName, Sent)>)>,
}

impl std::fmt::Debug for Origins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origins").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Origins {
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, String> {
        let mut headers = Vec::new();
        for (origin, set) in &settings.headers {
            let wrong = |why: &str| format!("tools.http.headers.\"{origin}\": {why}");
            let url =
                if origin.contains("://") { origin.clone() } else { format!("https://{origin}") };
            let url = Url::parse(&url).map_err(|error| wrong(&error.to_string()))?;
            if !matches!(url.scheme(), "http" | "https") || url.path() != "/" {
                return Err(wrong("write a host, or an origin such as http://localhost:8080"));
            }
            let mut all = Vec::new();
            for (name, value) in set {
                let wrong = |why: &str| wrong(&format!("{name}: {why}"));
                let name: HeaderName =
                    name.parse().map_err(|_| wrong("this is not a header's name"))?;
                let text = match value {
                    HeaderValue::Text(text) => text.clone(),
                    HeaderValue::Env { env } => std::env::var(env)
                        .map_err(|_| wrong(&format!("the environment has no `{env}`")))?,
                };
                // The value itself is never told: it may be a key.
                let mut value =
                    Sent::from_str(text.trim()).map_err(|_| wrong("its value cannot be sent"))?;
                value.set_sensitive(true);
                all.push((name, value));
            }
            headers.push((url.origin().ascii_serialization(), all));
        }
        let hosts = settings.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Ok(Self { hosts, headers })
    }

    /// Refuses a host that is not among those that may be asked.
    pub(super) fn check(&self, url: &Url) -> Result<(), ToolError> {
        let host = url.host_str().unwrap_or_default();
        let fits = |allowed: &String| match allowed.strip_prefix("*.") {
            None => allowed == host,
            Some(above) => host.strip_suffix(above).is_some_and(|below| below.ends_with('.')),
        };
        if self.hosts.is_empty() || self.hosts.iter().any(fits) {
            return Ok(());
        }
        let hint = format!("these may be: {}", self.hosts.join(", "));
        Err(hinted("host_denied", format!("{host} is not a host that may be asked here"), hint))
    }

    /// Adds the operator's headers for where `request` goes, and gives their values: they must not come
    /// back to an agent.
    pub(super) fn sign(&self, request: &mut Request) -> Vec<String> {
        let origin = request.url.origin().ascii_serialization();
        let mut secrets = Vec::new();
        for (_, headers) in self.headers.iter().filter(|(it, _)| *it == origin) {
            for (name, value) in headers {
                request.headers.insert(name, value.clone());
                let text = value.to_str().unwrap_or_default();
                // The key without `Bearer` in front of it is a secret as well.
                secrets
                    .extend([text, text.rsplit(' ').next().unwrap_or_default()].map(str::to_owned));
            }
        }
        // Short values are no secrets, and would be found everywhere.
        secrets.retain(|secret| secret.len() >= 8);
        secrets
    }
}
