//! The options of a stored session.

use std::time::Duration;

use tool_cli::{
    Exit, Failure, Program,
    clap::{self, Arg, ArgMatches, value_parser},
};
use tool_runtime::open_calls::ProgramKey;
use tool_session::{
    SessionKey,
    cli::{StoreConnection, StoreLocation},
};

use super::session::{ChatSession, StoredSession};
use crate::Runner;

/// The default time to wait while another process uses the session, in seconds: after a crash, its lease expires within this time.
const DEFAULT_WAIT_SECONDS: u64 = 30;

/// Adds `--session`, `--store` and `--wait`; `name` is the name of the program.
pub(super) fn add_session_options(grammar: clap::Command, name: &str) -> clap::Command {
    let session = Arg::new("session")
        .long("session")
        .value_name("NAME")
        .help("Begin or continue the stored conversation of this name [default: nothing is stored]");
    let wait = Arg::new("wait")
        .long("wait")
        .value_name("SECONDS")
        .requires("session")
        .value_parser(value_parser!(u64))
        .help(format!(
            "The time to wait while another process uses the session [default: {DEFAULT_WAIT_SECONDS}]"
        ));
    grammar.args([session, StoreLocation::option(name).requires("session"), wait])
}

/// Opens the store if a session is named, and converses in it.
pub(super) fn run_with_store(
    program: &Program,
    matches: &ArgMatches,
    runner: Runner,
    converse: impl FnOnce(Runner, ChatSession) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let text = |id: &str| matches.get_one::<String>(id).map(String::as_str);
    let Some(name) = text("session") else { return converse(runner, ChatSession::in_memory()) };
    let key = SessionKey::new(program.name(), "", name)
        .map_err(|error| Failure::quoting(Exit::Usage, format!("`--session`: {error}")))?;
    let seconds = matches.get_one::<u64>("wait").copied().unwrap_or(DEFAULT_WAIT_SECONDS);
    let location = StoreLocation::new(program, text("store"))?;
    let connection = location.open(program)?;
    let exit = load_or_create_program_key(&location).and_then(|program_key| {
        let max_wait = Duration::from_secs(seconds);
        let stored = StoredSession { store: connection.sessions().clone(), key, max_wait };
        let runner =
            runner.with_store(stored.store.clone()).with_program_key(program_key).when_busy(max_wait);
        converse(runner, ChatSession::stored(stored))
    });
    program.block_on(StoreConnection::close(connection))?;
    exit
}

/// Reads the key of the program, which the first use makes.
fn load_or_create_program_key(location: &StoreLocation) -> Result<ProgramKey, Failure> {
    let path = location.key_file();
    let failure = |error: &dyn std::error::Error| {
        Failure::quoting(Exit::Usage, format!("the key of the program cannot be used: {error}"))
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|error| failure(&error))?;
    }
    ProgramKey::load_or_create(path).map_err(|error| failure(&error))
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

    use tool_cli::{Cli, Command};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    struct Load;

    impl Command for Load {
        fn grammar(&self) -> clap::Command {
            clap::Command::new("load")
        }

        fn run(&self, program: &Program, _: &ArgMatches) -> Result<Exit, Failure> {
            let folder = tempfile::tempdir().unwrap();
            let location = |path: &str| {
                let url = format!("sqlite:{}", folder.path().join(path).display());
                StoreLocation::new(program, Some(url.as_str()))
            };
            let nested = location("a/b/sessions.sqlite")?;
            load_or_create_program_key(&nested)?;
            assert_eq!(["a", "a/b"].map(|path| mode(&folder.path().join(path))), [0o700; 2]);
            let first = fs::read(nested.key_file()).unwrap();
            assert_eq!((first.len(), mode(nested.key_file())), (32, 0o600));
            // The next use has the same key.
            load_or_create_program_key(&nested)?;
            assert_eq!(fs::read(nested.key_file()).unwrap(), first);
            fs::write(folder.path().join("file"), "").unwrap();
            let failure = load_or_create_program_key(&location("file/b/sessions.sqlite")?).err().unwrap();
            assert!(failure.to_string().starts_with("the key of the program cannot be used: "), "{failure}");
            Ok(Exit::Done)
        }
    }

    #[test]
    fn the_key_of_a_program_is_made_in_folders_of_its_owner() {
        assert_eq!(Cli::new().command(Load).run(["program", "load"]), Exit::Done);
    }
}
