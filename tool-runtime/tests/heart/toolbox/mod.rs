//! Toolboxes and tool sets.

mod announced;
mod controls;
mod hostile;
mod listing;
mod live;
mod reserved;
mod runs;
mod sets;
mod shown;
mod wrapped;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tool_runtime::{
    BoxFuture, RunContext, Tool, ToolSet, Toolbox, context::ReadonlyContext, prelude::*,
    registry::BuildError, toolbox::Snapshot,
};

/// Returns a tool that returns its own name and a text.
fn tool(name: &'static str, place: &'static str) -> Arc<dyn Tool> {
    let handler = move |_: Nothing, _cx| async move { Ok::<_, ToolError>(format!("{name} of {place}")) };
    Arc::new(ToolBuilder::new(name).description(format!("A tool of {place}.")).expect_handler(handler))
}

fn tools(names: &[&'static str], place: &'static str) -> Vec<Arc<dyn Tool>> {
    names.iter().map(|name| tool(name, place)).collect()
}

#[tool_args]
struct Nothing {}

/// A set that counts its calls, and fails on demand.
#[derive(Clone, Default)]
struct Remote {
    name: &'static str,
    tools: Arc<Mutex<Vec<Arc<dyn Tool>>>>,
    failure: Arc<Mutex<Option<&'static str>>>,
    listed: Arc<AtomicUsize>,
    closed: Arc<AtomicUsize>,
}

impl Remote {
    fn new(name: &'static str, tools: &[&'static str]) -> Self {
        let remote = Self { name, ..Self::default() };
        remote.offer(tools);
        remote
    }

    fn offer(&self, names: &[&'static str]) {
        *self.tools.lock().unwrap() = tools(names, self.name);
    }

    fn fail(&self, why: Option<&'static str>) {
        *self.failure.lock().unwrap() = why;
    }

    fn closed(&self) -> usize {
        self.closed.load(Ordering::SeqCst)
    }

    fn listed(&self) -> usize {
        self.listed.load(Ordering::SeqCst)
    }
}

impl ToolSet for Remote {
    fn name(&self) -> &str {
        self.name
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async {
            // Suspends once, like a remote set.
            tokio::task::yield_now().await;
            self.listed.fetch_add(1, Ordering::SeqCst);
            match *self.failure.lock().unwrap() {
                Some("panic") => panic!("the list is torn"),
                Some(why) => Err(ToolError::failed(why)),
                None => Ok(self.tools.lock().unwrap().clone()),
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        self.closed.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    }
}

fn boxed(set: impl ToolSet + 'static) -> Toolbox {
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    toolbox
}

fn snapshot(toolbox: &Toolbox) -> Result<Snapshot, BuildError> {
    crate::run(toolbox.snapshot(&RunContext::new()))
}

/// Returns the tool names of a run, which must have no diagnostics.
fn names(toolbox: &Toolbox) -> Vec<String> {
    let snapshot = snapshot(toolbox).unwrap();
    assert!(snapshot.diagnostics().is_empty(), "{:?}", snapshot.diagnostics());
    listed(&snapshot)
}

fn listed(snapshot: &Snapshot) -> Vec<String> {
    snapshot.tools().definitions().iter().map(|it| it.name().to_string()).collect()
}

fn diagnostics(snapshot: &Snapshot) -> Vec<String> {
    snapshot.diagnostics().iter().map(ToString::to_string).collect()
}

/// Returns the result of a call of `name`.
fn said(snapshot: &Snapshot, name: &str) -> String {
    let called = crate::run(snapshot.tools().call(name, "{}"));
    called.map_or_else(|error| error.feedback(), |output| output.text().into_owned())
}
