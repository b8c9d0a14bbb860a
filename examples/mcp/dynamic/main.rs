//! A server whose tools change while it runs: each line of the file `MENU` is a dish that can be ordered.
//!
//! ```sh
//! MENU=menu.txt cargo run --bin mcp-dynamic -- serve --http 127.0.0.1:3001
//! cargo run --bin mcp-command -- mcp call http://127.0.0.1:3001/mcp seat --header "X-Table: 4"
//! ```
//!
//! While the file cannot be read, the server has its other tools, and notes what it lacks on the standard error.

use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use tool_cli::Cli;
use tool_mcp::{cli::Serve, server::RequestHeaders};
use tool_runtime::{
    BoxFuture, Tool, ToolSet, Toolbox, context::ReadonlyContext, prelude::*, toolset::ToolSetExt as _,
};

/// Tells the table of the guest, which each request names in a header of its own.
#[tool(read_only)]
fn seat(headers: Option<&RequestHeaders>) -> String {
    let table = headers.and_then(|headers| headers.get("x-table")?.to_str().ok());
    format!("table {}", table.unwrap_or("unknown"))
}

/// The dishes of a file, each of which is a tool.
struct Menu {
    file: PathBuf,
    /// A dish that stays on the menu stays the same tool.
    dishes: Mutex<BTreeMap<String, Arc<dyn Tool>>>,
}

#[tool_args]
struct Order {
    /// Number of plates.
    plates: u32,
}

fn dish(name: &str) -> Result<Arc<dyn Tool>, ToolError> {
    let plate = name.to_owned();
    let order = ToolBuilder::new(name.to_owned()).description(format!("Orders {name}.")).handler(
        move |order: Order, _| {
            let text = format!("{} x {plate}", order.plates);
            async move { Ok::<_, ToolError>(text) }
        },
    );
    Ok(Arc::new(order.map_err(ToolError::from_source)?))
}

impl ToolSet for Menu {
    fn name(&self) -> &str {
        "menu"
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async {
            let text = fs::read_to_string(&self.file)
                .map_err(|error| ToolError::failed(format!("the menu cannot be read: {error}")))?;
            let mut dishes = self.dishes.lock().unwrap_or_else(PoisonError::into_inner);
            let names = text.lines().map(str::trim).filter(|name| !name.is_empty());
            let listed = names.map(|name| {
                let known = dishes.get(name).cloned();
                Ok((name.to_owned(), known.map_or_else(|| dish(name), Ok)?))
            });
            *dishes = listed.collect::<Result<_, ToolError>>()?;
            Ok(dishes.values().cloned().collect())
        })
    }
}

fn toolbox() -> anyhow::Result<Toolbox> {
    let toolbox = Toolbox::from_registry(&Registry::discover()?);
    let file = env::var_os("MENU").unwrap_or_else(|| "menu.txt".into()).into();
    toolbox.add_toolset(Menu { file, dishes: Mutex::default() }.prefixed())?;
    Ok(toolbox)
}

fn main() -> anyhow::Result<ExitCode> {
    let toolbox = toolbox()?;
    Ok(Cli::new().command(Serve::new().configure(move |server| server.tools(toolbox.clone()))).main())
}
