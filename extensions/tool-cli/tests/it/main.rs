//! Tests of the library. The example `weather-cli` has tests of its output, too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test may")]

mod guards;
// Pages contain messages of the system, and a terminal is one of Unix.
#[cfg(unix)]
mod pages;

use std::{
    cell::{Cell, RefCell},
    env,
    io::{self, BufRead, BufReader},
    process::{self, Stdio},
    rc::Rc,
    thread,
};

use tool_cli::{Cli, Command, Exit, Failure, Program, clap};
use tool_runtime::prelude::*;

struct Database(u64);

/// Counts the rows.
#[tool(read_only)]
fn count(database: &Database) -> u64 {
    database.0
}

#[derive(Default)]
struct Notes;

#[toolset]
impl Notes {
    /// Lists the notes.
    #[tool(read_only)]
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The body of a command.
type Body = Box<dyn Fn(&Program) -> Result<Exit, Failure>>;

struct Look(Body);

impl Command for Look {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("look").arg(clap::Arg::new("at"))
    }

    fn run(&self, program: &Program, _: &clap::ArgMatches) -> Result<Exit, Failure> {
        (self.0)(program)
    }
}

/// The exit code of `look` in `cli` with this body, and the message of its failure.
fn look(cli: Cli, body: impl Fn(&Program) -> Result<Exit, Failure> + 'static) -> (Exit, String) {
    let why = Rc::new(RefCell::new(String::new()));
    let told = Rc::clone(&why);
    let body = move |program: &Program| {
        body(program).inspect_err(|failure| told.replace(failure.to_string()).clear())
    };
    let exit = cli.command(Look(Box::new(body))).run(["program", "look"]);
    (exit, why.take())
}

fn names(program: &Program) -> Vec<String> {
    let tools = program.tools().unwrap();
    tools.definitions().iter().map(|tool| tool.name().to_string()).collect()
}

// Z19
#[test]
fn a_command_sees_the_tools_without_their_values() {
    let opened = Rc::new(Cell::new(0));
    let times = Rc::clone(&opened);
    let cli = Cli::new().tools(|builder| builder.toolset(Notes)).provide_with(move |builder| {
        times.set(times.get() + 1);
        builder.provide(Database(3))
    });
    let seen = Rc::clone(&opened);
    let (exit, _) = look(cli, move |program| {
        assert_eq!(program.name(), "program");
        assert_eq!(names(program), ["count", "notes"]);
        assert_eq!(seen.get(), 0);
        let tools = program.callable()?;
        assert_eq!(program.block_on(tools.call("count", "{}"))?.unwrap().text(), "3");
        program.callable()?;
        assert_eq!(seen.get(), 1);
        Ok(Exit::Done)
    });
    assert_eq!(exit, Exit::Done);
    assert_eq!(opened.get(), 1);
}

#[test]
fn values_are_provided_within_a_runtime() {
    let cli = Cli::new().provide_with(|builder| {
        let open = async { io::Result::Ok(Database(4)) };
        tokio::runtime::Handle::current().block_on(open).map(|database| builder.provide(database))
    });
    let (exit, _) = look(cli, |program| {
        let tools = program.callable()?;
        assert_eq!(program.block_on(tools.call("count", "{}"))?.unwrap().text(), "4");
        Ok(Exit::Done)
    });
    assert_eq!(exit, Exit::Done);
}

