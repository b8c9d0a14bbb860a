//! A tool set with the lifetime of one request.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tool_runtime::{BoxFuture, Tool, ToolSet, context::ReadonlyContext, prelude::*};

pub(crate) struct Basket {
    customer: String,
    tools: Vec<Arc<dyn Tool>>,
    is_closed: AtomicBool,
}

/// The books in a basket.
#[derive(Default)]
struct Items(Mutex<Vec<String>>);

#[toolset(name = "basket")]
impl Items {
    /// Puts a book into the basket.
    #[tool]
    fn add(&self, title: String) -> String {
        let mut items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        items.push(title);
        format!("{} in the basket", items.len())
    }

    /// Lists the books in the basket.
    #[tool(read_only)]
    fn list(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Basket {
    pub(crate) fn open(customer: &str) -> anyhow::Result<Self> {
        println!("  opened the basket of {customer}");
        let items = Registry::builder().toolset(Items::default()).build()?;
        let tools = items.definitions().iter().filter_map(|it| items.get(it.name()).cloned()).collect();
        Ok(Self { customer: customer.to_owned(), tools, is_closed: AtomicBool::new(false) })
    }
}

impl ToolSet for Basket {
    fn name(&self) -> &str {
        "basket"
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async { Ok(self.tools.clone()) })
    }

    /// Closes the basket; later calls have no effect.
    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        if !self.is_closed.swap(true, Ordering::Relaxed) {
            println!("  closed the basket of {}", self.customer);
        }
        Box::pin(async { Ok(()) })
    }
}
