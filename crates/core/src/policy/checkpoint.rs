//! Checkpoints that can be named: actions that people commonly want to be asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, ActionKind};

/// An action that a person is asked for, by its common name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Checkpoint {
    /// A plan, before it is carried out.
    AfterPlanning,
    /// Anything that changes files.
    BeforeFileEdit,
    /// Anything that deletes files.
    BeforeFileDelete,
    /// Any program.
    BeforeExecution,
    /// Installing programs or libraries.
    BeforeInstall,
    /// Anything that uses the network.
    BeforeNetwork,
    /// Bringing something to where people use it.
    BeforeDeploy,
    /// Anything that reaches other people.
    BeforeMessageOut,
}

impl Checkpoint {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::AfterPlanning,
        Self::BeforeFileEdit,
        Self::BeforeFileDelete,
        Self::BeforeExecution,
        Self::BeforeInstall,
        Self::BeforeNetwork,
        Self::BeforeDeploy,
        Self::BeforeMessageOut,
    ];

    /// The word used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AfterPlanning => "after_planning",
            Self::BeforeFileEdit => "before_file_edit",
            Self::BeforeFileDelete => "before_file_delete",
            Self::BeforeExecution => "before_execution",
            Self::BeforeInstall => "before_install",
            Self::BeforeNetwork => "before_network",
            Self::BeforeDeploy => "before_deploy",
            Self::BeforeMessageOut => "before_message_out",
        }
    }

    /// Whether it is about this action. What cannot be told counts.
    pub fn covers(self, action: &Action) -> bool {
        let effects = action.effects;
        let runs = || action.kind == ActionKind::Command;
        let unclear = action.opaque.is_some();
        match self {
            Self::AfterPlanning => action.kind == ActionKind::Plan,
            Self::BeforeFileEdit => {
                effects.file_edit || unclear || (runs() && changes_files(&action.command))
            }
            Self::BeforeFileDelete => {
                let writes = ["write", "edit", "create", "append", "patch", "replace", "save"];
                (effects.file_edit && effects.destructive && !named(action, &writes))
                    || unclear
                    || (runs() && deletes_files(&action.command))
            }
            Self::BeforeExecution => effects.execute || runs(),
            Self::BeforeInstall => unclear || (runs() && installs(&action.command)),
            Self::BeforeNetwork => {
                effects.network || unclear || (runs() && uses_network(&action.command))
            }
            Self::BeforeDeploy => {
                named(action, &["deploy", "release", "publish", "rollout"])
                    || unclear
                    || (runs() && deploys(&action.command))
            }
            Self::BeforeMessageOut => {
                let words = ["email", "mail", "message", "slack", "sms", "tweet", "notify", "post"];
                (named(action, &words) && !effects.read_only) || (runs() && sends(&action.command))
            }
        }
    }
}

/// Whether a word of the tool's name is one of these.
fn named(action: &Action, words: &[&str]) -> bool {
    let name = action.name.to_ascii_lowercase();
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| words.contains(&word))
}

fn program(words: &[String]) -> &str {
    words.first().map_or("", |first| first.rsplit('/').next().unwrap_or(first))
}

fn has(words: &[String], any: &[&str]) -> bool {
    words.iter().skip(1).any(|word| any.contains(&word.as_str()))
}

fn changes_files(words: &[String]) -> bool {
    const WRITERS: [&str; 18] = [
        "cp", "mv", "tee", "touch", "mkdir", "ln", "install", "dd", "truncate", "chmod", "chown",
        "patch", "rsync", "tar", "unzip", "gunzip", "gzip", "split",
    ];
    let edits = program(words) == "sed" && words.iter().any(|word| word.starts_with("-i"));
    let git = program(words) == "git"
        && has(
            words,
            &["checkout", "reset", "restore", "apply", "merge", "rebase", "pull", "stash", "clean"],
        );
    WRITERS.contains(&program(words)) || edits || git || deletes_files(words)
}

fn deletes_files(words: &[String]) -> bool {
    ["rm", "rmdir", "unlink", "shred"].contains(&program(words))
        || (program(words) == "git" && has(words, &["rm", "clean"]))
}

fn installs(words: &[String]) -> bool {
    match program(words) {
        "pip" | "pip3" | "pipx" | "brew" | "apt" | "apt-get" | "dnf" | "yum" | "apk" | "gem"
        | "go" | "cargo" | "npm" | "pnpm" | "yarn" | "bun" | "uv" => {
            has(words, &["install", "add", "i", "get", "upgrade", "ci"])
        }
        "npx" | "uvx" | "pacman" => true,
        _ => false,
    }
}

fn uses_network(words: &[String]) -> bool {
    const PROGRAMS: [&str; 12] = [
        "curl", "wget", "nc", "ncat", "telnet", "ftp", "sftp", "scp", "rsync", "ping", "dig",
        "http",
    ];
    let git = program(words) == "git" && has(words, &["push", "pull", "fetch", "clone"]);
    PROGRAMS.contains(&program(words)) || git || installs(words) || deploys(words)
}

fn deploys(words: &[String]) -> bool {
    match program(words) {
        "kubectl" | "helm" | "terraform" | "tofu" | "pulumi" => has(
            words,
            &["apply", "delete", "install", "upgrade", "up", "destroy", "rollout", "scale"],
        ),
        "docker" | "podman" | "git" | "nerdctl" => has(words, &["push"]),
        "npm" | "pnpm" | "yarn" | "cargo" | "twine" => has(words, &["publish", "upload"]),
        "vercel" | "netlify" | "fly" | "flyctl" | "heroku" | "ansible-playbook" | "serverless" => {
            true
        }
        _ => has(words, &["deploy"]),
    }
}

fn sends(words: &[String]) -> bool {
    ["mail", "sendmail", "mutt", "msmtp"].contains(&program(words))
}
