//! Things as people read them.

mod request;
mod table;
mod time;

pub(crate) use request::{around, request};
pub(crate) use signoff_tui::words::{JournalReader, What, ago, decision, fields, plain};
pub(crate) use table::table;
pub(crate) use time::local;
