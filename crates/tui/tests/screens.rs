//! Every screen and every state of it, as a terminal shows it.

#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

#[path = "screens/chat.rs"]
mod chat;
#[path = "screens/forms.rs"]
mod forms;
#[path = "screens/inbox.rs"]
mod inbox;
#[path = "screens/many.rs"]
mod many;
#[path = "screens/support.rs"]
mod support;
