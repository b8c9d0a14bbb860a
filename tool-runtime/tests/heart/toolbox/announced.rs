//! Events of a toolbox.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tool_runtime::{
    BoxFuture, Tool, ToolSet, Toolbox,
    context::ReadonlyContext,
    event::Lagged,
    prelude::*,
    request::request_fn,
    toolbox::{ToolboxChange, ToolboxEvent, ToolboxListener, Visibility},
    toolset::{ToolSetExt, ToolSetNotifier},
};

use super::{Remote, names, tool, tools};
use crate::run;

fn event_texts(listener: &mut ToolboxListener) -> Vec<String> {
    std::iter::from_fn(|| listener.try_next()).map(|event| event.unwrap().to_string()).collect()
}

// L08, U06
#[test]
fn each_change_of_a_toolbox_is_an_event() {
    let toolbox = Toolbox::new();
    let mut listener = toolbox.subscribe();
    let mut becomes = |change: &dyn Fn(), expected: &[&str]| {
        change();
        assert_eq!(event_texts(&mut listener), expected);
    };
    becomes(&|| toolbox.add(tool("a", "here")).unwrap(), &["the tool `a` was added"]);
    becomes(&|| assert!(toolbox.add(tool("a", "here")).is_err()), &[]);
    becomes(&|| assert!(toolbox.replace(tool("a", "there")).unwrap()), &["the tool `a` was replaced"]);
    becomes(&|| assert!(!toolbox.replace(tool("b", "there")).unwrap()), &["the tool `b` was added"]);
    becomes(
        &|| toolbox.set_tools(tools(&["b", "c"], "here")).unwrap(),
        &["the tool `a` was removed", "the tool `b` was replaced", "the tool `c` was added"],
    );
    becomes(&|| assert!(toolbox.remove("c") && !toolbox.remove("c")), &["the tool `c` was removed"]);
    becomes(
        &|| assert!(!toolbox.set_output_tool(tool(tool_runtime::registry::OUTPUT_TOOL, "here")).unwrap()),
        &["the tool `submit_output` was added"],
    );
    let set = |name| Arc::new(Remote::new(name, &[])) as Arc<dyn ToolSet>;
    becomes(&|| assert!(!toolbox.add_toolset(set("x")).unwrap()), &["the set `x` was added"]);
    becomes(&|| assert!(toolbox.add_toolset(set("x")).unwrap()), &["the set `x` was replaced"]);
    becomes(
        &|| toolbox.set_toolsets([set("x"), set("y")]).unwrap(),
        &["the set `x` was replaced", "the set `y` was added"],
    );
    becomes(
        &|| toolbox.set_toolsets([set("y")]).unwrap(),
        &["the set `x` was removed", "the set `y` was replaced"],
    );
    becomes(&|| toolbox.announce("y"), &["the tools of the set `y` changed"]);
    becomes(&|| assert!(toolbox.remove_toolset("y")), &["the set `y` was removed"]);
    becomes(&|| toolbox.show(Visibility::all()), &["the settings changed"]);
    becomes(&|| toolbox.request_hook(request_fn(|_| async { Ok(()) })), &["the settings changed"]);
}

// H15
#[test]
fn a_slow_listener_is_informed_about_missed_events_and_delays_no_change() {
    let toolbox = Toolbox::new();
    let mut listener = toolbox.subscribe();
    for _ in 0..150 {
        toolbox.add(tool("a", "here")).unwrap();
        toolbox.remove("a");
    }
    assert_eq!(run(listener.next()).unwrap().unwrap_err(), Lagged { missed: 300 - 256 });
    assert_eq!(event_texts(&mut listener).len(), 256);
    drop(toolbox);
    assert!(run(listener.next()).is_none());
}

