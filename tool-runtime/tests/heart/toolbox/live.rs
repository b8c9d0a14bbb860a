//! Changes of a toolbox while it is in use.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures_util::FutureExt;
use tool_runtime::{
    RunContext, ToolSet, Toolbox,
    toolbox::Origin,
    toolset::{NamedTools, ToolSetExt},
};

use super::{Remote, boxed, listed, names, said, snapshot, tool, tools};
use crate::run;

// L07
#[test]
fn direct_tools_are_added_replaced_removed_and_set() {
    let toolbox = Toolbox::new();
    toolbox.add(tool("a", "first")).unwrap();
    assert_eq!(
        toolbox.add(tool("a", "second")).unwrap_err().to_string(),
        "the tools cannot be used: 2 tools are named `a`: a direct tool, a direct tool; rename one, or prefix its set"
    );
    assert_eq!(said(&snapshot(&toolbox).unwrap(), "a"), "a of first");
    assert!(toolbox.replace(tool("a", "second")).unwrap());
    assert!(!toolbox.replace(tool("b", "second")).unwrap());
    assert_eq!(said(&snapshot(&toolbox).unwrap(), "a"), "a of second");
    assert_eq!((toolbox.remove("a"), toolbox.remove("a")), (true, false));
    assert_eq!(names(&toolbox), ["b"]);
    toolbox.set_tools(tools(&["c", "d"], "third")).unwrap();
    assert_eq!(names(&toolbox), ["c", "d"]);
    assert!(toolbox.set_tools(tools(&["e", "e"], "fourth")).is_err());
    assert_eq!(names(&toolbox), ["c", "d"]);
}

// L07
#[test]
fn a_set_replaces_a_set_of_the_same_name() {
    let toolbox = boxed(Remote::new("a", &["old"]));
    toolbox.add_toolset(Remote::new("b", &["x"])).unwrap();
    assert!(toolbox.add_toolset(Remote::new("a", &["new"])).unwrap());
    assert_eq!(names(&toolbox), ["new", "x"]);
    let places: Vec<_> = toolbox.toolsets().iter().map(|set| set.name().to_owned()).collect();
    assert_eq!(places, ["a", "b"]);
    assert_eq!((toolbox.remove_toolset("a"), toolbox.remove_toolset("a")), (true, false));
    assert_eq!(names(&toolbox), ["x"]);
    let sets: [Arc<dyn ToolSet>; 3] = [
        Arc::new(Remote::new("c", &["c"])),
        Arc::new(Remote::new("d", &["lost"])),
        Arc::new(Remote::new("d", &["d"])),
    ];
    toolbox.set_toolsets(sets).unwrap();
    assert_eq!(names(&toolbox), ["c", "d"]);
}

// L07
#[test]
fn sets_without_a_name_do_not_replace_each_other() {
    let toolbox = boxed(Remote::new("", &["a"]));
    assert!(!toolbox.add_toolset(Remote::new("", &["b"])).unwrap());
    assert_eq!(names(&toolbox), ["a", "b"]);
    assert!(toolbox.remove_toolset(""));
    assert_eq!(names(&toolbox), [""; 0]);
}

// L08
#[test]
fn the_origin_of_a_tool_is_determined_for_each_run() {
    let toolbox = boxed(Remote::new("a", &["x"]));
    assert_eq!(snapshot(&toolbox).unwrap().origin("x"), Some(&Origin::ToolSet("a".into())));
    toolbox.remove_toolset("a");
    toolbox.add(tool("x", "here")).unwrap();
    assert_eq!(snapshot(&toolbox).unwrap().origin("x"), Some(&Origin::Direct));
}

// L08
#[test]
fn a_snapshot_is_consistent_under_concurrent_changes() {
    const RUNS: usize = 8;
    let toolbox = Toolbox::new();
    // Each state is a pair of a direct tool and a set; a single half would be an inconsistent snapshot.
    let pairs = [["a1", "a2"], ["b1", "b2"]];
    // Created in advance, so that there are many changes.
    let (made, passing) = (pairs.map(|pair| tools(&pair, "here")), tool("passing", "here"));
    toolbox.set_tools(made[0].clone()).unwrap();
    toolbox.add_toolset(NamedTools::new("set", made[0].clone()).prefixed()).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            for at in (0..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                let pair = &made[at % 2];
                toolbox.set_tools(pair.clone()).unwrap();
                toolbox.add_toolset(NamedTools::new("set", pair.clone()).prefixed()).unwrap();
                toolbox.add(Arc::clone(&passing)).unwrap();
                assert!(toolbox.remove("passing"));
            }
        });
        let look = || {
            for _ in 0..2000 {
                let seen = toolbox.snapshot(&RunContext::new()).now_or_never().unwrap().unwrap();
                let seen = listed(&seen);
                let direct: Vec<_> =
                    seen.iter().filter(|it| !it.contains("__") && *it != "passing").collect();
                let of_set: Vec<_> = seen.iter().filter_map(|it| it.strip_prefix("set__")).collect();
                assert!(pairs.iter().any(|pair| direct == *pair), "{seen:?}");
                assert!(pairs.iter().any(|pair| of_set == *pair), "{seen:?}");
            }
        };
        let runs: Vec<_> = (0..RUNS).map(|_| scope.spawn(look)).collect();
        let looks: Vec<_> = runs.into_iter().map(|run| run.join().is_ok()).collect();
        is_over.store(true, Ordering::Relaxed);
        changes.join().unwrap();
        assert_eq!(looks, [true; RUNS]);
    });
}

