//! The catalogue of a program, and the commands on it.

use std::{
    cell::{OnceCell, RefCell},
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    rc::Rc,
};

use tokio::task::JoinSet;
use tool_cli::{
    Command, Exit, Extension, Failure, Item, Program,
    clap::{self, ArgMatches},
};
use tool_mcp::server::McpServer;
use tool_runtime::{CancellationToken, Toolbox};

use super::{
    connect::Connect,
    prompts,
    request::{CatalogueRequest, list_entry_of, list_entry_of_template},
    resources,
    serve::ServeCatalogue,
};
use crate::catalogue::Catalogue;

/// The commands `prompts`, `resources`, `connect` and `serve`, and the items of a catalogue for `list --all`. Added by
/// [`Cli::extension`](tool_cli::Cli::extension).
///
/// # Examples
///
/// ```standalone_crate
/// use tool_cli::{Cli, Exit};
/// use tool_kit::{cli::CatalogueCommands, prompt::PromptFile};
///
/// let commands = CatalogueCommands::new(|catalogue| async move {
///     catalogue.add_prompt(PromptFile::parse("---\nname: greet\ninput: { type: string }\n---\nGreet {{ . }}.")?)?;
///     anyhow::Ok(catalogue)
/// });
/// // In a program: `fn main() -> ExitCode { cli.main() }`.
/// assert_eq!(Cli::new().extension(commands).run(["library", "prompts", "render", "greet", "Ada"]), Exit::Done);
/// ```
#[must_use = "commands do nothing until they are added to a command line"]
pub struct CatalogueCommands {
    catalogue: Rc<ProgramCatalogue>,
    configure: Rc<ConfigureServer>,
}

/// A closure that configures the server of `serve`.
pub(super) type ConfigureServer = dyn Fn(McpServer) -> McpServer;

/// A closure that makes the catalogue.
type MakeCatalogue =
    dyn FnOnce(Catalogue) -> Pin<Box<dyn Future<Output = Result<Catalogue, Box<dyn Error>>>>>;

/// The catalogue of a program, which the first command that needs it makes.
pub(super) struct ProgramCatalogue {
    make: RefCell<Option<Box<MakeCatalogue>>>,
    made: OnceCell<Catalogue>,
}

impl CatalogueCommands {
    /// Creates the commands on the tools of the program and all prompts and resources that are annotated functions.
    pub fn discover() -> Self {
        Self::new(|catalogue| async { Ok::<_, std::convert::Infallible>(catalogue) })
    }

    /// Creates the commands. `make` receives a catalogue of the tools of the program and of all [prompts](macro@crate::prompt) and
    /// [resources](macro@crate::resource) that are annotated functions, adds other items and connectors, and sets a delegate.
    pub fn new<F, E>(make: impl FnOnce(Catalogue) -> F + 'static) -> Self
    where
        F: Future<Output = Result<Catalogue, E>> + 'static,
        E: Into<Box<dyn Error>>,
    {
        let make = |catalogue| -> Pin<Box<dyn Future<Output = _>>> {
            let making = make(catalogue);
            Box::pin(async { making.await.map_err(Into::into) })
        };
        let make = RefCell::new(Some(Box::new(make) as Box<MakeCatalogue>));
        let catalogue = Rc::new(ProgramCatalogue { make, made: OnceCell::new() });
        Self { catalogue, configure: Rc::new(|server| server) }
    }

    /// Configures the server of `serve`: its name and version, instructions, limits. Default: the name of the program.
    pub fn configure_server(mut self, configure: impl Fn(McpServer) -> McpServer + 'static) -> Self {
        self.configure = Rc::new(configure);
        self
    }
}

impl fmt::Debug for CatalogueCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogueCommands").field("catalogue", &self.catalogue.made).finish_non_exhaustive()
    }
}

