//! Workflow files from outside: what is accepted, what is refused, and in which words.

#[path = "workflow/answers.rs"]
mod answers;
#[path = "workflow/files.rs"]
mod files;
#[path = "workflow/fuzz.rs"]
mod fuzz;
#[path = "workflow/graph.rs"]
mod graph;
#[path = "workflow/link.rs"]
mod link;
#[path = "workflow/remote.rs"]
mod remote;
#[path = "workflow/schemas.rs"]
mod schemas;
#[path = "workflow/shape.rs"]
mod shape;
#[path = "workflow/support.rs"]
mod support;
#[path = "workflow/text.rs"]
mod text;
#[path = "workflow/version.rs"]
mod version;
