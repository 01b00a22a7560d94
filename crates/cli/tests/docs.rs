//! The documentation is true: what it shows runs, what it lists is all there is.

#![cfg(unix)] // its commands are those of a Unix shell
#![allow(clippy::unwrap_used, clippy::expect_used)] // what goes wrong here fails a test

#[path = "docs/codes.rs"]
mod codes;
#[path = "docs/deploy.rs"]
mod deploy;
#[path = "docs/examples.rs"]
mod examples;
#[path = "docs/page.rs"]
mod page;
#[path = "docs/reference.rs"]
mod reference;
#[path = "docs/security.rs"]
mod security;
#[path = "docs/shell.rs"]
mod shell;
#[path = "docs/supply.rs"]
mod supply;
