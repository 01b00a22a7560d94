//! `signoff doctor`: looks at everything this data directory depends on, and says what to do about what is wrong.

mod files;
mod store;

use serde::Serialize;
use serde_json::json;

use crate::app::App;
use crate::failure::{Exit, Result};
use crate::out;
use crate::show::table;
use crate::style::{Style, printable_line};

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Warn,
    Fail,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What was found of one thing.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, state: State::Ok, found: found.into(), hint: None }
    }

    fn warn(check: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, state: State::Warn, found: found.into(), hint: Some(hint.into()) }
    }

    fn fail(check: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, state: State::Fail, found: found.into(), hint: Some(hint.into()) }
    }

    /// What an error says, with its own hint or this.
    fn error(check: &'static str, error: &anyhow::Error, hint: &str) -> Self {
        let failure = error.downcast_ref::<crate::failure::Failure>();
        let own = failure.and_then(|failure| failure.hint.clone());
        Self::fail(check, format!("{error:#}"), own.unwrap_or_else(|| hint.to_owned()))
    }
}

pub(crate) fn perform(app: &App, json: bool) -> Result<Exit> {
    let mut findings = files::look(app);
    findings.extend(store::look(app));
    let worst = findings.iter().map(|it| it.state).max().unwrap_or(State::Ok);
    if json {
        out::json_line(&json!({ "state": worst, "checks": findings }))?;
    } else {
        show(&findings, worst)?;
    }
    Ok(if worst == State::Fail { Exit::Failed } else { Exit::Done })
}

fn show(findings: &[Finding], worst: State) -> Result<()> {
    let rows: Vec<Vec<String>> = findings
        .iter()
        .map(|it| {
            let mut lines = it.found.lines();
            let first = lines.next().unwrap_or_default();
            let more = lines.next().map_or("", |_| " …");
            vec![
                it.state.word().to_owned(),
                it.check.to_owned(),
                format!("{}{more}", printable_line(first)),
            ]
        })
        .collect();
    let style = Style::stdout();
    for (n, line) in table(&["STATE", "CHECK", "FOUND"], &rows).lines().enumerate() {
        let finding = n.checked_sub(1).and_then(|n| findings.get(n));
        let line = match finding.map(|it| it.state) {
            None => style.dim(line),
            Some(State::Ok) => line.to_owned(),
            Some(State::Warn) => style.warn(line),
            Some(State::Fail) => style.bad(line),
        };
        out::line(&line)?;
        if let Some(hint) = finding.and_then(|it| it.hint.as_deref()) {
            out::line(&format!("       {} {}", style.dim("hint:"), printable_line(hint)))?;
        }
    }
    let count = |state| findings.iter().filter(|it| it.state == state).count();
    let (fail, warn) = (count(State::Fail), count(State::Warn));
    out::line(&match worst {
        State::Ok => "\nAll is well.".to_owned(),
        _ => format!("\n{fail} failed, {warn} to look at."),
    })?;
    Ok(())
}
