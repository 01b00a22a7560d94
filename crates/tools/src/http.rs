//! `http_get` and `http_request`: the web, through the one guarded client.
//!
//! Which addresses may be reached is decided in signoff-net for every connection; which hosts, here, for
//! every hop. Credentials are the operator's: they are added to requests for the origin they are meant for,
//! an agent cannot set them, and they are taken out of what comes back.

mod origin;
mod reply;
mod request;

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::{Effects, Span, ToolSpec};
use signoff_net::{Client, Method, NetError, Policy, Private, Response, StatusCode, Url, header};

use crate::builtin::{self, HttpSettings, hinted};
use crate::tool::{BoxFuture, Invocation, Tool, ToolError};
use origin::Origins;
use request::Wanted;

/// How many redirects `http_get` follows.
const MAX_HOPS: usize = 5;

/// The tools that `settings` allow.
pub(crate) fn tools(settings: &HttpSettings) -> Result<Vec<Arc<dyn Tool>>, String> {
    if settings.timeout < Span::seconds(1) || settings.timeout > Span::seconds(3600) {
        return Err("tools.http.timeout: it must be between 1s and 1h".to_owned());
    }
    if !(1024..=64 * 1024 * 1024).contains(&settings.max_bytes) {
        return Err("tools.http.max_bytes: it must be between 1024 and 67108864".to_owned());
    }
    let total = settings.timeout.to_std();
    let policy = Policy {
        private: if settings.allow_private { Private::Allow } else { Private::Refuse },
        plain_http: settings.allow_plain,
        first_byte_timeout: total,
        total_timeout: total,
        // We stop reading before; this is for the piece that goes beyond.
        max_response_bytes: settings.max_bytes + 16 * 1024 * 1024,
        ..Policy::guarded()
    };
    let client = Client::new(policy).map_err(|error| format!("tools.http: {error}"))?;
    let web =
        Arc::new(Web { client, origins: Origins::new(settings)?, settings: settings.clone() });
    let tool =
        |spec, get| -> Arc<dyn Tool> { Arc::new(HttpTool { spec, get, web: Arc::clone(&web) }) };
    let mut tools = vec![tool(get_spec(), true)];
    if !settings.read_only {
        tools.push(tool(request_spec(), false));
    }
    Ok(tools)
}

#[derive(Debug)]
struct Web {
    client: Client,
    origins: Origins,
    settings: HttpSettings,
}

#[derive(Debug)]
struct HttpTool {
    spec: ToolSpec,
    get: bool,
    web: Arc<Web>,
}

impl HttpTool {
    fn wanted(&self, arguments: &Value) -> Result<Wanted, ToolError> {
        let wanted = if self.get { Wanted::get(arguments) } else { Wanted::any(arguments) }?;
        self.web.origins.check(&wanted.url)?;
        Ok(wanted)
    }
}

impl Tool for HttpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let mut wanted = self.wanted(&invocation.arguments)?;
            if !self.get {
                wanted.mark(&invocation.idempotency_key);
            }
            let limit = self.web.settings.timeout;
            let exchange = Box::pin(self.web.exchange(wanted, self.get));
            tokio::time::timeout(limit.to_std(), exchange).await.unwrap_or_else(|_| {
                Err(ToolError::new(
                    "net_timeout",
                    format!("there was no whole answer within {limit}"),
                ))
            })
        })
    }

    fn preview(&self, arguments: &Value) -> BoxFuture<'_, Result<Option<Value>, ToolError>> {
        let shown = if self.get {
            Ok(None)
        } else {
            self.wanted(arguments).map(|wanted| Some(wanted.shown()))
        };
        Box::pin(async { shown })
    }

    fn timeout(&self) -> Span {
        Span(self.web.settings.timeout.0 + 10_000)
    }
}

impl Web {
    async fn exchange(&self, mut wanted: Wanted, follow: bool) -> Result<Value, ToolError> {
        for _ in 0..=MAX_HOPS {
            self.origins.check(&wanted.url)?;
            let mut request = wanted.request();
            let secrets = self.origins.sign(&mut request);
            let head = request.method == Method::HEAD;
            let response = self.client.send(request).await.map_err(|error| told(&error))?;
            match follow.then(|| redirect(&response, &wanted.url)).flatten() {
                Some(next) => wanted.go_on(next),
                None => {
                    return reply::read(
                        response,
                        &wanted.url,
                        head,
                        self.settings.max_bytes,
                        &secrets,
                    )
                    .await;
                }
            }
        }
        Err(ToolError::new(
            "too_many_redirects",
            format!("it redirected more than {MAX_HOPS} times"),
        ))
    }
}

fn redirect(response: &Response, from: &Url) -> Option<Url> {
    let status = response.status();
    let follows = status.is_redirection() && status != StatusCode::NOT_MODIFIED;
    let next = from.join(response.header(header::LOCATION.as_str())?).ok()?;
    follows.then_some(next)
}

fn told(error: &NetError) -> ToolError {
    let message = error.to_string();
    match error {
        NetError::Refused { .. } => hinted(
            error.code(),
            message,
            "the operator decides what may be reached; try a public https address",
        ),
        _ => ToolError::new(error.code(), message),
    }
}

fn url_property() -> Value {
    json!({ "type": "string", "minLength": 8, "maxLength": 8192,
            "description": "The whole address, https://…; without user name and password." })
}

fn headers_property() -> Value {
    json!({ "type": "object", "maxProperties": 32, "additionalProperties": { "type": "string", "maxLength": 4096 },
            "description": "Headers to send, such as accept. Credentials are added by the operator and cannot be set here." })
}

fn get_spec() -> ToolSpec {
    let effects = Effects { open_world: true, network: true, ..Effects::READ_ONLY };
    let properties = json!({
        "url": url_property(),
        "headers": headers_property(),
        "head": { "type": "boolean", "description": "Only ask for status and headers (HEAD)." },
    });
    builtin::spec(
        "http_get",
        "Fetch a web address (GET). Redirects are followed. The result has `status`, `headers` and, for text \
         or JSON, `text` or `json`; of other content only type and size. What is long is cut, and the result \
         says so.",
        &properties,
        &["url"],
        effects,
    )
}

fn request_spec() -> ToolSpec {
    let effects =
        Effects { destructive: true, open_world: true, network: true, ..Effects::default() };
    let properties = json!({
        "method": { "type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] },
        "url": url_property(),
        "headers": headers_property(),
        "body": { "type": "string", "maxLength": 1_048_576, "description": "The body as text; say what it is with the header content-type." },
        "json": { "description": "The body as JSON, instead of `body`." },
    });
    builtin::spec(
        "http_request",
        "Send any HTTP request. To only fetch something use http_get. Redirects are not followed: the result \
         has the header `location` then. The result has `status`, `headers` and, for text or JSON, `text` or \
         `json`; of other content only type and size.",
        &properties,
        &["method", "url"],
        effects,
    )
}
