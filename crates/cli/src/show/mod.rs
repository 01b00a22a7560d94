//! Things as people read them.

mod journal;
mod request;
mod table;
mod time;
mod value;

pub(crate) use journal::{JournalReader, What};
pub(crate) use request::{decision, request};
pub(crate) use table::table;
pub(crate) use time::{ago, local};
pub(crate) use value::{fields, plain};
