//! `fleet tools`.

use tool_cli::{Exit, Failure};
use tool_runtime::{RunContext, ToolSet as _, Toolbox, definition::ToolDefinition};

use super::{connection::connection_failure, fleet::FleetRequest};
use crate::FleetToolSet;

/// Lists the tools of a pool as a caller sees them.
pub(super) fn list_tools(request: &FleetRequest<'_>) -> Result<Exit, Failure> {
    let (program, connection) = (request.program, &request.connection);
    let connecting = FleetToolSet::connect(connection.broker.transport(), connection.key.clone());
    let set = program.block_on(connecting)?.map_err(|error| connection_failure(&error))?;
    // A pool that cannot be listed is an error, not an empty list.
    let run = RunContext::new();
    let listed = program.block_on(async { set.tools(run.read_only()).await.map(drop) })?;
    listed.map_err(|error| Failure::quoting(Exit::Failed, error.feedback()))?;
    let toolbox = Toolbox::new();
    toolbox.strict_listing(true);
    let failure = |error: &dyn std::error::Error| Failure::quoting(Exit::Failed, error.to_string());
    toolbox.add_toolset(set).map_err(|error| failure(&error))?;
    let snapshot = program.block_on(async { toolbox.snapshot(&run).await })?;
    let snapshot = snapshot.map_err(|error| failure(&error))?;
    snapshot.diagnostics().iter().for_each(|problem| program.note(&problem.to_string()));
    let tools = snapshot.into_tools();
    let definitions = request.limit_rows(tools.definitions().iter().collect());
    if request.has_json_output() {
        request.print_json(&definitions)?;
    } else if definitions.is_empty() {
        program.print("There are no tools.\n")?;
    } else {
        let row = |tool: &ToolDefinition| [tool.name().to_string(), first_paragraph(tool.description())];
        program.print_table(["Tool", "Description"], definitions.into_iter().map(row))?;
    }
    Ok(Exit::Done)
}

/// The first paragraph of a description, as one line.
fn first_paragraph(description: &str) -> String {
    let first = description.trim().split("\n\n").next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::first_paragraph;

    #[test]
    fn the_first_paragraph_is_one_line() {
        for (description, expected) in [
            ("", ""),
            ("Adds.", "Adds."),
            ("\n\n  Adds\n  two  numbers. \n\nMore.", "Adds two numbers."),
            ("Adds.\n\n\nMore.", "Adds."),
        ] {
            assert_eq!(first_paragraph(description), expected);
        }
    }
}
