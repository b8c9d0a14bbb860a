//! Changes while a snapshot is made.

use std::sync::{Arc, Mutex};

use tool_kit::{
    catalogue::{Catalogue, Connector},
    prompt::Prompt,
};
use tool_runtime::{BoxFuture, RunContext, ToolError};

use super::{keys, prompt, resource};

/// A connector that changes the catalogue once, while it is listed.
struct Changing(Mutex<Option<Catalogue>>);

impl Connector for Changing {
    fn namespace(&self) -> &str {
        "changing"
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        if let Some(catalogue) = self.0.lock().unwrap().take() {
            catalogue.add_prompts([prompt("late")]).unwrap();
            catalogue.add_resources([resource("late:1")]).unwrap();
            catalogue.remove("early").unwrap();
            catalogue.remove("early:1").unwrap();
        }
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

#[tokio::test]
async fn a_snapshot_has_the_items_of_the_time_at_which_it_began() {
    let catalogue = Catalogue::new();
    catalogue.add_prompts([prompt("early")]).unwrap();
    catalogue.add_resources([resource("early:1")]).unwrap();
    catalogue.connect(Changing(Mutex::new(Some(catalogue.clone())))).unwrap();
    assert_eq!(keys(&catalogue).await, ["early", "early:1"]);
    assert_eq!(keys(&catalogue).await, ["late", "late:1"]);
}
