//! What the page of `DevUI`, from Microsoft's Agent Framework, needs besides Responses and Conversations
//! (`openai`): what there is to run, and the page itself, if the server was given one.

mod dump;
mod entities;
mod meta;
mod page;

pub use page::{Page, PageError};

use axum::Router;

use crate::api::Api;
use crate::app::App;

/// Adds the routes of this dialect.
pub(crate) fn routes(api: Api) -> Api {
    entities::routes(meta::routes(api))
}

/// Adds the page, which is no part of the API.
pub(crate) fn with_page(router: Router<App>) -> Router<App> {
    page::routes(router)
}
