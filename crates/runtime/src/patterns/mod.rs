//! Ways for agents to work together, as plain code over a context.

pub(crate) mod coordinator;
