//! `fleet key`.

use std::path::PathBuf;

use tool_cli::{
    Exit, Failure, Program,
    clap::{self, Arg, ArgMatches, value_parser},
};
use tool_runtime::open_calls::ProgramKey;

use super::connection::{key_failure, pool_name, pool_option};

pub(super) fn key_grammar(default_pool: &str) -> clap::Command {
    let file = |name: &'static str, help: &'static str| {
        let option = Arg::new(name).long(name).value_name("FILE").required(true).help(help);
        option.value_parser(value_parser!(PathBuf))
    };
    clap::Command::new("key").about("Write the key of a pool, for its workers").args([
        file("program-key", "The file with the key of the program, which is made if there is none"),
        file("save", "The file to write, which its owner alone can read"),
        pool_option(default_pool),
    ])
}

/// Derives the key of a pool from the key of the program, and writes it.
pub(super) fn save_pool_key(
    program: &Program,
    matches: &ArgMatches,
    default_pool: Option<&str>,
) -> Result<Exit, Failure> {
    let path = |option: &str| {
        let missing = || Failure::usage(format!("`--{option}` is missing"));
        matches.get_one::<PathBuf>(option).ok_or_else(missing)
    };
    let (program_file, pool_file) = (path("program-key")?, path("save")?);
    let pool = pool_name(program, matches, default_pool)?;
    let is_new = !program_file.exists();
    let key = ProgramKey::load_or_create(program_file).map_err(|error| key_failure(&error))?.pool_key(pool);
    if is_new {
        program.note(&format!("there was no key of the program: a new one is in {}", program_file.display()));
    }
    key.save(pool_file).map_err(|error| key_failure(&error))?;
    program.note(&format!("the key of the pool `{pool}` is in {}", pool_file.display()));
    Ok(Exit::Done)
}