// L08
#[test]
fn changes_do_not_wait_for_a_set_that_is_being_listed() {
    let toolbox = boxed(Remote::new("slow", &["a"]));
    let context = RunContext::new();
    let mut asked = Box::pin(toolbox.snapshot(&context));
    // The listing has started and is pending.
    assert!(asked.as_mut().now_or_never().is_none());
    assert!(toolbox.remove_toolset("slow"));
    toolbox.add(tool("b", "here")).unwrap();
    assert_eq!(listed(&run(asked).unwrap()), ["a"]);
    assert_eq!(names(&toolbox), ["b"]);
}

// L09
#[test]
fn a_toolbox_never_closes_its_sets() {
    let remotes = [(); 3].map(|()| Remote::new("a", &["x"]));
    let toolbox = boxed(remotes[0].clone().prefixed());
    toolbox.add_toolset(remotes[1].clone()).unwrap();
    snapshot(&toolbox).unwrap();
    toolbox.remove_toolset("a");
    toolbox.set_toolsets([Arc::new(remotes[2].clone()) as Arc<dyn ToolSet>]).unwrap();
    toolbox.set_toolsets([]).unwrap();
    drop(toolbox);
    assert_eq!(remotes.each_ref().map(Remote::closed), [0; 3]);
    run(remotes[0].clone().prefixed().listed_once().close()).unwrap();
    assert_eq!(remotes[0].closed(), 1);
}

// L08
#[test]
fn only_actual_changes_are_announced() {
    let toolbox = Toolbox::new();
    let mut changes = toolbox.changes();
    let mut told = |what: &dyn Fn()| {
        what();
        let told = changes.has_changed();
        assert!(!told || run(changes.changed()));
        told
    };
    assert!(told(&|| toolbox.add(tool("a", "here")).unwrap()));
    assert!(!told(&|| assert!(toolbox.add(tool("a", "here")).is_err())));
    assert!(told(&|| assert!(toolbox.replace(tool("a", "here")).unwrap())));
    assert!(told(&|| assert!(toolbox.remove("a"))));
    assert!(!told(&|| assert!(!toolbox.remove("a"))));
    assert!(told(&|| assert!(!toolbox.add_toolset(Remote::new("a", &[])).unwrap())));
    assert!(told(&|| assert!(toolbox.remove_toolset("a"))));
    assert!(!told(&|| assert!(!toolbox.remove_toolset("a"))));
    assert!(told(&|| toolbox.set_toolsets([]).unwrap()));
    assert!(told(&|| toolbox.add_framework_tool(tool("f", "here")).unwrap()));
    assert!(told(&|| assert!(!toolbox.replace(tool("b", "here")).unwrap())));
    assert!(told(&|| toolbox.set_tools(tools(&["c"], "here")).unwrap()));
    assert!(!told(&|| assert!(toolbox.set_tools(tools(&["d", "d"], "here")).is_err())));
    assert!(!told(&|| assert!(toolbox.set_tools(tools(&["f"], "here")).is_err())));
    assert!(told(&|| toolbox.announce("a")));
    assert!(told(&|| toolbox.strict_listing(true)));
    assert!(told(&|| toolbox.strict_names(false)));
    assert!(told(&|| toolbox.show(tool_runtime::toolbox::Visibility::default())));
    assert!(!told(&|| drop(snapshot(&toolbox))));
    drop(toolbox);
    assert!(!changes.has_changed());
}

// L07, I10
#[test]
fn a_direct_tool_is_never_a_tool_of_the_framework() {
    let toolbox = Toolbox::new();
    toolbox.add(tool("added", "here")).unwrap();
    toolbox.show(tool_runtime::toolbox::Visibility::all().except(["added", "replaced", "set"]));
    assert!(!toolbox.replace(tool("replaced", "here")).unwrap());
    assert_eq!(names(&toolbox), [""; 0]);
    toolbox.set_tools(tools(&["set", "kept"], "here")).unwrap();
    assert_eq!(names(&toolbox), ["kept"]);
    // All direct tools are replaced, but tools of the framework are not.
    toolbox.add_framework_tool(tool("added", "the framework")).unwrap();
    toolbox.set_tools(tools(&["other"], "here")).unwrap();
    assert_eq!(names(&toolbox), ["added", "other"]);
    assert_eq!(snapshot(&toolbox).unwrap().origin("added"), Some(&Origin::Framework));
}
