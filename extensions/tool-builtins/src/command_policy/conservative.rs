//! A policy for the calls of the built-in tools, for a program that has no rules of its own yet.

use std::borrow::Cow;

use tool_runtime::{
    ToolError,
    definition::Permission,
    policy::{Approver, PathPattern, PermissionPolicy, PermissionRequest, Rule, Rules},
    serde_json::Value,
};

use super::{CommandApprover, CommandPolicy};

/// Commands that only read.
pub(super) const READING_COMMANDS: &[&str] = &[
    "[ *",
    "basename *",
    "cat *",
    "cd * *",
    "cmp *",
    "cut *",
    "date",
    "date +*",
    "df *",
    "dirname *",
    "du *",
    "echo *",
    "false",
    "git blame *",
    "git branch",
    "git diff *",
    "git log *",
    "git ls-files *",
    "git rev-parse *",
    "git show *",
    "git status *",
    "grep *",
    "head *",
    "id",
    "ls *",
    "nl *",
    "nproc",
    "pwd",
    "readlink *",
    "realpath *",
    "stat *",
    "tail *",
    "test *",
    "tr *",
    "true",
    "uname *",
    "wc *",
    "which *",
    "whoami",
];

/// Arguments of commands that read, about which is asked, as rules for any command.
const READING_EXCEPTIONS: &[&str] = &[
    // Outside of the folder.
    "* /*",
    "* ..",
    "* ../*",
    "* */..",
    "* */../*",
    "* *=/*",
    "* *=..*",
    "* -*/*",
    "* *:/*",
    "* ~*",
    "cd -*",
    // Recursive searches; options that write files or run programs.
    "grep -*d*",
    "grep -*r*",
    "git --ou*",
    "git --ex*",
    "git -O*",
    "git --no-index",
    // Paths in a file, which may lead anywhere.
    "du --f*",
    "wc --f*",
];

/// Names of files with secrets.
const SECRET_FILES: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_*",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    "credentials",
    "credentials.*",
    "secrets",
    "secrets.*",
    "*.tfstate",
    "*.tfvars",
    "*_history",
];

/// Names of folders with secrets.
const SECRET_FOLDERS: &[&str] = &[".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker"];

/// Tools that run without a question, with the arguments that are paths of files.
const UNASKED_TOOLS: &[(&str, &[&str])] = &[
    ("read_file", &["/path"]),
    ("list_files", &["/path"]),
    ("glob", &["/path"]),
    ("grep", &["/path", "/glob"]),
    ("search", &["/path", "/file_pattern"]),
    ("Read", &["/file_path", "/path"]),
    ("Glob", &["/path"]),
    ("Grep", &["/path", "/glob"]),
    // Of commands that were asked about.
    ("task_output", &[]),
    ("task_stop", &[]),
    ("TaskOutput", &[]),
    ("TaskStop", &[]),
    // Of the state of the session alone.
    ("todo_write", &[]),
    ("todo_declare_blocker", &[]),
    // Of the definitions of tools alone. A call by `call_tool` is judged as one of the tool that it names.
    ("search_tools", &[]),
];

/// Tools that write, run code, or send something to another host.
const ASKED_TOOLS: &[(&str, &[&str])] = &[
    ("it changes files", &["edit_file", "write_file", "notebook_edit", "Edit", "Write", "NotebookEdit"]),
    ("it runs code", &["run_code", "RunCode"]),
    (
        "it sends data to other hosts",
        &["fetch", "web_fetch", "web_search", "duckduckgo_search", "WebFetch", "WebSearch"],
    ),
];

/// Names of the shell.
const SHELL_TOOLS: &[&str] = &["bash", "Bash"];

/// Bytes of a path that is compared with those of secrets, as many as of one that a tool opens.
const MAX_PATH_BYTES: usize = 4096;

/// The reason by which a call that no added rule matches is recognized.
const NO_ADDED_RULE: &str = "no added rule";

