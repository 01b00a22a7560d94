//! The real binary, killed at every commit and at any moment, and raced against itself: whatever it
//! was told and whatever it showed is there afterwards, once.

// What goes wrong here fails a test, and what is printed says how it went.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "crash/every_commit.rs"]
mod every_commit;
#[path = "crash/random.rs"]
mod random;
#[path = "crash/support.rs"]
mod support;
#[path = "crash/together.rs"]
mod together;
