//! The terminal itself: its modes, its keys, and the loop between it and a state.

mod chat;
mod inbox;
mod inline;
mod terminal;

use crossterm::event::KeyEvent;
use signoff_core::Timestamp;

pub use chat::{Behind, Left, chat};
pub use inbox::inbox;
pub use inline::{Inline, Pressed};
pub use terminal::Screen;

/// What comes from the terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A key.
    Key(KeyEvent),
    /// Text that was pasted.
    Paste(String),
    /// The terminal has another size.
    Resized,
    /// Whether somebody looks at the terminal.
    LookedAt(bool),
    /// The time.
    Tick(Timestamp),
}

/// What time it is, said by whoever may know.
pub type Now = fn() -> Timestamp;
