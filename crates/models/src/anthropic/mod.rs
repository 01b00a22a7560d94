//! Anthropic's Messages API.

pub(crate) mod request;
pub(crate) mod stream;

/// The version of the API that is spoken.
pub(crate) const VERSION: &str = "2023-06-01";