#[test]
fn events_of_a_toolbox_are_serialized_as_tagged_json() {
    let toolbox = Toolbox::new();
    let mut listener = toolbox.subscribe();
    toolbox.add(tool("a", "here")).unwrap();
    toolbox.announce("x");
    let event = listener.try_next().unwrap().unwrap();
    assert_eq!(json!(event), json!({ "type": "tool", "name": "a", "change": "added" }));
    let event = listener.try_next().unwrap().unwrap();
    assert_eq!(event, ToolboxEvent::ToolSet { name: "x".into(), change: ToolboxChange::Changed });
    assert_eq!(json!(event), json!({ "type": "toolSet", "name": "x", "change": "changed" }));
}

/// A set that announces its changes, and may panic when it is attached.
#[derive(Clone)]
struct Live(Remote, Arc<Mutex<Vec<ToolSetNotifier>>>, bool);

impl Live {
    fn new(remote: Remote) -> Self {
        Self(remote, Arc::default(), false)
    }

    fn change(&self, tools: &[&'static str]) {
        self.0.offer(tools);
        let announcers: Vec<ToolSetNotifier> = self.1.lock().unwrap().clone();
        announcers.iter().for_each(ToolSetNotifier::announce);
    }
}

impl ToolSet for Live {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn tools<'a>(&'a self, cx: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        self.0.tools(cx)
    }

    fn attached(&self, announcer: ToolSetNotifier) {
        assert!(!self.2, "boom");
        self.1.lock().unwrap().push(announcer);
    }
}

// U06, U43, L08
#[test]
fn a_set_that_announces_a_change_is_listed_again() {
    let live = Live::new(Remote::new("x", &["old"]));
    // Wrappers forward the announcement, and cached lists are refreshed.
    let toolbox = Toolbox::new();
    toolbox.add_toolset(live.clone().filtered(|_, _| true).listed_once().prefixed()).unwrap();
    let (mut listener, mut changes) = (toolbox.subscribe(), toolbox.changes());
    assert_eq!((names(&toolbox), names(&toolbox)), (vec!["x__old".to_owned()], vec!["x__old".to_owned()]));
    assert_eq!(live.0.listed(), 1);
    live.change(&["new"]);
    assert_eq!(event_texts(&mut listener), ["the tools of the set `x` changed"]);
    assert!(changes.has_changed() && run(changes.changed()));
    assert_eq!(names(&toolbox), ["x__new"]);
    assert_eq!(live.0.listed(), 2);
    // Announcements of a removed set are ignored.
    toolbox.remove_toolset("x");
    assert_eq!(event_texts(&mut listener), ["the set `x` was removed"]);
    live.change(&["newer"]);
    assert_eq!(event_texts(&mut listener), [""; 0]);
    // A notifier does not keep the toolbox alive.
    drop(toolbox);
    assert!(run(listener.next()).is_none());
    live.change(&["newest"]);
}

// J10
#[test]
fn a_set_that_panics_when_it_is_attached_is_added() {
    let toolbox = Toolbox::new();
    toolbox.add_toolset(Live(Remote::new("x", &["a"]), Arc::default(), true)).unwrap();
    assert_eq!(names(&toolbox), ["a"]);
}

// L08: no lock is held while a set announces.
#[test]
fn a_set_may_announce_while_it_is_attached() {
    struct Eager(AtomicUsize);
    impl ToolSet for Eager {
        fn name(&self) -> &str {
            "eager"
        }

        fn tools<'a>(
            &'a self,
            _: ReadonlyContext<'a>,
        ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn attached(&self, announcer: ToolSetNotifier) {
            self.0.fetch_add(1, Ordering::SeqCst);
            announcer.announce();
        }
    }
    let (toolbox, eager) = (Toolbox::new(), Arc::new(Eager(AtomicUsize::new(0))));
    let mut listener = toolbox.subscribe();
    toolbox.add_toolset(Arc::clone(&eager)).unwrap();
    assert_eq!(
        event_texts(&mut listener),
        ["the set `eager` was added", "the tools of the set `eager` changed"]
    );
    assert_eq!(eager.0.load(Ordering::SeqCst), 1);
}
