//! Every screen and every state of it, as a terminal shows it.

#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

#[path = "screens/chat.rs"]
mod chat;
#[path = "screens/decisions.rs"]
mod decisions;
#[path = "screens/forms.rs"]
mod forms;
#[path = "screens/inbox.rs"]
mod inbox;
#[path = "screens/inbox_states.rs"]
mod inbox_states;
#[path = "screens/many.rs"]
mod many;
#[path = "screens/pictures.rs"]
mod pictures;
#[path = "screens/scrolling.rs"]
mod scrolling;
#[path = "screens/states.rs"]
mod states;
#[path = "screens/support.rs"]
mod support;
#[path = "screens/svg.rs"]
mod svg;
#[path = "screens/talking.rs"]
mod talking;
