//! Traces of what this process drives, if the environment says where they go.

use std::sync::{Arc, Mutex, PoisonError};

use signoff_runtime::Engine;
use signoff_traces::{Config, ConfigError, Counts, Traces};

use crate::env;
use crate::failure::{Failure, Result};
use crate::out;
use crate::style::printable_line;

/// The traces of this process. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracing {
    under_way: Arc<Mutex<Option<Traces>>>,
    counts: Arc<Counts>,
}

impl Tracing {
    /// The host that spans are sent to, if there is one, or what is wrong with the environment. For whoever sets
    /// up a server; other commands only mention it.
    pub(crate) fn host() -> Result<Option<String>> {
        let config = config().map_err(|error| {
            let hint = format!("{}=true turns traces off", env::OTEL_SDK_DISABLED.name);
            Failure::usage(printable_line(&error.to_string())).hint(hint)
        })?;
        Ok(config.map(|config| config.host().to_owned()))
    }

    /// Sends what `engine` does from now on, if there is somewhere to send it.
    pub(crate) fn start(&self, engine: &Engine) {
        match config() {
            Ok(None) => {}
            Ok(Some(config)) => {
                let traces = Traces::start(engine, config, Arc::clone(&self.counts));
                *self.under_way.lock().unwrap_or_else(PoisonError::into_inner) = Some(traces);
            }
            // Work is not refused because of what may be meant for other programs.
            Err(error) => out::note(&printable_line(&format!("no traces are sent: {error}"))),
        }
    }

    /// What became of spans.
    pub(crate) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Sends what is left, for a moment.
    pub(crate) async fn finish(&self) {
        if let Some(traces) = self.take() {
            traces.finish().await;
        }
    }

    /// Leaves what is left.
    pub(crate) fn abandon(&self) {
        drop(self.take());
    }

    fn take(&self) -> Option<Traces> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn config() -> std::result::Result<Option<Config>, ConfigError> {
    Config::read(&|name| {
        let known = env::ALL.iter().find(|variable| variable.name == name)?;
        std::env::var(known.name).ok()
    })
}
