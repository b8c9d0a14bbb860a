//! Tools that panic, or access their toolbox, in `definition` or when they are dropped.

use std::{sync::mpsc::channel, thread, time::Duration};

use tool_runtime::{
    Registry, RunContext, ToolDefinition, ToolName,
    definition::Prepared,
    schema::{Arguments, InputSchema},
    toolset::{NamedTools, ToolSetExt},
};

use super::*;

/// A tool whose `definition` may be called once, with an action on drop.
struct Hostile {
    definition: ToolDefinition,
    asked: AtomicUsize,
    on_drop: Box<dyn Fn() + Send + Sync>,
}

fn hostile(name: &'static str, on_drop: impl Fn() + Send + Sync + 'static) -> Hostile {
    let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
    let definition = ToolDefinition::new(ToolName::new(name).unwrap(), "Is made by hand.", schema);
    Hostile { definition, asked: AtomicUsize::new(0), on_drop: Box::new(on_drop) }
}

impl Tool for Hostile {
    fn definition(&self) -> &ToolDefinition {
        assert_eq!(self.asked.fetch_add(1, Ordering::SeqCst), 0, "asked again");
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| Box::pin(async { Ok("done".into()) })))
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        (self.on_drop)();
    }
}

/// Runs `change`, which must return.
fn ends(change: impl FnOnce() + Send + 'static) {
    let (done, ended) = channel();
    thread::spawn(move || {
        change();
        let _ = done.send(());
    });
    ended.recv_timeout(Duration::from_secs(60)).expect("a tool is dropped while the toolbox is locked");
}

// L01
#[test]
fn no_change_drops_a_tool_while_the_toolbox_is_locked() {
    // Accesses the toolbox when it is dropped.
    let looking = |toolbox: &Toolbox, name| {
        let toolbox = toolbox.clone();
        hostile(name, move || drop(toolbox.toolsets()))
    };
    ends(move || {
        let toolbox = Toolbox::new();
        toolbox.add(looking(&toolbox, "a")).unwrap();
        assert!(toolbox.add(looking(&toolbox, "a")).is_err());
        assert!(toolbox.replace(looking(&toolbox, "a")).unwrap());
        let twice = ["b", "b"].map(|name| Arc::new(looking(&toolbox, name)) as Arc<dyn Tool>);
        assert!(toolbox.set_tools(twice).is_err());
        toolbox.set_tools([Arc::new(looking(&toolbox, "b")) as Arc<dyn Tool>]).unwrap();
        assert!(toolbox.remove("b"));
        let set = |name| NamedTools::new("set", [Arc::new(looking(&toolbox, name)) as Arc<dyn Tool>]);
        assert!(!toolbox.add_toolset(set("a")).unwrap());
        assert!(toolbox.add_toolset(set("a")).unwrap());
        toolbox.set_toolsets([Arc::new(set("a")) as Arc<dyn ToolSet>]).unwrap();
        assert!(toolbox.remove_toolset("set"));
    });
}

// L01
#[test]
fn a_tool_that_panics_on_drop_does_not_affect_a_toolbox() {
    let bomb = |name| hostile(name, || panic!("a bomb"));
    let toolbox = Toolbox::new();
    let mut changes = toolbox.changes();
    toolbox.add(bomb("a")).unwrap();
    assert!(toolbox.add(bomb("a")).is_err());
    assert!(toolbox.replace(bomb("a")).unwrap());
    assert!(crate::run(changes.changed()));
    assert!(toolbox.remove("a"));
    // The change is announced nevertheless.
    assert!(changes.has_changed());
    let remote = Remote::new("remote", &[]);
    toolbox.add_toolset(remote.clone()).unwrap();
    for name in ["b", "c", "d"] {
        *remote.tools.lock().unwrap() = vec![Arc::new(bomb(name)), tool("e", "remote")];
        let tools = snapshot(&toolbox).unwrap().into_tools();
        let names: Vec<_> = tools.definitions().iter().map(|it| it.name().to_string()).collect();
        assert_eq!(names, [name, "e"]);
    }
}

