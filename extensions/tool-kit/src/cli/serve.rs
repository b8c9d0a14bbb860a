//! The command `serve` of a catalogue.

use std::rc::Rc;

use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, ArgMatches},
};
use tool_mcp::{
    cli::Serve,
    server::{McpServer, PromptSet, ResourceSet},
};

use super::{
    catalogue_commands::{ConfigureServer, ProgramCatalogue},
    request::CatalogueRequest,
};
use crate::{
    catalogue::{Catalogue, CatalogueSnapshot, ItemObject},
    mcp::{offer_prompt, offer_resource},
};

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
        let catalogue = self.catalogue.get_or_make(program)?.clone();
        let snapshot = CatalogueRequest::of_program(program, &catalogue).snapshot_with_notes()?;
        let configure = Rc::clone(&self.configure);
        let serve =
            Serve::new().configure(move |server| configure(offer_items(server, &catalogue, &snapshot)));
        serve.run(program, matches)
    }
}

/// Offers the tools of a catalogue, and the prompts and resources of a snapshot of it.
fn offer_items(server: McpServer, catalogue: &Catalogue, snapshot: &CatalogueSnapshot) -> McpServer {
    let (mut prompts, mut resources) = (PromptSet::new(), ResourceSet::new());
    for item in snapshot.items() {
        match item.object() {
            ItemObject::Tool(_) => {}
            ItemObject::Prompt(prompt) => prompts = offer_prompt(prompts, prompt.clone()),
            ItemObject::Resource(resource) => resources = offer_resource(resources, resource.clone()),
        }
    }
    server.tools(catalogue.tools().clone()).prompts(prompts).resources(resources)
}
