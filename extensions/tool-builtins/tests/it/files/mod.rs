//! Files below a folder.

mod command_line;
mod edits;
mod escapes;
mod full;
mod hostile;
mod line_ends;
mod lists;
mod media;
mod model;
mod notebook_edits;
mod notebooks;
mod pages;
mod payloads;
#[cfg(unix)]
mod races;
mod reads;
mod refusals;
mod roots;
mod search_forms;
mod searches;
mod sessions;
mod sets;
mod writes;

use std::{fs, path::PathBuf, sync::Arc};

use tempfile::TempDir;
use tool_builtins::FileTools;
use tool_runtime::prelude::*;

/// A folder with tools, and a secret beside it.
struct World {
    folder: TempDir,
    tools: Registry,
}

const SECRET: &str = "a secret outside of the folder";

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret.txt"), SECRET).unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        let files = FileTools::new(folder.path().join("root")).unwrap();
        Self { folder, tools: Registry::builder().toolset(files).build().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("root").join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The result for a run.
    async fn call_in(&self, run: &Arc<RunContext>, tool: &str, arguments: Value) -> Result<String, String> {
        let cx = self.tools.context_for(tool).unwrap().with_run(Arc::clone(run));
        let result = self.tools.call_in(&cx, arguments).await;
        result.map(|output| output.text().to_string()).map_err(|error| error.to_string())
    }

    /// The text of the result, or the message of the error.
    async fn call(&self, tool: &str, arguments: Value) -> Result<String, String> {
        match self.tools.call(tool, arguments).await {
            Ok(output) => Ok(output.text().to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn read(&self, path: &str) -> Result<String, String> {
        self.call("read_file", json!({ "path": path })).await
    }

    async fn edit(&self, path: &str, old_text: &str, new_text: &str) -> Result<String, String> {
        self.call("edit_file", json!({ "path": path, "old_text": old_text, "new_text": new_text })).await
    }

    async fn write_file(&self, path: &str, content: &str) -> Result<String, String> {
        self.call("write_file", json!({ "path": path, "content": content })).await
    }
}