/// Rules for files, shell, code and web, by the names of the tools of this crate and of those that models know:
///
/// | tools | verdict |
/// | --- | --- |
/// | `read_file`, `list_files`, `glob`, `grep`, `search`; `Read`, `Glob`, `Grep` | allowed; a path or a pattern of files that looks like a secret is asked about |
/// | `edit_file`, `write_file`, `notebook_edit`; `Edit`, `Write`, `NotebookEdit` | asked about |
/// | `bash`; `Bash` | [commands that only read](super::CommandPolicyBuilder::allow_reading) are allowed; others are asked about |
/// | `run_code`; `RunCode` | asked about |
/// | `fetch`, `web_fetch`, `web_search`, `duckduckgo_search`; `WebFetch`, `WebSearch` | asked about |
/// | `task_output`, `task_stop`; `TaskOutput`, `TaskStop` | allowed |
/// | `todo_write`, `todo_declare_blocker`, `search_tools` | allowed |
///
/// Any other tool is asked about: [`rules`](ConservativePolicy::rules) decide about those of the program. Secrets are `.env`, `.env.*`, `*.env`, `*.pem`, `*.key`,
/// `id_*`, `.netrc`, `.npmrc`, `credentials`, `*.tfvars`, files in `.ssh`, `.aws`, `.gnupg` and `.kube`, and similar names, in
/// any case. A search of a folder reads the secrets in it that `.gitignore` does not name.
///
/// # Examples
///
/// ```
/// use tool_builtins::conservative;
/// use tool_runtime::{definition::Permission, policy::Rule, prelude::*};
///
/// let policy = conservative().rules([Rule::allow("write_file")]);
/// let bash = |command: &str| policy.judge("bash", &json!({ "command": command }));
/// assert_eq!(bash("git status | head -n 5"), Permission::Allow);
/// assert!(matches!(bash("cargo test"), Permission::Ask { .. }));
/// assert!(matches!(bash("cat .env"), Permission::Ask { .. }));
/// assert!(matches!(policy.judge("read_file", &json!({ "path": "certs/server.pem" })), Permission::Ask { .. }));
/// assert!(matches!(policy.judge("edit_file", &json!({ "path": "a.txt" })), Permission::Ask { .. }));
/// assert_eq!(policy.judge("write_file", &json!({ "path": "a.txt" })), Permission::Allow);
/// ```
///
/// It is a permission policy of an executor:
///
/// ```
/// use tool_builtins::conservative;
/// use tool_runtime::{Executor, Registry};
///
/// let executor = Executor::builder(Registry::builder().build()?).permission(conservative()).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn conservative() -> ConservativePolicy {
    let mut rules = Vec::new();
    for (reason, tools) in ASKED_TOOLS {
        rules.extend(
            tools.iter().map(|tool| Rule::ask(tool).reason(format!("`{tool}` asks first: {reason}"))),
        );
    }
    for (tool, pointers) in UNASKED_TOOLS {
        for pointer in *pointers {
            rules.extend(secret_path_patterns().map(|path| {
                Rule::ask(tool).at(*pointer, path).reason(format!("`{tool}` may read a secret by this path"))
            }));
        }
    }
    let commands = SHELL_TOOLS.iter().fold(CommandPolicy::builder(), |it, tool| it.tool(*tool, "command"));
    ConservativePolicy { rules: Rules::new(rules), added: None, commands: commands.allow_reading().build() }
}

/// The policy of [`conservative`].
#[derive(Debug, Clone)]
pub struct ConservativePolicy {
    rules: Rules,
    /// Begin with a rule that denies everything, by which a call that no other one matches is recognized.
    added: Option<Rules>,
    commands: CommandPolicy,
}

impl ConservativePolicy {
    /// Adds rules, which decide before the own ones about the calls that they match; the last matching one decides. A
    /// further call replaces them. They name tools as a model sees them. Default: none.
    #[must_use]
    pub fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        let nothing = Rule::deny("*").reason(NO_ADDED_RULE);
        self.added = Some(Rules::new([nothing].into_iter().chain(rules)));
        self
    }

    /// Replaces the policy for shell commands. Default: the [commands that only
    /// read](super::CommandPolicyBuilder::allow_reading), for `bash` and `Bash`.
    #[must_use]
    pub fn commands(mut self, commands: CommandPolicy) -> Self {
        self.commands = commands;
        self
    }

    /// Returns an approver for a shell that requires an approval for each call; see [`CommandPolicy::approver`].
    pub fn approver<A: Approver>(&self, person: A) -> CommandApprover<A> {
        self.commands.clone().approver(person)
    }

    /// Returns the verdict on a call of a tool.
    #[must_use]
    pub fn judge(&self, tool: &str, arguments: &Value) -> Permission {
        self.judge_call_by_names(&[tool], arguments)
    }

    /// The verdict on a call of a tool by several names; the first one is what a model sees.
    fn judge_call_by_names(&self, names: &[&str], arguments: &Value) -> Permission {
        if let (Some(added), Some(tool)) = (&self.added, names.first()) {
            let verdict = added.judge(tool, arguments);
            if verdict != Permission::deny(NO_ADDED_RULE) {
                return verdict;
            }
        }
        if let Some(verdict) = ask_if_path_is_too_long(names, arguments) {
            return verdict;
        }
        let of_rules = with_globs_as_example_names(arguments);
        let by_name = names.iter().map(|name| self.rules.judge(name, &of_rules));
        let restricted = by_name.into_iter().find(|verdict| *verdict != Permission::Allow);
        if let Some(verdict) = restricted.or_else(|| self.commands.judge_call(names, arguments)) {
            return verdict;
        }
        match names.iter().any(|name| UNASKED_TOOLS.iter().any(|(tool, _)| tool == name)) {
            true => Permission::Allow,
            false => {
                let tool = names.first().copied().unwrap_or_default();
                Permission::ask(format!("`{tool}` is no tool that the policy knows"))
            }
        }
    }
}

