//! What the server writes about itself, to standard error.

use std::backtrace::Backtrace;
use std::panic::PanicHookInfo;

use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;
use crate::failure::{Failure, Result};
use crate::style::printable_line;

/// Begins to write what `filter` lets through. Neither what people said nor what opens doors is written.
pub(crate) fn begin(filter: &str, format: LogFormat) -> Result<()> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::usage(format!("--log: {}", printable_line(&error.to_string())))
            .hint("error, warn, info, debug or trace; or for one part: signoff_server=debug")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let begun = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => {
            // Whoever reads the lines can read every one of them.
            std::panic::set_hook(Box::new(panicked));
            log.json().with_current_span(false).with_span_list(false).try_init()
        }
    };
    begun.map_err(|error| anyhow::anyhow!("{error}"))
}

/// A panic as one line of the log, with where it was if the environment asks for that.
fn panicked(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("a panic without words");
    let place = panic.location().map(ToString::to_string);
    let trace = Backtrace::capture();
    let trace =
        (trace.status() == std::backtrace::BacktraceStatus::Captured).then(|| trace.to_string());
    tracing::error!(panic = message, place, trace, "something panicked");
}
