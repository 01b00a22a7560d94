//! `run_command`: a program with its arguments, in a folder of the workspace, within limits.
//!
//! There is no shell in between, nothing to read from, and no environment but what the operator lets
//! through. A command is ended with everything it started in its process group. It is *not* a sandbox: a
//! program can do what the user who runs signoff can do; gates decide which commands are run at all.

mod deletes;
mod output;
mod program;
mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::{Effects, Span, ToolSpec};

use crate::builtin::{self, CommandSettings, FileSettings, arguments};
use crate::files::{Root, aside};
use crate::tool::{BoxFuture, Invocation, Tool, ToolError};
use program::{Programs, Resolved};

/// The environment variables that every command gets.
const PASSED: [&str; 9] =
    ["PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR"];
/// Where programs are looked for if there is no `PATH`.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The longest time that can be set.
const MAX_TIMEOUT: Span = Span::seconds(24 * 3600);

/// `run_command` as `settings` allow it, below the folder `root`.
pub(crate) fn tool(settings: &CommandSettings, root: &Path) -> Result<Arc<dyn Tool>, String> {
    let root = Root::open(root, &FileSettings::default_deny())
        .map_err(|problem| format!("tools.command.root: {problem}"))?;
    if settings.timeout < Span::seconds(1) || settings.timeout > MAX_TIMEOUT {
        return Err(format!("tools.command.timeout: it must be between 1s and {MAX_TIMEOUT}"));
    }
    if !(1024..=96 * 1024).contains(&settings.max_output) {
        return Err("tools.command.max_output: it must be between 1024 and 98304".to_owned());
    }
    for name in settings.env.iter().chain(settings.set.keys()) {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("tools.command.env: `{name}` is not the name of a variable"));
        }
    }
    let programs = Programs::new(&settings.allow)?;
    let spec = spec(&programs, settings.timeout);
    Ok(Arc::new(RunCommand { spec, root, programs, settings: settings.clone() }))
}

#[derive(Debug)]
struct RunCommand {
    spec: ToolSpec,
    root: Root,
    programs: Programs,
    settings: CommandSettings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    argv: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    timeout_seconds: Option<u64>,
}

/// A command that may be run.
struct Prepared {
    program: Resolved,
    arguments: Vec<String>,
    /// Where it runs, open: nobody can exchange it any more.
    folder: OwnedFd,
    shown_folder: String,
    environment: BTreeMap<OsString, OsString>,
    limit: Span,
}

impl RunCommand {
    fn prepare(&self, given: &Value) -> Result<Prepared, ToolError> {
        let wanted: Run = arguments(given)?;
        let Some((program, arguments)) = wanted.argv.split_first() else {
            return Err(ToolError::new("bad_arguments", "argv is empty"));
        };
        if wanted.argv.iter().any(|argument| argument.contains('\0')) {
            return Err(ToolError::new("bad_arguments", "an argument holds a zero byte"));
        }
        let environment = self.environment();
        let path = environment.get(&OsString::from("PATH"));
        let program =
            self.programs.resolve(program, path.map_or(PATH.as_ref(), OsString::as_os_str))?;
        let folder = self.root.path(wanted.cwd.as_deref().unwrap_or("."))?;
        let asked = wanted
            .timeout_seconds
            .map_or(self.settings.timeout, |seconds| Span(seconds.saturating_mul(1000)));
        Ok(Prepared {
            program,
            arguments: arguments.to_vec(),
            shown_folder: folder.to_string(),
            folder: self.root.folder(&folder)?,
            environment,
            limit: asked.min(self.settings.timeout),
        })
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        let passed = PASSED.into_iter().chain(self.settings.env.iter().map(String::as_str));
        let mut environment: BTreeMap<_, _> =
            passed.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
        for (name, value) in &self.settings.set {
            environment.insert(name.into(), value.into());
        }
        environment
    }
}

impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let prepared = self.prepare(&invocation.arguments)?;
            run::run(prepared, self.settings.max_output).await
        })
    }

    fn preview(&self, arguments: &Value) -> BoxFuture<'_, Result<Option<Value>, ToolError>> {
        let prepared = self.prepare(arguments);
        Box::pin(aside(move || {
            let prepared = prepared?;
            let argv: Vec<&str> = std::iter::once(prepared.program.name.as_str())
                .chain(prepared.arguments.iter().map(String::as_str))
                .collect();
            let line = argv.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(" ");
            let mut shown = json!({
                "summary": format!("Run {line}"),
                "detail": format!(
                    "program: {}\nfolder: {}\ntime: at most {}",
                    prepared.program.path.display(), prepared.shown_folder, prepared.limit
                ),
                "argv": argv,
            });
            let (program, folder) = (&prepared.program.name, &prepared.folder);
            if let Some(files) = deletes::affected(program, &prepared.arguments, folder) {
                shown["files"] = files;
            }
            Ok(Some(shown))
        }))
    }

    fn timeout(&self) -> Span {
        // The command's own limit is found first, and keeps what was written until then.
        Span(self.settings.timeout.0 + 15_000)
    }
}

/// An argument as a person can tell it from its neighbours.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("{argument:?}")
}

fn spec(programs: &Programs, timeout: Span) -> ToolSpec {
    let effects =
        Effects { execute: true, destructive: true, open_world: true, ..Effects::default() };
    let properties = json!({
        "argv": {
            "type": "array", "minItems": 1, "maxItems": 1000,
            "items": { "type": "string", "maxLength": 65536 },
            "description": "The program and its arguments, one by one: [\"git\", \"log\", \"-n\", \"5\"]. There is no shell: no pipes, no redirections, no wildcards, no variables."
        },
        "cwd": { "type": "string", "maxLength": 1024, "description": "The folder to run in, relative to the workspace; the workspace itself if not given." },
        "timeout_seconds": { "type": "integer", "minimum": 1, "maximum": 86400, "description": format!("How long it may run; {timeout} if not given, and never longer.") },
    });
    let description = format!(
        "Run a program in the workspace and wait for its end. {programs} It reads nothing from its input. \
         Of long output the beginning and the end are kept. The result has `exit_code`, or `signal` if it \
         was killed, `stdout` and `stderr`; `timed_out` if it took too long and was ended. What it leaves \
         running in the background is ended with it."
    );
    builtin::spec("run_command", &description, &properties, &["argv"], effects)
}
