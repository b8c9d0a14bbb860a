//! Six tools with short names.

use tool_runtime::{Registry, registry::BuildError, registry::RegistryBuilder};

use crate::{FileTools, ShellTools, files::DefaultFileTools, shell::ForegroundShell};

/// The small set: `bash`, `read_file`, `write_file`, `edit_file`, `list_files` and `search`.
///
/// ```
/// use tool_builtins::{FileTools, ShellTools, sets::DefaultTools};
///
/// let folder = tempfile::tempdir()?;
/// let tools = DefaultTools::new(FileTools::new(folder.path())?, ShellTools::new(folder.path())?).into_registry()?;
/// assert_eq!(tools.len(), 6);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DefaultTools {
    files: FileTools,
    shell: ShellTools,
}

impl DefaultTools {
    /// The tools of the folders of `files` and of the folder of `shell`.
    #[must_use]
    pub fn new(files: FileTools, shell: ShellTools) -> Self {
        Self { files, shell }
    }

    /// Adds the tools to those of a program.
    pub fn add_to(self, builder: RegistryBuilder) -> RegistryBuilder {
        builder.toolset(ForegroundShell(self.shell)).toolset(DefaultFileTools::new(self.files))
    }

    /// The tools alone.
    ///
    /// # Errors
    ///
    /// None that a program can cause; a registry is built.
    pub fn into_registry(self) -> Result<Registry, BuildError> {
        self.add_to(Registry::builder()).build()
    }

    /// An executor of the tools, with the rules of [`conservative`](crate::conservative): reading runs without a question, and
    /// `person` is asked about everything else. Further settings may be added.
    ///
    /// # Errors
    ///
    /// As [`into_registry`](Self::into_registry).
    #[cfg(feature = "command-policy")]
    pub fn conservative(
        self,
        person: impl tool_runtime::policy::Approver + 'static,
    ) -> Result<tool_runtime::executor::ExecutorBuilder, BuildError> {
        Ok(super::conservative_executor(self.into_registry()?, person))
    }
}
