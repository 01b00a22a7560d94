//! The tools that change files, with whatever an agent may send them and whatever may stand in a file.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use signoff_tools::{Builtin, FileSettings, Tool};

/// A workspace for the length of the process, its tools, and what they run on.
struct Workspace {
    file: PathBuf,
    tools: Vec<Arc<dyn Tool>>,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

static WORKSPACE: LazyLock<Option<Workspace>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().ok()?;
    let files = Some(FileSettings::new(folder.path()));
    let tools = Builtin { files, command: None, http: None }.tools(folder.path()).ok()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().ok()?;
    Some(Workspace { file: folder.path().join("a.txt"), tools, runtime, _folder: folder })
});

impl Workspace {
    /// What the tool shows of what it would do.
    fn preview(&self, tool: &str, arguments: &Value) -> Option<Value> {
        let tool = self.tools.iter().find(|it| *it.spec().name == *tool)?;
        self.runtime.block_on(tool.preview(arguments)).ok()?
    }
}

/// What a file has and what it shall have are any two texts.
pub(crate) fn changes(bytes: &[u8]) {
    let workspace = WORKSPACE.as_ref();
    assert!(workspace.is_some(), "there is a workspace");
    let Some(workspace) = workspace else { return };
    let (before, after) = bytes.split_at(bytes.len() / 2);
    assert!(std::fs::write(&workspace.file, before).is_ok(), "there is a file");
    let is_text = std::str::from_utf8(before).is_ok();
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let shown = workspace.preview("write_file", &json!({ "path": "a.txt", "content": after }));
    if before != after && is_text {
        assert!(shown.is_some(), "a change can be shown");
    }
    let old = before.lines().next().unwrap_or_default();
    let edit = json!({ "path": "a.txt", "old_text": old, "new_text": after, "all": true });
    let _ = workspace.preview("edit_file", &edit);
}

/// What an agent sends is any JSON.
pub(crate) fn files(bytes: &[u8]) {
    let Ok(arguments) = serde_json::from_slice::<Value>(bytes) else { return };
    let Some(workspace) = WORKSPACE.as_ref() else { return };
    for tool in ["write_file", "edit_file", "delete_file", "read_file", "list_files"] {
        if let Some(shown) = workspace.preview(tool, &arguments) {
            assert!(!shown.to_string().contains("root:x:0"), "nothing outside is shown");
        }
    }
}
