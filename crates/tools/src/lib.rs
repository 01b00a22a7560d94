//! Tools an agent can call, with their effects declared.

mod calendar;
mod canned;
mod tool;
mod user_input;

pub use calendar::Calendar;
pub use canned::Canned;
pub use tool::{
    BoxFuture, FnTool, Invocation, Round, Tool, ToolError, ToolQuestion, ToolReply, ToolSource,
};
pub use user_input::{REQUEST_USER_INPUT, UserInput, request_user_input};
