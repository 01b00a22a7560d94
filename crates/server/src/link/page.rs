//! What people see who open a link: pages without scripts, in which everything that was said is text.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use signoff_core::text::clean;
use signoff_core::workflow::cost_in_words;
use signoff_core::{DecisionKind, Request, RequestBody, RequestStatus};

use super::token::Link;
use crate::error::{ApiError, no_more};

/// The media type of a page.
pub(super) const MEDIA: &str = "text/html";
const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}\
    pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:.5rem}\
    textarea{width:100%;box-sizing:border-box}button{margin:.5rem .5rem 0 0;padding:.5rem 1rem}";

/// Nothing is loaded, nothing runs, the form goes nowhere else, and nobody shows the page inside of another.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = BASE64_STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    )
});

/// A page.
pub(super) struct Page {
    status: StatusCode,
    title: String,
    /// As HTML.
    body: String,
}

impl Page {
    fn new(status: StatusCode, title: &str, text: &str) -> Self {
        Self { status, title: title.to_owned(), body: format!("<p>{}</p>", escaped(text)) }
    }
}

impl From<Page> for Response {
    fn from(Page { status, title, body }: Page) -> Self {
        let title = escaped(&title);
        let html = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
             <style>{STYLE}</style><main><h1>{title}</h1>{body}</main></html>"
        );
        let fixed = HeaderValue::from_static;
        let headers = [
            (header::CONTENT_TYPE, fixed("text/html; charset=utf-8")),
            (header::CACHE_CONTROL, fixed("no-store")),
            (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
            // Others are told nothing of the address, which has the token. With `no-referrer` browsers would send
            // the form with `Origin: null`, as if it came from a page of somebody else.
            (header::REFERRER_POLICY, fixed("same-origin")),
            (HeaderName::from_static("x-robots-tag"), fixed("noindex")),
        ];
        let mut response = (status, headers, html).into_response();
        if let Ok(policy) = HeaderValue::from_str(&POLICY) {
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        if [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS].contains(&status) {
            response.headers_mut().insert(header::RETRY_AFTER, fixed("1"));
        }
        no_more(&mut response);
        response
    }
}

/// Why nothing was done.
pub(super) fn refused(error: ApiError) -> Page {
    let (status, fields) = error.into_fields();
    let word = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
    let mut page = Page::new(status, "Nothing was decided", &word("message"));
    let _ = write!(page.body, "<p><code>{}</code></p>", escaped(&word("code")));
    page
}

/// It is not what the link was made for.
pub(super) fn changed() -> Page {
    let text = "The request was changed since this link was made, so nothing can be decided with it. \
                Ask for another link.";
    Page::new(StatusCode::OK, "It was changed", text)
}

/// Others must agree.
pub(super) fn voted() -> Page {
    Page::new(StatusCode::ACCEPTED, "It counts", "Others must agree before it is decided.")
}

/// How a request stands that waits no more.
pub(super) fn standing(request: &Request) -> Page {
    let mut page = match (&request.decision, request.status) {
        (Some(taken), _) => {
            let text = format!("Decided by {} at {}:", taken.by, taken.at.rfc3339());
            let mut page = Page::new(StatusCode::OK, "It is decided", &text);
            let decision = serde_json::to_value(&taken.decision).unwrap_or_default();
            page.body.push_str(&block(&decision));
            page
        }
        (None, RequestStatus::Expired) => {
            Page::new(StatusCode::OK, "It is over", "Nobody decided it in time.")
        }
        (None, _) => {
            Page::new(StatusCode::OK, "It is over", "Its run is over, or went on without it.")
        }
    };
    let _ = write!(page.body, "<h2>What was asked</h2>{}", text(&request.body.prompt));
    page
}

/// The request, and what can be decided.
pub(super) fn question(request: &Request, link: &Link) -> Page {
    let asked = &request.body;
    let mut page = Page::new(StatusCode::OK, "Please decide", "");
    page.body = text(&asked.prompt);
    if !asked.reasons.is_empty() {
        page.body.push_str("<h2>Why it is asked</h2><ul>");
        for reason in &asked.reasons {
            let _ = write!(page.body, "<li>{}</li>", escaped(reason));
        }
        page.body.push_str("</ul>");
    }
    for name in ["summary", "diff", "detail"] {
        if let Some(part) = asked.preview.get(name).filter(|part| !part.is_null()) {
            let _ = write!(page.body, "<h2>Preview: {name}</h2>{}", block(part));
        }
    }
    if let Some(cost) = cost_in_words(&asked.preview["cost"]) {
        let _ = write!(page.body, "<h2>Preview: cost</h2><p>{}</p>", escaped(&cost));
    }
    let (title, about) = match asked.proposal() {
        Some(proposal) => ("What is proposed", proposal),
        None => ("What to know", &asked.context),
    };
    if !about.is_null() {
        let _ = write!(page.body, "<h2>{title}</h2>{}", block(about));
    }
    let _ = write!(
        page.body,
        "<p>For <b>{}</b>, until {}. Workflow {}, asked by {} at {}.</p>",
        escaped(link.person.as_str()),
        link.until.rfc3339(),
        escaped(&request.workflow),
        escaped(&asked.agent_path.join(" → ")),
        request.created_at.rfc3339(),
    );
    if let (Some(at), Some(then)) = (asked.expires_at, asked.on_timeout) {
        let (at, then) = (at.rfc3339(), then.in_words());
        let _ = write!(page.body, "<p>If nobody decides by {at}: {then}.</p>");
    }
    page.body.push_str(&form(asked, &link.decisions));
    page
}

/// A form with a button for each decision. It is sent to where the page is.
fn form(asked: &RequestBody, decisions: &[DecisionKind]) -> String {
    let mut form = "<form method=\"post\" autocomplete=\"off\">".to_owned();
    let responds = decisions.contains(&DecisionKind::Respond);
    if responds {
        for (n, choice) in (1..).zip(&asked.options) {
            let about = choice.description.as_deref().unwrap_or_default();
            let _ = write!(
                form,
                "<p><label><input type=\"radio\" name=\"option\" value=\"{n}\"> {}</label> {}</p>",
                escaped(&choice.label),
                escaped(about),
            );
        }
    }
    let label = match responds && asked.options.is_empty() {
        true if takes_text(asked) => "Your answer, or a reason",
        true => "Your answer as JSON, or a reason",
        false => "A reason or a remark, if you like",
    };
    let _ =
        write!(form, "<p><label>{label}<textarea name=\"text\" rows=\"4\"></textarea></label></p>");
    for kind in decisions {
        let _ = write!(form, "<button name=\"decision\" value=\"{kind}\">{}</button>", word(*kind));
    }
    form.push_str("</form>");
    form
}

/// What stands on a button.
fn word(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Respond => "Answer",
        DecisionKind::Approve => "Approve",
        DecisionKind::Edit => "Change",
        DecisionKind::Reject => "Reject",
        DecisionKind::Revise => "Ask for changes",
        DecisionKind::Redo => "Do it again",
        DecisionKind::Retry => "Try again",
        DecisionKind::Skip => "Leave it out",
        DecisionKind::Rollback => "Undo what it did",
        DecisionKind::Abort => "Stop the run",
    }
}

/// Whether an answer is plain text.
pub(super) fn takes_text(asked: &RequestBody) -> bool {
    asked.response_schema["type"].as_str().is_none_or(|kind| kind == "string")
}

/// A value as people read it.
fn block(value: &Value) -> String {
    match value {
        Value::String(said) => text(said),
        other => text(&serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}

fn text(said: &str) -> String {
    format!("<pre dir=\"auto\">{}</pre>", escaped(said))
}

/// Text that means nothing but itself.
fn escaped(said: &str) -> String {
    let mut safe = String::with_capacity(said.len());
    for c in clean(said, usize::MAX).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
