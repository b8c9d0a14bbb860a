//! Temporary folders that commands write.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// A temporary folder whose content is hostile. Dropping it removes it, also what its owner may not change, and follows no
/// link.
#[derive(Debug)]
pub(crate) struct ScratchFolder {
    folder: TempDir,
}

impl ScratchFolder {
    /// Makes a folder whose name begins with `prefix`.
    ///
    /// # Errors
    ///
    /// Returns an error if the temporary folder of the system cannot be written.
    pub(crate) fn create(prefix: &str) -> io::Result<Self> {
        // Guards know paths without links.
        let parent = std::env::temp_dir().canonicalize()?;
        Ok(Self { folder: tempfile::Builder::new().prefix(prefix).tempdir_in(parent)? })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes all that is in it. Blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if something is left.
    pub(crate) fn clear(&self) -> io::Result<()> {
        remove_contents(self.path())
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // The empty folder is removed after this.
        let _ = self.clear();
    }
}

/// Runs work that blocks for a bounded time on a thread for it.
#[cfg(any(feature = "code", feature = "files", feature = "web"))]
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    #[expect(clippy::disallowed_methods, reason = "the call waits for it, and it ends by itself")]
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// The paths of one command that removes them.
#[cfg(unix)]
const MAX_REMOVED_PATHS: usize = 200;

/// Removes all that is below `folder`. The tree may be deeper than a stack: `rm` follows no link and does not recurse.
fn remove_contents(folder: &Path) -> io::Result<()> {
    let entries: Vec<PathBuf> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    if entries.is_empty() {
        return Ok(());
    }
    #[cfg(unix)]
    {
        let run_quietly = |name: &str, options: &[&str], paths: &[PathBuf]| {
            let program = super::system_program(name)
                .ok_or_else(|| io::Error::other(format!("there is no `{name}`")))?;
            let mut command = std::process::Command::new(program);
            command.args(options).args(paths).stdin(std::process::Stdio::null());
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status()
        };
        // Folders that their owner may not change. The folder itself: a link among the arguments would be followed.
        run_quietly("chmod", &["-R", "u+rwX", "--"], &[folder.to_owned()])?;
        for some in entries.chunks(MAX_REMOVED_PATHS) {
            run_quietly("rm", &["-rf", "--"], some)?;
        }
    }
    #[cfg(not(unix))]
    for entry in entries {
        fs::remove_dir_all(entry)?;
    }
    match fs::read_dir(folder)?.next() {
        None => Ok(()),
        Some(_) => Err(io::Error::other("a file or folder of an earlier command cannot be removed")),
    }
}