impl Extension for CatalogueCommands {
    fn commands(&self) -> Vec<Box<dyn Command>> {
        let on_catalogue = |grammar: fn() -> clap::Command, run: RunOnCatalogue| -> Box<dyn Command> {
            Box::new(CatalogueCommand { grammar, run, catalogue: Rc::clone(&self.catalogue) })
        };
        vec![
            on_catalogue(prompts::grammar, prompts::run_command),
            on_catalogue(resources::grammar, resources::run_command),
            Box::new(Connect),
            Box::new(ServeCatalogue::new(Rc::clone(&self.catalogue), Rc::clone(&self.configure))),
        ]
    }

    fn items(&self, program: &Program) -> Result<Vec<Item>, Failure> {
        let take_snapshot =
            |catalogue: &Catalogue| CatalogueRequest::of_program(program, catalogue).snapshot_with_notes();
        let snapshot = self.catalogue.run_while_connected(program, take_snapshot)?;
        let tools = program.tools()?;
        let is_listed = |name: &str| tools.get(name).is_some();
        let items = snapshot.items().iter();
        // The tools of the program are listed by it.
        let others = items.filter(|item| item.tool().is_none_or(|tool| !is_listed(tool.definition().name())));
        let templates = snapshot.templates().iter().map(|template| list_entry_of_template(&**template));
        Ok(others.map(list_entry_of).chain(templates).collect())
    }
}

impl ProgramCatalogue {
    /// Runs `work` on the catalogue, which the first call makes, once its connectors are connected or have failed.
    ///
    /// # Errors
    ///
    /// If the tools of the program cannot be called, or the closure that makes the catalogue failed; and those of `work`.
    pub(super) fn run_while_connected<T>(
        &self,
        program: &Program,
        work: impl FnOnce(&Catalogue) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let catalogue = self.get_or_make(program)?;
        let (stop, mut running) = (CancellationToken::new(), JoinSet::new());
        program.block_on(async {
            let (catalogue, stop) = (catalogue.clone(), stop.clone());
            running.spawn({
                let catalogue = catalogue.clone();
                async move { catalogue.run(stop).await }
            });
            catalogue.wait_for_connectors().await;
        })?;
        let done = work(catalogue);
        stop.cancel();
        program.block_on(async { while running.join_next().await.is_some() {} })?;
        done
    }

    /// Returns the catalogue, which the first call makes.
    ///
    /// # Errors
    ///
    /// If the tools of the program cannot be called, an annotated function cannot be an item, or the closure failed.
    fn get_or_make(&self, program: &Program) -> Result<&Catalogue, Failure> {
        if let Some(catalogue) = self.made.get() {
            return Ok(catalogue);
        }
        let executor = program.executor()?.clone();
        let registry = program.callable()?;
        let catalogue = Catalogue::of_tools(Toolbox::from_registry(registry)).with_executor(executor);
        catalogue
            .add_discovered(registry)
            .map_err(|error| Failure::new(Exit::Unusable, error.to_string()))?;
        let Some(make) = self.make.take() else {
            return Err(Failure::new(Exit::Unusable, "the catalogue could not be made"));
        };
        let made = program.block_on(async { make(catalogue).await })?.map_err(|error| {
            Failure::quoting(
                Exit::Unusable,
                format!("the catalogue cannot be made: {}", error_chain(&*error)),
            )
        })?;
        Ok(self.made.get_or_init(|| made))
    }
}

/// Returns the text of an error with its sources.
pub(super) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

/// Runs a command on a catalogue.
type RunOnCatalogue = fn(&CatalogueRequest<'_>, &ArgMatches) -> Result<Exit, Failure>;

/// A command on the catalogue of the program.
struct CatalogueCommand {
    grammar: fn() -> clap::Command,
    run: RunOnCatalogue,
    catalogue: Rc<ProgramCatalogue>,
}

impl Command for CatalogueCommand {
    fn grammar(&self) -> clap::Command {
        (self.grammar)()
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let run =
            |catalogue: &Catalogue| (self.run)(&CatalogueRequest::of_program(program, catalogue), matches);
        self.catalogue.run_while_connected(program, run)
    }
}
