//! Rules over the commands in a shell text: each simple command in it must be allowed by a rule.
//!
//! [`CommandPolicy`] reads the text as the shell does and asks about everything that it does not read with certainty.
//! `parse` is the reader, `pattern` compares commands with rules, `danger` lists what runs other programs, and
//! `judgement` puts them together. [`conservative`] is a policy for all built-in tools:
//!
//! ```
//! use tool_builtins::{CommandPolicy, conservative};
//! use tool_runtime::{Executor, Registry, policy::Rule};
//!
//! let commands = CommandPolicy::builder().allow_reading().allow("cargo test *")?.deny("git push *")?.build();
//! let policy = conservative().commands(commands).rules([Rule::allow("write_file")]);
//! let executor = Executor::builder(Registry::builder().build()?).permission(policy).build()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod approver;
mod builder;
mod conservative;
mod danger;
mod git;
mod judgement;
mod parse;
mod pattern;
mod script;

use tool_runtime::{
    ToolError,
    definition::Permission,
    policy::{Escape, PermissionPolicy, PermissionRequest},
    serde_json::Value,
};

use self::pattern::CommandPattern;
pub use self::{
    approver::CommandApprover,
    builder::CommandPolicyBuilder,
    conservative::{ConservativePolicy, conservative},
    pattern::InvalidCommandRule,
};

/// A [permission policy](PermissionPolicy) for tools that run shell commands: a text is allowed if every simple command in
/// it is allowed by a rule, wherever the command stands: in a pipeline, list, group, condition, loop or substitution.
///
/// `deny` wins over `ask`, and `ask` over `allow`; the order of the rules has no effect. A command that no rule names is
/// asked about, and so is a text whose effect is unclear. Calls of other tools are allowed, so that the policy can be
/// combined with the [rules](tool_runtime::policy::Rules) of the executor; it may be a part of another policy through
/// [`judge`](Self::judge).
///
/// A tool that requires an approval for each call (`confirm`) requires it also for allowed commands, unless
/// [`approver`](Self::approver) gives it. Only the command is looked at, no other argument.
///
/// The policy decides which commands run without a question. It does not bound what an allowed program does: the guard
/// against that is a sandbox.
///
/// # Rules
///
/// A rule is the words of one command. Quotes group words; a `*` in a word stands for any characters of that word.
///
/// | last word | further arguments |
/// | --- | --- |
/// | a word | none: `git status` allows exactly these two words |
/// | `*` | any number, each written out, with or without quotes |
/// | `**` | any number, also with variables, patterns of file names and substitutions; the commands in them must be allowed themselves |
///
/// `**` does not admit an expansion that may be an option of a program with options that run others: `git **` allows
/// no `git log $x`.
///
/// `deny` and `ask` rules are read more widely: case and the folder of the program are ignored (`/usr/bin/GIT push`),
/// options between the words do not hide them (`git -C . push` is asked about), and they are found behind programs that
/// run others (`sudo git push`) and in texts that are otherwise unclear. A command that may be a denied one, but is not
/// clearly one, is asked about.
///
/// A redirection counts as a command `<` or `>` with the path as its argument, so that `ask("* *.env")` includes
/// `cat < .env`.
///
/// A rule with `*` cannot allow a program that runs its arguments, or changes how the shell finds programs: `env`, `sudo`,
/// `xargs`, `timeout`, `bash`, `eval`, `source`, `exec`, `alias`, `export`, `trap`, .. A rule without `*` can:
/// `timeout 60 cargo test`.
///
/// # Limits of `*`
///
/// `*` admits every option of the program. Options that run other programs are unclear for some programs (`find -exec`,
/// `git -c`, `git bisect run`, `git clone --template`, `git log --output`, `git rebase -x`, `cargo --config`,
/// `cargo --manifest-path`, `rg --pre`, `tar --to-command`, `rsync -e`, `sort -o`, ..), and this list is not complete. Allow
/// with `*` only what is harmless with all of its options, or restrict them: `ask("curl -o*")`. In particular:
///
/// - `python3 *`, `node *`, `perl *`, `awk *`, `sed *`, `make *` and `npm *` admit any program.
/// - `git *` admits aliases and hooks of the repository; `cargo *` admits build scripts.
/// - `cat *` and `grep *` read every file of the user. `uniq *`, `tee *` and `curl *` write files.
/// - The input of a program is not looked at: `echo .. | python3` is allowed by `echo *` and `python3`.
///
/// # Unclear texts
///
/// - an expansion in a word that a rule looks at: variables, substitutions, braces, a tilde, patterns of file names
/// - assignments (`PATH=.. git`), functions, background commands, `case`, `[[`, arithmetic with names, `$'..'`,
///   `${name=value}`, coprocesses, `time`, an exclamation mark that may be history, loops over variables of unusual names
/// - programs that run others, and the builtins of the same effect, unless a rule spells them out
/// - characters outside of printable ASCII, other than line breaks and tabs
/// - redirections that write, unless [allowed](CommandPolicyBuilder::allow_writes), and those to a path that is absolute
///   and not below the [folder](CommandPolicyBuilder::folder), contains `..`, or follows a `cd` in the same text
/// - a text that does not parse, is longer than [`MAX_COMMAND_BYTES`](Self::MAX_COMMAND_BYTES), or has more than 32
///   constructs within each other
///
/// The text is read as `bash` and `dash` read it when they are not interactive. The time is linear in the text, for each
/// rule and level of nesting.
///
/// # Examples
///
/// ```
/// use tool_builtins::CommandPolicy;
/// use tool_runtime::definition::Permission;
///
/// let policy = CommandPolicy::builder()
///     .allow("git status")?
///     .allow("cargo test *")?
///     .allow("grep *")?
///     .deny("git push *")?
///     .build();
/// assert_eq!(policy.judge("git status && cargo test -p app 2>&1 | grep FAILED"), Permission::Allow);
/// assert_eq!(
///     policy.judge("git status; curl example.com"),
///     Permission::ask("no rule allows `curl example.com`"),
/// );
/// assert_eq!(
///     policy.judge("echo \"$(git push --force)\""),
///     Permission::deny("`git push --force` is denied by the rule `git push *`"),
/// );
/// assert!(matches!(policy.judge("PATH=/tmp git status"), Permission::Ask { .. }));
/// # Ok::<(), tool_builtins::command_policy::InvalidCommandRule>(())
/// ```
#[derive(Debug, Clone)]
pub struct CommandPolicy {
    /// Names of tools, and of their arguments.
    tools: Vec<(String, String)>,
    allowed: Vec<CommandPattern>,
    asked: Vec<CommandPattern>,
    denied: Vec<CommandPattern>,
    /// Without a slash at its end.
    folder: Option<String>,
    allows_writes: bool,
}

