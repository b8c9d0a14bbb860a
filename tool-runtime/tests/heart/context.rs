//! The context of a call.

use tool_runtime::prelude::*;

use crate::{run, text};

async fn two_levels_down() -> String {
    async { ToolContext::current_call_id().map_or_else(|| "none".into(), |id| id.to_string()) }.await
}

/// Shows its call.
#[tool(register = false)]
async fn show(cx: &ToolContext) -> String {
    tokio::task::yield_now().await;
    format!("{} {} {}", cx.tool_name(), cx.call_id(), two_levels_down().await)
}

// C01, C05
#[test]
fn a_tool_and_its_nested_functions_know_the_call_id() {
    let tools = Registry::builder().tool::<show>().build().unwrap();
    let said = run(async {
        let cx = tools.context_for("show").unwrap().with_call_id("call_7");
        let output = tools.call_in(&cx, "").await.unwrap();
        assert_eq!(two_levels_down().await, "none");
        output.text().into_owned()
    });
    assert_eq!(said, "show call_7 call_7");
}

// C05
#[test]
fn a_blocking_body_knows_the_call_id_and_its_thread_resets_it() {
    fn here() -> String {
        ToolContext::current_call_id().map_or_else(|| "none".into(), |id| id.to_string())
    }
    /// Shows its call from a blocking thread.
    #[tool(register = false, blocking)]
    fn elsewhere(fail: bool) -> String {
        assert!(!fail, "it failed");
        here()
    }
    let tools = Registry::builder().tool::<elsewhere>().build().unwrap();
    // A single blocking thread, so that the next body would see an id that was not reset.
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let (said, left) = runtime.block_on(async {
        let cx = tools.context_for("elsewhere").unwrap().with_call_id("call_7");
        let said = tools.call_in(&cx, r#"{"fail":false}"#).await.unwrap();
        let before = tokio::task::spawn_blocking(here).await.unwrap();
        tools.call_in(&cx, r#"{"fail":true}"#).await.unwrap_err();
        (said, [before, tokio::task::spawn_blocking(here).await.unwrap()])
    });
    assert_eq!(said.text(), "call_7");
    assert_eq!(left, ["none", "none"]);
}

// C06
#[test]
fn calls_without_an_id_have_unique_ids() {
    let said = || text(Registry::builder().tool::<show>(), "show", "");
    let (one, other) = (said(), said());
    let words: Vec<_> = one.split(' ').collect();
    assert_eq!(words[1], words[2]);
    assert_ne!(one, other);
}

// C03
#[test]
fn a_tool_sees_that_its_call_is_cancelled() {
    /// Waits to be cancelled.
    #[tool(register = false)]
    async fn wait(cx: &ToolContext) -> &'static str {
        cx.cancellation().cancelled().await;
        "cancelled"
    }
    let tools = Registry::builder().tool::<wait>().build().unwrap();
    let said = run(async {
        let cx = tools.context_for("wait").unwrap();
        cx.cancellation().cancel();
        tools.call_in(&cx, "").await.unwrap().text().into_owned()
    });
    assert_eq!(said, "cancelled");
}

// C18
#[test]
fn a_tool_can_be_tested_as_a_function() {
    let cx = ToolContext::for_test().with_call_id("x");
    assert!(run(show(&cx)).starts_with("test x "));
}

// B13
#[test]
fn an_optional_reference_is_an_optional_dependency() {
    struct Clock(u32);
    trait Store: Send + Sync {
        fn name(&self) -> &'static str;
    }
    struct Disk;
    impl Store for Disk {
        fn name(&self) -> &'static str {
            "disk"
        }
    }
    /// Shows its dependencies.
    #[tool(register = false)]
    fn look(
        clock: Option<&Clock>,
        store: Option<&dyn Store>,
        words: Option<&[String]>,
        text: Option<&str>,
    ) -> String {
        let store = store.map(Store::name);
        format!("{:?} {store:?} {:?} {text:?}", clock.map(|clock| clock.0), words.map(<[_]>::len))
    }
    let without = Registry::builder().tool::<look>().build().unwrap();
    let properties = &without.definitions()[0].input_schema().as_value()["properties"];
    assert_eq!(properties.as_object().unwrap().keys().collect::<Vec<_>>(), ["words", "text"]);
    assert!(without.get("look").unwrap().needs().is_empty());
    assert_eq!(crate::run(without.call("look", "{}")).unwrap().text(), "None None None None");
    let with = Registry::builder()
        .tool::<look>()
        .provide(Clock(7))
        .provide_shared::<dyn Store>(std::sync::Arc::new(Disk));
    let arguments = r#"{"text":"a","words":["b"]}"#;
    let said = crate::run(with.build().unwrap().call("look", arguments)).unwrap();
    assert_eq!(said.text(), r#"Some(7) Some("disk") Some(1) Some("a")"#);
}
