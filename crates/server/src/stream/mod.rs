//! The journals of runs as they grow, for any number of listeners.
//!
//! [`Hub`] hears of everything this process commits and hands it to those who listen to that run; what
//! other processes commit it finds in the store. [`Tail`] is one listener's way through one journal. It
//! knows how far it came; whenever it is in doubt it reads the store, so that a slow listener costs a
//! read and never memory. [`sse`] writes it as server-sent events; other dialects write it otherwise.
//! [`Inbox`] tells what happens to requests, of all runs at once. `exchange` brings live text of runs that another node drives.

mod desk;
mod exchange;
mod following;
mod hub;
mod inbox;
mod places;
mod rest;
pub(crate) mod sse;
mod tail;
mod word;

pub(crate) use following::{Following, Step};
pub(crate) use hub::{Hub, Subscription};
pub(crate) use inbox::{Change, Heard, Inbox, Listener, What};
pub(crate) use places::Places;
pub(crate) use rest::{Rest, resting};
pub(crate) use tail::{Next, Tail, Told};
