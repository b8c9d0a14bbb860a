//! Eleven tools under the names and with the arguments of coding agents, on which models were trained.

use tool_runtime::{
    Registry,
    registry::{BuildError, RegistryBuilder},
    toolset::NamedTools,
};

use crate::{FileTools, ShellTools, WebTools, files::CodingFileTools, shell::CodingShell, web::CodingWeb};

/// The tools of coding agents: `Bash`, `TaskOutput`, `TaskStop`, `Read`, `Glob`, `Grep`, `WebFetch` and `WebSearch`, and with
/// `read_only(false)` also `Write`, `Edit` and `NotebookEdit`.
///
/// Options of files, shell and web are those of the parts: sizes, the sandbox, domains, the search engine.
///
/// ```
/// use tool_builtins::{FileTools, ShellTools, WebTools, sets::CodingTools};
/// use tool_runtime::policy::{Approval, ApprovalRequest};
///
/// let folder = tempfile::tempdir()?;
/// let files = FileTools::new(folder.path())?;
/// let shell = ShellTools::new(files.base_folder())?;
/// let tools = CodingTools::new(files, shell, WebTools::builder().build()?).read_only(false);
/// assert_eq!(tools.clone().into_registry()?.len(), 11);
///
/// // With rules: reading runs without a question, and a person is asked about everything else.
/// let person = |_: &ApprovalRequest| Approval::Rejected("not now".to_owned());
/// # #[cfg(feature = "command-policy")]
/// let executor = tools.conservative(person)?.build()?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CodingTools {
    files: CodingFileTools,
    shell: ShellTools,
    web: WebTools,
}

impl CodingTools {
    /// The tools of the folders of `files`, of the folder of `shell`, which is usually the
    /// [base folder](FileTools::base_folder) of `files`, and of `web`. Default: files are only read.
    #[must_use]
    pub fn new(files: FileTools, shell: ShellTools, web: WebTools) -> Self {
        Self { files: CodingFileTools::new(files), shell, web }
    }

    /// Sets the name of the set. A blank one is the default, `claudecode`.
    #[must_use]
    pub fn with_name(mut self, name: impl AsRef<str>) -> Self {
        self.files = self.files.with_name(name);
        self
    }

    /// The name of the set.
    #[must_use]
    pub fn name(&self) -> &str {
        self.files.name()
    }

    /// Leaves out the tools that change files; a command of `Bash` may change those of its folder. Default: `true`.
    #[must_use]
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.files = self.files.read_only(is_read_only);
        self
    }

    /// Adds the tools to those of a program.
    pub fn add_to(self, builder: RegistryBuilder) -> RegistryBuilder {
        let builder = builder.toolset(CodingShell(self.shell)).toolset(CodingWeb(self.web));
        self.files.add_to(builder)
    }

    /// The tools alone.
    ///
    /// # Errors
    ///
    /// None that a program can cause; a registry is built.
    pub fn into_registry(self) -> Result<Registry, BuildError> {
        self.add_to(Registry::builder()).build()
    }

    /// The tools as a set with the [name](Self::name), for a `Toolbox`.
    ///
    /// # Errors
    ///
    /// As [`into_registry`](Self::into_registry).
    pub fn into_toolset(self) -> Result<NamedTools, BuildError> {
        let name = self.name().to_owned();
        Ok(crate::files::toolset_of_registry(name, &self.into_registry()?))
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

    /// Ends all background tasks, and returns when they have ended.
    pub async fn close(&self) {
        self.shell.close().await;
    }
}
