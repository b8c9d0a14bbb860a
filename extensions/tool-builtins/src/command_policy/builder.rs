//! The settings of a [`CommandPolicy`].

use super::{
    CommandPolicy,
    conservative::{READING_COMMANDS, rules_asking_about_reads},
    pattern::{CommandPattern, InvalidCommandRule},
};

/// The tool and the argument that hold a command, unless others are named.
const DEFAULT_TOOL: (&str, &str) = ("bash", "command");

/// Builds a [`CommandPolicy`].
#[derive(Debug, Clone)]
#[must_use]
pub struct CommandPolicyBuilder(CommandPolicy);

impl Default for CommandPolicyBuilder {
    fn default() -> Self {
        Self(CommandPolicy {
            tools: Vec::new(),
            allowed: Vec::new(),
            asked: Vec::new(),
            denied: Vec::new(),
            folder: None,
            allows_writes: false,
        })
    }
}

impl CommandPolicyBuilder {
    /// Allows the commands that the rule names, if nothing else in the text is asked about.
    ///
    /// # Errors
    ///
    /// Returns an error if `rule` is not the words of one command, does not begin with the name of a program, or would
    /// allow any program: one with `*` for `env`, `bash` and their like.
    pub fn allow(mut self, rule: &str) -> Result<Self, InvalidCommandRule> {
        self.0.allowed.push(CommandPattern::new_for_allowing(rule)?);
        Ok(self)
    }

    /// Asks for the commands that the rule names, also if another rule allows them.
    ///
    /// # Errors
    ///
    /// Returns an error if `rule` is not the words of one command.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_builtins::CommandPolicy;
    /// use tool_runtime::definition::Permission;
    ///
    /// let policy = CommandPolicy::builder().allow("cat *")?.ask("* *.env")?.build();
    /// assert_eq!(policy.judge("cat notes.txt"), Permission::Allow);
    /// assert_eq!(policy.judge("cat app/.env"), Permission::ask("the rule `* *.env` asks for `cat app/.env`"));
    /// # Ok::<(), tool_builtins::command_policy::InvalidCommandRule>(())
    /// ```
    pub fn ask(mut self, rule: &str) -> Result<Self, InvalidCommandRule> {
        self.0.asked.push(CommandPattern::new(rule)?);
        Ok(self)
    }

    /// Denies the commands that the rule names, also if another rule allows them.
    ///
    /// # Errors
    ///
    /// Returns an error if `rule` is not the words of one command.
    pub fn deny(mut self, rule: &str) -> Result<Self, InvalidCommandRule> {
        self.0.denied.push(CommandPattern::new(rule)?);
        Ok(self)
    }

    /// Allows commands that only read, and asks if they may read outside of the folder or secrets. More rules can follow.
    ///
    /// Allowed: `basename`, `cat`, `cd FOLDER`, `cmp`, `cut`, `date`, `df`, `dirname`, `du`, `echo`, `false`, `git blame`,
    /// `git branch`, `git diff`, `git log`, `git ls-files`, `git rev-parse`, `git show`, `git status`, `grep`, `head`, `id`,
    /// `ls`, `nl`, `nproc`, `pwd`, `readlink`, `realpath`, `stat`, `tail`, `test`, `[`, `tr`, `true`, `uname`, `wc`,
    /// `which`, `whoami`.
    ///
    /// Asked about: arguments that are absolute paths or contain `..`, those that look like secrets (`.env`, `*.pem`,
    /// `id_*`, `.ssh`, ..), `grep -r`, and options of `git` that write files or run programs. `git` runs what the
    /// configuration of the repository names. Links are not followed: a link in the folder may lead out.
    pub fn allow_reading(mut self) -> Self {
        self.0
            .allowed
            .extend(READING_COMMANDS.iter().filter_map(|rule| CommandPattern::new_for_allowing(rule).ok()));
        self.0
            .asked
            .extend(rules_asking_about_reads().iter().filter_map(|rule| CommandPattern::new(rule).ok()));
        self
    }

    /// Adds a tool whose argument `argument` is a command. The name is the one that a model sees, or the [raw
    /// name](tool_runtime::definition::ToolDefinition::raw_name). Default: `command` of `bash`; with one call of this
    /// method, only the named tools.
    pub fn tool(mut self, name: impl Into<String>, argument: impl Into<String>) -> Self {
        self.0.tools.push((name.into(), argument.into()));
        self
    }

    /// Sets the absolute path of the folder in which commands start. Redirections to absolute paths below it are clear.
    /// Default: none; only relative paths are clear. The comparison does not follow links.
    pub fn folder(mut self, folder: impl Into<String>) -> Self {
        let folder: String = folder.into();
        let folder = folder.trim_end_matches('/');
        self.0.folder = folder.starts_with('/').then(|| folder.to_owned());
        self
    }

    /// Allows redirections that write files below the folder: `>`, `>>`. Default: they are asked about.
    ///
    /// A file that is written may be a program or a configuration that an allowed program runs later, such as
    /// `.git/config`.
    pub fn allow_writes(mut self) -> Self {
        self.0.allows_writes = true;
        self
    }

    /// Builds the policy.
    #[must_use]
    pub fn build(mut self) -> CommandPolicy {
        if self.0.tools.is_empty() {
            let (tool, argument) = DEFAULT_TOOL;
            self.0.tools.push((tool.to_owned(), argument.to_owned()));
        }
        self.0
    }
}
