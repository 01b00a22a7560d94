//! Links by which one person decides one request without signing in: in a mail, in a chat.
//!
//! A link says by itself what it is for (`token`), so nothing is kept of it. It counts for one version of a request, and
//! a decision or a vote makes another version of it: so it is used once. Opening one (`GET`) changes nothing, since
//! programs open links too.

mod decide;
mod make;
mod page;
mod token;

pub(crate) use make::{LONGEST, Wanted, link};

use crate::api::Api;

/// The name of the secret that signs links.
pub(crate) const SECRET: &str = "links";

/// Adds the routes of links.
pub(crate) fn routes(api: Api) -> Api {
    decide::routes(make::routes(api))
}
