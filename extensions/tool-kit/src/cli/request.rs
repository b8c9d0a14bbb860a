//! A command on a catalogue: its snapshot, and the forms of its output.

use std::sync::Arc;

use serde::Serialize;
use tool_cli::{
    Exit, Failure, Item, Program,
    clap::{Arg, ArgAction, ArgMatches},
};
use tool_runtime::{
    ErrorKind, RunContext, ToolError,
    policy::Escape,
    serde_json::{self, Value},
};

use crate::{
    catalogue::{BUILTIN, Catalogue, CatalogueItem, CatalogueSnapshot, ItemKind, ItemObject},
    problem::problem_text,
    resource::ResourceTemplate,
};

/// The maximum number of notes on items that a catalogue leaves out.
const MAX_NOTES: usize = 20;

/// The maximum number of characters of a text within a line.
const MAX_LINE_CHARS: usize = 300;

/// A command on a catalogue.
pub(super) struct CatalogueRequest<'p> {
    pub(super) program: &'p Program,
    pub(super) catalogue: &'p Catalogue,
    pub(super) run: Arc<RunContext>,
    /// The words of the command line before `prompts` or `resources`, for messages.
    command: String,
    /// `true` for the items of one server alone, which are shown without its namespace.
    is_of_one_server: bool,
}

impl<'p> CatalogueRequest<'p> {
    /// A command on the catalogue of the program.
    pub(super) fn of_program(program: &'p Program, catalogue: &'p Catalogue) -> Self {
        let (run, command) = (Arc::new(RunContext::new()), program.name().to_owned());
        Self { program, catalogue, run, command, is_of_one_server: false }
    }

    /// A command on the items of one server, which the command line names by `words`.
    pub(super) fn of_server(program: &'p Program, catalogue: &'p Catalogue, words: &str) -> Self {
        let command = format!("{} {words}", program.name());
        Self { command, is_of_one_server: true, ..Self::of_program(program, catalogue) }
    }

    /// Takes a snapshot.
    pub(super) fn snapshot(&self) -> Result<CatalogueSnapshot, Failure> {
        let snapshot = self.program.block_on(self.catalogue.snapshot(&self.run))?;
        snapshot.map_err(|error| Failure::quoting(Exit::Unusable, error.to_string()))
    }

    /// Takes a snapshot for a list of it, with a note for each problem.
    pub(super) fn snapshot_with_notes(&self) -> Result<CatalogueSnapshot, Failure> {
        let snapshot = self.snapshot()?;
        self.note_problems(&snapshot);
        Ok(snapshot)
    }

    /// Writes a note for each problem of a snapshot: items may be missing.
    fn note_problems(&self, snapshot: &CatalogueSnapshot) {
        let of_tools = snapshot.toolbox_snapshot().diagnostics().iter().map(ToString::to_string);
        let of_others = snapshot.diagnostics().iter().map(|it| it.message.clone());
        let problems: Vec<_> = of_tools.chain(of_others).collect();
        problems.iter().take(MAX_NOTES).for_each(|problem| self.program.note(problem));
        if problems.len() > MAX_NOTES {
            self.program.note(&format!("there are {} more problems", problems.len() - MAX_NOTES));
        }
    }

    /// Finds an item of a kind, or returns a failure that names the command that lists them, after notes on what may be missing.
    pub(super) fn find_item<'s>(
        &self,
        snapshot: &'s CatalogueSnapshot,
        kind: ItemKind,
        key: &str,
    ) -> Result<&'s CatalogueItem, Failure> {
        snapshot.lookup_kind(kind, key).map_err(|error| self.lookup_failure(snapshot, kind, key, &error))
    }

    /// Returns the failure of a look-up, which names the command that lists the items, after notes on what may be missing.
    pub(super) fn lookup_failure(
        &self,
        snapshot: &CatalogueSnapshot,
        kind: ItemKind,
        key: &str,
        error: &ToolError,
    ) -> Failure {
        if error.kind() != ErrorKind::NotFound {
            return tool_failure(error);
        }
        self.note_problems(snapshot);
        let (kind, key, command) = (kind_name(kind), escape_to_line(key), escape_to_line(&self.command));
        let message = format!("there is no {kind} `{key}`");
        Failure::usage(format!("{message}\n\n`{command} {kind}s list` lists all {kind}s"))
    }

    /// Returns `true` for the items of one server alone.
    pub(super) fn is_of_one_server(&self) -> bool {
        self.is_of_one_server
    }

    /// Returns the key by which a command finds an item.
    pub(super) fn command_key<'i>(&self, item: &'i CatalogueItem) -> &'i str {
        if self.is_of_one_server { item.name() } else { item.key() }
    }

    /// Writes a table of items, whose last column is the origin unless all have the same one; or a line if there are none.
    pub(super) fn print_items<'i>(
        &self,
        header: [&str; 3],
        items: impl IntoIterator<Item = (&'i CatalogueItem, [String; 3])>,
    ) -> Result<Exit, Failure> {
        let [first, second, third] = header;
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            self.program.print(&format!("There are no {}s.\n", first.to_lowercase()))?;
        } else if self.is_of_one_server {
            self.program.print_table(header, items.map(|(_, cells)| cells))?;
        } else {
            let rows = items.map(|(item, [one, two, three])| [one, two, three, item.namespace().to_owned()]);
            self.program.print_table([first, second, third, "Origin"], rows)?;
        }
        Ok(Exit::Done)
    }

    pub(super) fn print_json<T: Serialize + ?Sized>(&self, value: &T) -> Result<Exit, Failure> {
        let json = serde_json::to_string_pretty(value).map_err(|error| {
            Failure::new(Exit::Failed, format!("the output cannot be written as JSON: {error}"))
        })?;
        self.program.print_json(&(json + "\n"))?;
        Ok(Exit::Done)
    }
}