#[test]
fn unusable_tools_are_reported_with_exit_code_4() {
    let callable = |program: &Program| program.callable().map(|_| Exit::Done);
    let (exit, why) = look(Cli::new(), callable);
    assert_eq!((exit, exit.code()), (Exit::Unusable, 4));
    assert!(why.contains("tool `count`") && why.contains("Database`, which is not provided"), "{why}");

    let cli =
        Cli::new().provide_with(|_| Err(anyhow::anyhow!("locked").context("the database is not there")));
    let (exit, why) = look(cli, callable);
    assert_eq!(exit, Exit::Unusable);
    assert_eq!(why, "the values of the tools cannot be provided: the database is not there: locked");

    // A tool that is added with the values would be missing in lists.
    let cli = Cli::new().provide_with(|builder| builder.provide(Database(3)).toolset(Notes));
    let (exit, why) = look(cli, callable);
    assert_eq!(exit, Exit::Unusable);
    assert_eq!(
        why,
        "the tool `notes` is added by `Cli::provide_with`, so that no command can list it; add it with `Cli::tools`"
    );

    let cli = Cli::new().tools(|builder| builder.expect(["absent"]));
    let (exit, why) = look(cli, |program| program.tools().map(|_| Exit::Done));
    assert_eq!(exit, Exit::Unusable);
    assert!(why.contains("tool `absent` is expected and not there"), "{why}");
}

