//! Words from node to node, which may be lost.

use std::sync::Arc;

use tokio::sync::broadcast;

/// The longest word that is carried, in bytes.
pub const LONGEST_WORD: usize = 7_500;

/// Carries words to the other nodes on a store. Nothing is kept: who does not listen does not hear, and what is too long,
/// or too much at once, or said while a connection is gone, is lost. So nothing may depend on it that has to be known.
pub trait Wire: std::fmt::Debug + Send + Sync {
    /// Says words to all other nodes, some time soon.
    fn say(&self, words: Vec<String>);

    /// What other nodes say from now on. Whoever is too slow misses some.
    fn hear(&self) -> broadcast::Receiver<Arc<str>>;
}
