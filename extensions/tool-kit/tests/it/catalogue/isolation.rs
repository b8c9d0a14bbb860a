//! Changes while a snapshot is made.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
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

/// A connector whose prompts are listed when the test says so; it tells when it is asked for them.
struct Slow {
    asked: Arc<Notify>,
    ready: Arc<Notify>,
}

impl Connector for Slow {
    fn namespace(&self) -> &str {
        "slow"
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        Box::pin(async {
            self.asked.notify_one();
            self.ready.notified().await;
            Ok(vec![prompt("explain")])
        })
    }
}

#[tokio::test]
async fn a_catalogue_that_is_dropped_while_it_lists_ends_its_list_and_frees_its_items() {
    let (asked, ready) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let catalogue = Catalogue::new();
    let held = Arc::new(prompt("held"));
    catalogue.add_prompts([Arc::clone(&held) as Arc<dyn Prompt>]).unwrap();
    catalogue.connect(Slow { asked: Arc::clone(&asked), ready: Arc::clone(&ready) }).unwrap();
    let mut listener = catalogue.subscribe();

    // The list goes on without any other handle of the catalogue.
    let run = Arc::new(RunContext::new());
    let listing = {
        let (catalogue, run) = (catalogue.clone(), Arc::clone(&run));
        async move { catalogue.snapshot(&run).await }
    };
    let dropping = async {
        asked.notified().await;
        drop(catalogue);
        ready.notify_one();
    };
    let (snapshot, ()) = tokio::join!(listing, dropping);
    assert!(snapshot.as_ref().unwrap().lookup("slow.explain").is_ok());
    drop(snapshot);
    assert_eq!(Arc::strong_count(&held), 1);
    assert!(listener.next().await.is_none());

    // A list that is dropped with its catalogue keeps nothing.
    let catalogue = Catalogue::new();
    catalogue.add_prompts([Arc::clone(&held) as Arc<dyn Prompt>]).unwrap();
    catalogue.connect(Slow { asked: Arc::clone(&asked), ready }).unwrap();
    let listing = async move { catalogue.snapshot(&run).await.map(drop) };
    tokio::select! {
        listed = listing => panic!("{listed:?}"),
        () = asked.notified() => {}
    }
    assert_eq!(Arc::strong_count(&held), 1);
}