impl PermissionPolicy for ConservativePolicy {
    async fn decide(&self, request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        let names = [request.tool(), request.definition.raw_name()];
        Ok(self.judge_call_by_names(&names, &request.arguments_value()?))
    }
}

/// The question about a path that is too long to be compared with those of secrets.
fn ask_if_path_is_too_long(names: &[&str], arguments: &Value) -> Option<Permission> {
    let pointers = UNASKED_TOOLS.iter().filter(|(tool, _)| names.contains(tool)).flat_map(|(_, it)| *it);
    let lengths = pointers.filter_map(|pointer| Some(arguments.pointer(pointer)?.as_str()?.len()));
    let length = lengths.into_iter().find(|length| *length > MAX_PATH_BYTES)?;
    let tool = names.first().copied().unwrap_or_default();
    Some(Permission::ask(format!(
        "`{tool}` has a path of {length} bytes, and only {MAX_PATH_BYTES} are compared with secrets"
    )))
}

/// Returns the arguments with a name that each pattern of files admits in its place, such as `x.pem` for `*.pem`.
fn with_globs_as_example_names(arguments: &Value) -> Cow<'_, Value> {
    let mut changed = Cow::Borrowed(arguments);
    for name in ["glob", "file_pattern"] {
        let Some(pattern) = arguments.get(name).and_then(Value::as_str) else { continue };
        let example = pattern.replace(['*', '?', '[', ']', '{', '}'], "x");
        if let Some(value) = changed.to_mut().get_mut(name) {
            *value = example.into();
        }
    }
    changed
}

/// Patterns of the paths of secrets, in any folder.
fn secret_path_patterns() -> impl Iterator<Item = PathPattern> {
    let files = SECRET_FILES.iter().map(|name| format!("**/{name}"));
    let patterns = files.chain(SECRET_FOLDERS.iter().map(|name| format!("**/{name}/**")));
    // The same in a folder with a name, such as `docs:.env`.
    let named_files = SECRET_FILES.iter().map(|name| format!("**/*:{name}"));
    let named_folders = SECRET_FOLDERS.iter().map(|name| format!("**/*:{name}/**"));
    patterns
        .chain(named_files)
        .chain(named_folders)
        .filter_map(|pattern| Some(PathPattern::new(&pattern).ok()?.base("/").ok()?.ignore_case(true)))
}

/// All rules that ask for some of the reading commands.
pub(super) fn rules_asking_about_reads() -> Vec<String> {
    let mut rules: Vec<String> = READING_EXCEPTIONS.iter().map(|rule| (*rule).to_owned()).collect();
    for name in SECRET_FILES {
        // A path, also behind a revision or an option; and one that goes on.
        rules.extend(["", "*/", "*:", "*=", "-*"].map(|before| format!("* {before}{name}")));
        rules.extend(["", "*/", "*:", "*=", "-*"].map(|before| format!("* {before}{name}/*")));
    }
    for name in SECRET_FOLDERS {
        rules.push(format!("* *{name}*"));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_policy::pattern::CommandPattern;

    #[test]
    fn all_built_in_rules_are_valid() {
        assert!(READING_COMMANDS.iter().all(|rule| CommandPattern::new_for_allowing(rule).is_ok()));
        assert!(rules_asking_about_reads().iter().all(|rule| CommandPattern::new(rule).is_ok()));
        assert_eq!(secret_path_patterns().count(), 2 * (SECRET_FILES.len() + SECRET_FOLDERS.len()));
    }
}