impl CommandPolicy {
    /// The maximum length of a text: 16 KiB. A longer one is unclear.
    pub const MAX_COMMAND_BYTES: usize = 16 << 10;

    /// Creates a builder without rules: every command is asked about.
    pub fn builder() -> CommandPolicyBuilder {
        CommandPolicyBuilder::default()
    }

    /// Returns the verdict on a shell text. The reason names the first command that is not allowed.
    #[must_use]
    pub fn judge(&self, command: &str) -> Permission {
        self.judge_shell_text(command)
    }

    /// The verdict on a call of a tool with one of `names`; `None` if the policy does not concern the tool.
    fn judge_call(&self, names: &[&str], arguments: &Value) -> Option<Permission> {
        let mut permission = None;
        for (_, argument) in self.tools.iter().filter(|(tool, _)| names.contains(&tool.as_str())) {
            let verdict = match arguments.get(argument).and_then(Value::as_str) {
                Some(command) => match (self.judge(command), named_start_folder(arguments)) {
                    // Where a command starts decides what its words name.
                    (Permission::Allow, Some(folder)) => {
                        let folder = Escape::LINE.at_most(MAX_FOLDER_CHARS).text(&folder);
                        Permission::ask(format!("the command would start in the folder `{folder}`"))
                    }
                    (verdict, _) => verdict,
                },
                None => Permission::ask(format!(
                    "the command is unclear: the argument `{argument}` is not a text"
                )),
            };
            match (&verdict, &permission) {
                (Permission::Deny { .. }, _) => return Some(verdict),
                (Permission::Allow, Some(_)) => {}
                _ => permission = Some(verdict),
            }
        }
        permission
    }
}

/// The arguments of shells that name the folder of a command.
const FOLDER_ARGUMENTS: [&str; 4] = ["folder", "cwd", "workdir", "working_directory"];

/// The maximum number of characters of a folder that a message shows.
const MAX_FOLDER_CHARS: usize = 80;

/// Returns the folder in which a command starts, if a call names another one than the base.
fn named_start_folder(arguments: &Value) -> Option<String> {
    let named = FOLDER_ARGUMENTS.iter().filter_map(|name| arguments.get(*name));
    named.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).find(|folder| {
        let is_base = matches!(folder.as_str(), "" | "." | "./" | "null");
        !is_base
    })
}

impl PermissionPolicy for CommandPolicy {
    async fn decide(&self, request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        let names = [request.tool(), request.definition.raw_name()];
        Ok(self.judge_call(&names, &request.arguments_value()?).unwrap_or(Permission::Allow))
    }
}
