//! Things in words, as people read them: entries, requests, decisions, values, times.

mod journal;
mod request;
mod time;
mod value;

pub use journal::{JournalReader, What};
pub use request::{decision, facts, kind_title};
pub use time::{ago, rough, until};
pub use value::{fields, inline, plain};
