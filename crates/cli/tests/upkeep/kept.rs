//! A folder and the store that its commands work on.

use std::process::Command;

use serde_json::Value;
use signoff_testkit::postgres;

use crate::support::{Place, Server};

/// Where runs are kept.
pub(crate) struct Kept {
    pub(crate) place: Place,
    pub(crate) store: Option<String>,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Kept {
    pub(crate) fn in_sqlite() -> Self {
        Self { place: Place::new(), store: None }
    }

    pub(crate) fn in_postgres() -> Self {
        Self { place: Place::new(), store: Some(postgres::fresh()) }
    }

    /// One of each.
    pub(crate) fn both() -> [Self; 2] {
        [Self::in_sqlite(), Self::in_postgres()]
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.place.command(args);
        command.env_remove("PGPASSWORD");
        if let Some(store) = &self.store {
            command.env("SIGNOFF_STORE", store);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        said(&mut self.command(args))
    }

    pub(crate) fn serve(&self) -> Server {
        let store = self.store.iter().map(|store| ("SIGNOFF_STORE", store.as_str()));
        self.place.serve_in(&store.collect::<Vec<_>>(), &[])
    }
}

pub(crate) fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
