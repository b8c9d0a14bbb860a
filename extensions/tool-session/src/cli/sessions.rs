//! The command and its grammar.

use std::{fmt, sync::Arc};

use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, Arg, ArgAction, ArgMatches, value_parser},
};

use super::{
    StoreLocation,
    deletion::{delete_sessions, prune_sessions},
    list::{DEFAULT_MAX_SESSIONS, list_sessions},
    request::SessionRequest,
    show::{DEFAULT_MAX_ENTRIES, show_session},
    time::parse_age,
    transfer::{export_sessions, import_sessions},
};

/// The command `sessions`, which lists, shows, exports, imports, deletes and prunes the sessions of a store.
///
/// # Examples
///
/// ```
/// use tool_cli::Cli;
/// use tool_session::cli::Sessions;
///
/// let cli = Cli::new().command(Sessions::new().app("shop"));
/// ```
#[derive(Clone, Default)]
#[must_use = "a command does nothing until it is added to a command line"]
pub struct Sessions {
    app: Option<Arc<str>>,
}

const EXAMPLES: &str = "\
Examples:
  sessions list
  sessions show orders --limit 5
  sessions export orders --file orders.jsonl
  sessions import orders.jsonl
  sessions prune --older-than 90d --keep 100";

/// The position of the options of all commands in their helps: behind those of each.
const GLOBAL_ORDER: usize = 900;

impl Sessions {
    /// Creates the command.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the app whose sessions the command is about, without `--app`. Default: the name of the program.
    pub fn app(mut self, app: impl Into<Arc<str>>) -> Self {
        self.app = Some(app.into());
        self
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("app", &self.app).finish()
    }
}

impl Command for Sessions {
    fn grammar(&self) -> clap::Command {
        self.grammar_in("NAME")
    }

    fn grammar_in(&self, name: &str) -> clap::Command {
        let app = self.app.as_deref().unwrap_or(name);
        clap::Command::new("sessions")
            .about("List, show, export, import and delete stored sessions")
            .after_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .arg(StoreLocation::option(name).global(true).display_order(GLOBAL_ORDER))
            .arg(
                value_option("app", "APP", format!("The app of the sessions [default: {app}]"))
                    .global(true)
                    .display_order(GLOBAL_ORDER),
            )
            .subcommands([
                list_grammar(),
                show_grammar(),
                export_grammar(),
                import_grammar(),
                delete_grammar(),
                prune_grammar(),
            ])
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let Some((command, matches)) = matches.subcommand() else {
            return Err(Failure::usage("the command of `sessions` is missing"));
        };
        let text = |id: &str| matches.get_one::<String>(id).map(String::as_str);
        let app = text("app").or(self.app.as_deref()).unwrap_or(program.name());
        let location = StoreLocation::new(program, text("store"))?;
        let request = SessionRequest { program, matches, location, app: app.into() };
        match command {
            "list" => list_sessions(&request),
            "show" => show_session(&request),
            "export" => export_sessions(&request),
            "import" => import_sessions(&request),
            "delete" => delete_sessions(&request),
            _ => prune_sessions(&request),
        }
    }
}

fn value_option(name: &'static str, value_name: &'static str, help: impl Into<String>) -> Arg {
    Arg::new(name).long(name).value_name(value_name).help(help.into())
}

fn flag_option(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn output_option() -> Arg {
    value_option("output", "FORM", "The form of the output")
        .value_parser(["text", "json"])
        .default_value("text")
}

fn yes_flag() -> Arg {
    flag_option("yes", "Delete without a question")
}

fn names_argument(help: &'static str) -> Arg {
    Arg::new("name").value_name("NAME").num_args(0..).help(help)
}

fn list_grammar() -> clap::Command {
    clap::Command::new("list").visible_alias("ls").about("List the sessions, the last changed first").args([
        value_option("user", "USER", "Only sessions of this user [default: all users]"),
        value_option(
            "limit",
            "NUMBER",
            format!("The maximum number of sessions [default: {DEFAULT_MAX_SESSIONS}]"),
        )
        .value_parser(value_parser!(u64).range(1..)),
        output_option(),
    ])
}

fn show_grammar() -> clap::Command {
    clap::Command::new("show").about("Show a session and its last entries").args([
        Arg::new("name").value_name("NAME").required(true).help("The session"),
        value_option("user", "USER", "The user of the session [default: none]"),
        value_option(
            "limit",
            "NUMBER",
            format!("The maximum number of entries [default: {DEFAULT_MAX_ENTRIES}]"),
        )
        .value_parser(value_parser!(u64).range(1..)),
        value_option("before", "NUMBER", "Only entries before this one").value_parser(value_parser!(u64)),
        output_option(),
    ])
}

fn export_grammar() -> clap::Command {
    clap::Command::new("export").about("Write sessions as JSONL").args([
        names_argument("The sessions").conflicts_with("all"),
        value_option("user", "USER", "The user of the sessions [default: none; with --all, all users]"),
        flag_option("all", "All sessions"),
        value_option(
            "file",
            "FILE",
            "Write a new file, which its owner alone can read [default: standard output]",
        ),
    ])
}

fn import_grammar() -> clap::Command {
    clap::Command::new("import")
        .about("Add the sessions of an export, all or none")
        .arg(Arg::new("file").value_name("FILE").required(true).help("The export; - is the standard input"))
}

fn delete_grammar() -> clap::Command {
    clap::Command::new("delete").about("Delete sessions").args([
        names_argument("The sessions").conflicts_with("all"),
        value_option("user", "USER", "The user of the sessions [default: none]"),
        flag_option("all", "All data of the user: sessions, state and notes"),
        yes_flag(),
    ])
}

fn prune_grammar() -> clap::Command {
    clap::Command::new("prune").about("Delete sessions by age and number").args([
        value_option(
            "older-than",
            "AGE",
            "Delete sessions that were not changed for this time, such as 90d, 2w or 12h",
        )
        .value_parser(parse_age),
        value_option("keep", "NUMBER", "Keep this number of sessions of each user, the last changed")
            .value_parser(value_parser!(u32)),
        yes_flag(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_consistent() {
        Sessions::new().grammar_in("shop").debug_assert();
    }
}
