//! The inbox and the chat on a terminal.
//!
//! A screen is a state, which takes what it is told and says what is to be done (`update`), and a view of it (`draw`). Both are
//! pure. [`screen`] has the loops between them and a real terminal, and the performers talk to a server by
//! [`signoff_client`]. Nothing here knows how a run works, and no text from outside reaches the terminal but as text.

pub mod chat;
pub mod editor;
pub mod form;
pub mod inbox;
pub mod mark;
pub mod markdown;
pub mod measure;
mod overlay;
pub mod panel;
pub mod saved;
pub mod screen;
pub mod text;
pub mod theme;
mod transcript;
pub mod words;

pub use transcript::{RECENT_ENTRIES, Spoken, said_before};
