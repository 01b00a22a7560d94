//! The dialect of OpenAI's Responses and Conversations, for clients that speak nothing else.
//!
//! A response is a stretch of a run: from what was given to it, a start or a decision, to where it next
//! waits for people or is over. Its id says which stretch (`id`), and everything it has, events and
//! their numbers too, follows from the journal (`stretch`, `item`). So any process that has the store can
//! tell it, and nothing is kept here.

mod again;
mod answer;
mod begin;
mod checkpoint;
mod conversations;
mod decide;
mod events;
mod fault;
mod follow;
mod form;
mod id;
mod input;
mod item;
mod items;
mod object;
mod question;
mod responses;
mod restore;
mod said;
mod send;
mod sse;
mod stretch;

pub(crate) use answer::mapped;

use crate::api::Api;

/// Adds the routes of this dialect.
pub(crate) fn routes(api: Api) -> Api {
    send::routes(items::routes(conversations::routes(responses::routes(api))))
}
