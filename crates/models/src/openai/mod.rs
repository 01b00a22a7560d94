//! The Responses API.

pub(crate) mod request;
pub(crate) mod stream;
