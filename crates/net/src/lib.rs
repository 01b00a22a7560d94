//! The one guarded way out of the process over HTTP.
//!
//! Model providers, the HTTP tool, MCP and A2A clients all go through [`Client`], so that one place decides
//! which addresses may be reached and how much may come back:
//!
//! - Every address a name resolves to is checked, and the address that was checked is the one connected to.
//!   Addresses written in the URL are checked as well.
//! - Redirects are off unless asked for, and then each hop is checked like the first.
//! - There are no cookies, no compression and no proxy from the environment.
//! - Connecting, the first byte, each further byte and the whole exchange have their time limits, and the
//!   response has a size limit that holds while it streams.
//! - An error names the host at most: never a query, a header, or a body.

mod address;
#[cfg(test)]
mod address_tests;
mod client;
mod error;
mod policy;
mod resolver;
mod response;
mod secret;
pub mod sse;

pub use address::{Zone, zone};
pub use client::{Client, Request};
pub use error::NetError;
pub use policy::{Policy, Private};
pub use reqwest::header;
pub use reqwest::{Method, StatusCode, Url};
pub use resolver::{Lookup, SystemLookup};
pub use response::Response;
pub use secret::Secret;