// L02
#[test]
fn the_definition_of_a_tool_is_requested_once() {
    let quiet = |name| Arc::new(hostile(name, || ())) as Arc<dyn Tool>;
    let set = NamedTools::new("set", [quiet("a"), quiet("b")]);
    let adapted = set.filtered(|_, _| true).renamed([("a", "c")]).confirmed(|_, _| true).prefixed();
    let toolbox = Toolbox::new();
    toolbox.add_toolset(adapted).unwrap();
    toolbox.add(hostile("direct", || ())).unwrap();
    for _ in 0..2 {
        let tools = crate::run(toolbox.snapshot(&RunContext::new())).unwrap().into_tools();
        let names: Vec<_> = tools.definitions().iter().map(|it| it.name().to_string()).collect();
        assert_eq!(names, ["direct", "set__b", "set__c"]);
        let said = crate::run(tools.call("direct", "{}")).unwrap();
        assert_eq!(said.text(), "done");
    }
}

// L04
#[test]
fn a_tool_whose_definition_panics_is_a_problem_of_its_set() {
    let silent = || {
        let silent = hostile("silent", || ());
        silent.asked.store(1, Ordering::SeqCst);
        silent
    };
    let error = Registry::builder().add(silent()).add(hostile("a", || ())).build().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Hostile` panicked when it was made: assertion"), "{text}");
    let toolbox = Toolbox::new();
    assert!(toolbox.add(silent()).is_err());
    let tools: [Arc<dyn Tool>; 2] = [Arc::new(silent()), Arc::new(hostile("a", || ()))];
    toolbox.add_toolset(NamedTools::new("set", tools)).unwrap();
    let snapshot = snapshot(&toolbox).unwrap();
    assert_eq!(listed(&snapshot), ["a"]);
    assert!(diagnostics(&snapshot)[0].contains("panicked when it was made"), "{:?}", diagnostics(&snapshot));
}

// L01, L04
#[test]
fn a_panic_on_drop_does_not_reach_the_code_that_adds_or_removes_a_tool() {
    /// A set that lists new, unusable tools each time, and keeps no reference to them.
    struct Bombs;
    impl ToolSet for Bombs {
        fn name(&self) -> &'static str {
            "bombs"
        }
        fn tools<'a>(
            &'a self,
            _: ReadonlyContext<'a>,
        ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
            Box::pin(async { Ok(vec![Arc::new(silent()) as Arc<dyn Tool>]) })
        }
    }
    impl Drop for Bombs {
        fn drop(&mut self) {
            panic!("a bomb");
        }
    }
    fn silent() -> Hostile {
        let silent = hostile("silent", || panic!("a bomb"));
        silent.asked.store(1, Ordering::SeqCst);
        silent
    }
    let registries = [
        Registry::builder().add(silent()),
        Registry::builder().replace(silent()),
        Registry::builder().output_tool(silent()),
    ];
    for registry in registries {
        let text = registry.build().unwrap_err().to_string();
        assert!(text.contains("Hostile` panicked when it was made: assertion"), "{text}");
    }
    let toolbox = Toolbox::new();
    assert!(toolbox.add(silent()).is_err());
    assert!(toolbox.replace(silent()).is_err());
    assert!(toolbox.set_tools([Arc::new(silent()) as Arc<dyn Tool>]).is_err());
    toolbox.add_toolset(Bombs).unwrap();
    let snapshot = snapshot(&toolbox).unwrap();
    assert_eq!((listed(&snapshot).len(), snapshot.diagnostics().len()), (0, 1));
    let mut changes = toolbox.changes();
    assert!(toolbox.remove_toolset("bombs"));
    assert!(changes.has_changed() && crate::run(changes.changed()));
}
