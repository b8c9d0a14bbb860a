//! A tool set with the lifetime of the program, whose tools depend on the run.

use std::sync::Arc;

use tool_runtime::{BoxFuture, Tool, ToolSet, context::ReadonlyContext, prelude::*};

pub(crate) struct Catalogue {
    find: Arc<dyn Tool>,
    order: Arc<dyn Tool>,
}

#[tool_args]
struct Title {
    /// The title of a book.
    title: String,
}

impl Catalogue {
    pub(crate) fn open() -> anyhow::Result<Self> {
        println!("opened the catalogue");
        let find = ToolBuilder::new("find")
            .description("Returns the shelf of a book.")
            .handler(|Title { title }, _| async move { Ok::<_, ToolError>(format!("{title}: shelf 7")) })?;
        let order = ToolBuilder::new("order")
            .description("Orders a book from the publisher.")
            .handler(|Title { title }, _| async move { Ok::<_, ToolError>(format!("{title}: ordered")) })?;
        Ok(Self { find: Arc::new(find), order: Arc::new(order) })
    }
}

impl ToolSet for Catalogue {
    fn name(&self) -> &str {
        "catalogue"
    }

    /// Lists `order` for staff only.
    fn tools<'a>(&'a self, cx: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        let mut tools = vec![Arc::clone(&self.find)];
        if cx.state().get("staff") == Some(&json!(true)) {
            tools.push(Arc::clone(&self.order));
        }
        Box::pin(async { Ok(tools) })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        println!("closed the catalogue");
        Box::pin(async { Ok(()) })
    }
}