#[test]
fn values_are_provided_only_for_calls() {
    let run = |response: &str| {
        let path = format!("{}/response.json", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&path, response).unwrap();
        let cli = Cli::new().provide_with(|_| Err::<tool_runtime::registry::RegistryBuilder, _>("locked"));
        cli.run(["program", "run", "--dialect", "anthropic", &path])
    };
    assert_eq!(run(r#"{ "role": "assistant", "content": [] }"#), Exit::Done);
    let call = r#"{ "content": [{ "type": "tool_use", "id": "1", "name": "count", "input": {} }] }"#;
    assert_eq!(run(call), Exit::Unusable);
}

/// The variable that makes the test the program that it starts.
const AS_PROGRAM: &str = "TOOL_CLI_TEST_AS_PROGRAM";

// A07
#[test]
fn a_tool_with_a_title_is_listed_with_both_and_called_by_its_name() {
    #[tool_args]
    struct Nothing {}
    let tool = || {
        let tool = ToolBuilder::new("tea").title("Make \u{1b}tea").description("Makes tea.");
        tool.handler(|_: Nothing, _| async { Ok::<_, ToolError>("tea is made") }).unwrap()
    };
    if let Ok(command) = env::var(AS_PROGRAM) {
        let cli = Cli::new().tools(move |builder| builder.add(tool()));
        let cli = cli.provide_with(|builder| builder.provide(Database(3)));
        process::exit(cli.run(["program"].into_iter().chain(command.split(' '))).code().into());
    }
    let output = |command: &str| {
        let this = "a_tool_with_a_title_is_listed_with_both_and_called_by_its_name";
        let mut program = process::Command::new(env::current_exe().unwrap());
        let output =
            program.args(["--exact", this, "--nocapture"]).env(AS_PROGRAM, command).output().unwrap();
        assert!(output.status.success(), "{command}");
        String::from_utf8(output.stdout).unwrap()
    };
    let list = output("list");
    let line = |text: &str| list.lines().find(|line| line.contains(text)).unwrap_or_default().to_owned();
    assert!(line("Makes tea.").contains("tea (Make \\u{1b}tea)"), "{list}");
    // A tool without a title has its name once.
    assert!(
        line("Counts the rows.").contains("count") && !line("Counts the rows.").contains("(count)"),
        "{list}"
    );
    assert!(output("show tea").contains("Make \\u{1b}tea"));
    assert!(output("list --json").contains(r#""title": "Make \u001btea""#));
    assert!(output("call tea").contains("tea is made"));
}

/// A program that calls a tool which blocks its thread for ever.
#[cfg(unix)]
fn a_program_whose_tool_blocks() -> ! {
    #[tool_args]
    struct Nothing {}
    let cli = Cli::new().tools(|builder| {
        let block = ToolBuilder::new("block").description("Blocks its thread.");
        let block = block.handler(|_: Nothing, _| async {
            eprintln!("blocked");
            loop {
                thread::park();
            }
            #[expect(unreachable_code, reason = "it says what the result would be")]
            Ok::<_, ToolError>(())
        });
        builder.add(block.unwrap())
    });
    let exit = cli.provide_with(|builder| builder.provide(Database(3))).run(["program", "call", "block"]);
    std::process::exit(exit.code().into());
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_ends_a_call_that_blocks() {
    if env::var_os(AS_PROGRAM).is_some() {
        a_program_whose_tool_blocks();
    }
    let mut program = process::Command::new(env::current_exe().unwrap());
    let this = "a_second_ctrl_c_ends_a_call_that_blocks";
    let program = program.args(["--exact", this, "--nocapture"]).env(AS_PROGRAM, "");
    let mut child = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert_eq!(told.next().unwrap().unwrap(), "blocked");
    // The number of signals that the program handled is not observable.
    let ended = (0..2000).find_map(|_| {
        let kill = process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        child.try_wait().unwrap()
    });
    let _ = child.kill();
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
}

/// The hook belongs to a process: the test runs itself again as a program.
#[test]
fn a_panic_is_written_with_escapes_and_with_a_backtrace_on_request() {
    if env::var_os(AS_PROGRAM).is_some() {
        // The arguments are those of the test, which no command has.
        let _ = Cli::new().main();
        let _ = thread::spawn(|| panic!("a\u{1b}[31mb")).join();
        return;
    }
    let told = |backtrace: Option<&str>| {
        let mut program = process::Command::new(env::current_exe().unwrap());
        let this = "a_panic_is_written_with_escapes_and_with_a_backtrace_on_request";
        program.args(["--exact", this, "--nocapture"]).env(AS_PROGRAM, "").env_remove("RUST_LIB_BACKTRACE");
        match backtrace {
            Some(how) => program.env("RUST_BACKTRACE", how),
            None => program.env_remove("RUST_BACKTRACE"),
        };
        String::from_utf8(program.output().unwrap().stderr).unwrap()
    };
    for (backtrace, is_shown) in [(None, false), (Some("0"), false), (Some("1"), true)] {
        let told = told(backtrace);
        assert!(told.contains("a\\u{1b}[31mb") && !told.contains('\u{1b}'), "{backtrace:?}: {told}");
        assert_eq!(told.contains("  0: "), is_shown, "{backtrace:?}: {told}");
        assert!(!told.contains("disabled backtrace"), "{backtrace:?}: {told}");
    }
}

#[test]
fn a_command_replaces_one_of_the_same_name() {
    struct Own(&'static str, Exit);
    impl Command for Own {
        fn grammar(&self) -> clap::Command {
            clap::Command::new(self.0).about("Does it in another way")
        }

        fn run(&self, _: &Program, _: &clap::ArgMatches) -> Result<Exit, Failure> {
            Ok(self.1)
        }
    }
    let cli = || {
        let all = ["list", "show", "call", "help", "own"].map(|name| Own(name, Exit::Refused));
        all.into_iter().fold(Cli::new(), Cli::command).command(Own("own", Exit::Failed))
    };
    for (name, exit) in [("list", Exit::Refused), ("help", Exit::Refused), ("own", Exit::Failed)] {
        assert_eq!(cli().run(["program", name]), exit, "{name}");
    }
    // Completions contain no replaced command.
    assert_eq!(cli().run(["program", "completions", "bash"]), Exit::Done);
}

#[test]
fn approvals_show_their_executor() {
    let (exit, _) = look(Cli::new().provide_with(|builder| builder.provide(Database(3))), |program| {
        let matches = clap::Command::new("it").arg(tool_cli::Approvals::option()).get_matches_from(["it"]);
        let approvals = tool_cli::Approvals::new(program, &matches)?;
        let executor = format!("{:?}", approvals.executor());
        assert_eq!(format!("{approvals:?}"), format!("Approvals {{ executor: {executor}, .. }}"));
        Ok(Exit::Done)
    });
    assert_eq!(exit, Exit::Done);
}