/// The option `--json`.
pub(super) fn json_option() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write JSON")
}

/// Returns an argument of the command line; empty if it is absent.
pub(super) fn text_argument<'m>(matches: &'m ArgMatches, name: &str) -> &'m str {
    matches.get_one::<String>(name).map(String::as_str).unwrap_or_default()
}

pub(super) fn kind_name(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "tool",
        ItemKind::Prompt => "prompt",
        ItemKind::Resource => "resource",
    }
}

/// Returns an item as the commands about all items list it.
pub(super) fn list_entry_of(item: &CatalogueItem) -> Item {
    let (title, description) = match item.object() {
        ItemObject::Tool(tool) => {
            let definition = tool.definition();
            let title = Some(definition.title()).filter(|title| *title != definition.name().as_str());
            (title, Some(definition.description()))
        }
        ItemObject::Prompt(prompt) => (prompt.definition().title(), prompt.definition().description()),
        ItemObject::Resource(resource) => (Some(resource.name()), resource.description()),
    };
    let mut listed = Item::new(kind_name(item.kind()), item.key(), item.namespace());
    listed.title = title.map(str::to_owned);
    listed.description = description.map(str::to_owned);
    listed.with_definition(definition_of(item))
}

/// Returns a template of the program as the commands about all items list it.
pub(super) fn list_entry_of_template(template: &dyn ResourceTemplate) -> Item {
    let mut listed =
        Item::new("template", template.uri_template().as_str(), BUILTIN).with_title(template.name());
    listed.description = template.description().map(str::to_owned);
    listed.with_definition(super::resources::described_template(template))
}

/// Returns the definition of an item as the protocol has it, or `null` if it has no JSON.
fn definition_of(item: &CatalogueItem) -> Value {
    let definition = match item.object() {
        ItemObject::Tool(tool) => serde_json::to_value(tool.definition()),
        ItemObject::Prompt(prompt) => serde_json::to_value(prompt.definition()),
        ItemObject::Resource(resource) => Ok(super::resources::described_resource(&**resource)),
    };
    definition.unwrap_or_default()
}

/// Returns the failure of an item.
pub(super) fn tool_failure(error: &ToolError) -> Failure {
    let exit = match error.kind() {
        ErrorKind::BadParameter | ErrorKind::InvalidArguments | ErrorKind::NotFound => Exit::Usage,
        ErrorKind::Denied | ErrorKind::ApprovalRequired => Exit::Refused,
        ErrorKind::Cancelled => Exit::Cancelled,
        _ => Exit::Failed,
    };
    Failure::quoting(exit, problem_text(error))
}

/// Escapes and shortens `text` to a part of one line.
pub(super) fn escape_to_line(text: &str) -> String {
    Escape::LINE.at_most(MAX_LINE_CHARS).text(text)
}

/// Returns the first paragraph of a description, as one line.
pub(super) fn first_paragraph(description: Option<&str>) -> String {
    let first = description.unwrap_or_default().trim().split("\n\n").next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `true` for the items of the program itself.
pub(super) fn is_builtin(item: &CatalogueItem) -> bool {
    item.namespace() == BUILTIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_of_an_item_has_the_exit_code_of_its_kind() {
        for (kind, exit) in [
            (ErrorKind::BadParameter, "Usage"),
            (ErrorKind::InvalidArguments, "Usage"),
            (ErrorKind::NotFound, "Usage"),
            (ErrorKind::Denied, "Refused"),
            (ErrorKind::ApprovalRequired, "Refused"),
            (ErrorKind::Cancelled, "Cancelled"),
            (ErrorKind::Failed, "Failed"),
            (ErrorKind::TimedOut, "Failed"),
        ] {
            let failure = format!("{:?}", tool_failure(&ToolError::new(kind, "the problem")));
            assert!(failure.contains(&format!("exit: {exit},")), "{kind:?}: {failure}");
            assert!(failure.contains("the problem"), "{kind:?}: {failure}");
        }
    }

    #[test]
    fn texts_within_a_line_are_short() {
        for (description, expected) in
            [(None, ""), (Some("\n\n One\n  line. \n\nAnother."), "One line."), (Some("One."), "One.")]
        {
            assert_eq!(first_paragraph(description), expected);
        }
        let longest = "x".repeat(300);
        assert_eq!(escape_to_line(&longest), longest);
        assert!(!escape_to_line(&format!("{longest}x")).contains(&format!("{longest}x")));
        assert_eq!(escape_to_line("a\nb").lines().count(), 1);
    }
}
