//! Tools an agent can call, with their effects declared.

mod builtin;
mod calendar;
mod canned;
#[cfg(unix)]
mod command;
#[cfg(unix)]
mod files;
mod http;
mod remote;
mod tool;
mod user_input;

pub use builtin::{Builtin, CommandSettings, FileSettings, HeaderValue, HttpSettings};
pub use calendar::{Calendar, calendar_file};
pub use canned::Canned;
pub use remote::{
    Remote, RemoteAnswer, RemoteMessage, RemotePart, RemoteQuestion, RemoteState, RemoteTask,
    RemoteWatch,
};
pub use tool::{
    BoxFuture, FnTool, Invocation, Round, Tool, ToolError, ToolQuestion, ToolReply, ToolSource,
};
pub use user_input::{REQUEST_USER_INPUT, UserInput, request_user_input};
