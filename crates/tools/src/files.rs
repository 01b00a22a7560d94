//! Files of the workspace: the five tools that read and change them.
//!
//! They reach what is below one root and nothing else ([`root`] says how), never wait for a pipe or a
//! device, and give back no more than a result may hold. Those that change something can show beforehand
//! what they would change, and can be held to what was shown by the digest of what was there.

mod change;
mod delete;
mod edit;
mod list;
mod path;
mod read;
mod root;
#[cfg(test)]
mod tests;
mod undo;
mod write;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::{Span, ToolSpec};

use crate::builtin::FileSettings;
use crate::tool::{BoxFuture, Invocation, Tool, ToolError};
use path::Relative;
pub(crate) use root::Root;

/// The file tools of `settings`, whose root is relative to `folder`.
pub(crate) fn tools(settings: &FileSettings, folder: &Path) -> Result<Vec<Arc<dyn Tool>>, String> {
    let root = Root::open(&folder.join(&settings.root), &settings.deny);
    let root = Arc::new(root.map_err(|problem| {
        if problem.starts_with("tools.") { problem } else { format!("tools.files.root: {problem}") }
    })?);
    let tool = |spec, act: Act, change: Option<Change>| -> Arc<dyn Tool> {
        Arc::new(FileTool { spec, root: Arc::clone(&root), act, change })
    };
    let change = |preview: Show, leaves: Leaves| Some(Change { preview, leaves });
    let mut tools =
        vec![tool(read::spec(), read::call, None), tool(list::spec(), list::call, None)];
    if !settings.read_only {
        tools.push(tool(write::spec(), write::call, change(write::preview, write::leaves)));
        tools.push(tool(edit::spec(), edit::call, change(edit::preview, edit::leaves)));
        tools.push(tool(delete::spec(), delete::call, change(delete::preview, delete::leaves)));
    }
    Ok(tools)
}

type Act = fn(&Root, &Invocation) -> Result<Value, ToolError>;
type Show = fn(&Root, &Value) -> Result<Value, ToolError>;
/// The file that a call is about, and the digest of what it leaves there. None, if it is not about a file.
type Leaves = fn(&Root, &Value) -> Result<Option<(Relative, String)>, ToolError>;

/// What a tool that changes something knows about its calls before they are made.
#[derive(Clone, Copy, Debug)]
struct Change {
    preview: Show,
    leaves: Leaves,
}

#[derive(Debug)]
struct FileTool {
    spec: ToolSpec,
    root: Arc<Root>,
    act: Act,
    change: Option<Change>,
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        let (root, act) = (Arc::clone(&self.root), self.act);
        Box::pin(aside(move || act(&root, &invocation)))
    }

    fn preview(&self, arguments: &Value) -> BoxFuture<'_, Result<Option<Value>, ToolError>> {
        let Some(change) = self.change else { return Box::pin(async { Ok(None) }) };
        let (root, arguments) = (Arc::clone(&self.root), arguments.clone());
        Box::pin(aside(move || (change.preview)(&root, &arguments).map(Some)))
    }

    fn before(&self, arguments: &Value) -> BoxFuture<'_, Result<Option<Value>, ToolError>> {
        let Some(change) = self.change else { return Box::pin(async { Ok(None) }) };
        let (root, arguments) = (Arc::clone(&self.root), arguments.clone());
        Box::pin(aside(move || match (change.leaves)(&root, &arguments)? {
            Some((path, leaves)) => undo::keep(&root, &path, leaves),
            None => Ok(None),
        }))
    }

    fn undo(&self, before: &Value) -> BoxFuture<'_, Result<String, ToolError>> {
        let (root, before) = (Arc::clone(&self.root), before.clone());
        Box::pin(aside(move || undo::undo(&root, &before)))
    }

    fn timeout(&self) -> Span {
        Span::seconds(120)
    }
}

/// Disks take their time; the threads that run everything else must not wait for them.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(ToolError::new("tool_panicked", error.to_string())))
}

fn path_property() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 1024,
            "description": "Relative to the workspace, with `/` between names: docs/plan.md. Links and `..` are not followed." })
}

fn digest_property() -> Value {
    json!({ "type": "string", "pattern": "^(absent|sha256:[0-9a-f]{64})$",
            "description": "The file's digest as read_file gave it, or `absent` if it must not exist yet: the call is refused if that is no longer so." })
}
