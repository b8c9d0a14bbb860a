//! The command `serve` of a catalogue.

use std::rc::Rc;

use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, ArgMatches},
};
use tool_mcp::cli::Serve;

use super::catalogue_commands::{ConfigureServer, ProgramCatalogue};
use crate::mcp::offer_catalogue;

/// The command `serve`, which serves the tools, prompts and resources of a catalogue.
pub(super) struct ServeCatalogue {
    catalogue: Rc<ProgramCatalogue>,
    configure: Rc<ConfigureServer>,
}

impl ServeCatalogue {
    pub(super) fn new(catalogue: Rc<ProgramCatalogue>, configure: Rc<ConfigureServer>) -> Self {
        Self { catalogue, configure }
    }
}

impl Command for ServeCatalogue {
    fn grammar(&self) -> clap::Command {
        Serve::new()
            .grammar()
            .about("Serve tools, prompts and resources to an MCP client, over the standard streams")
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        self.catalogue.run_while_connected(program, |catalogue| {
            let (catalogue, configure) = (catalogue.clone(), Rc::clone(&self.configure));
            let serve = Serve::new().configure(move |server| configure(offer_catalogue(server, &catalogue)));
            serve.run(program, matches)
        })
    }
}
