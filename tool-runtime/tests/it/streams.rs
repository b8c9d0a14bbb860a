use std::{
    fmt,
    sync::{Arc, Mutex},
};

use futures_util::{FutureExt, Stream, StreamExt, stream};
use serde_json::json;
use tokio::sync::Semaphore;
use tool_runtime::{BoxFuture, context::CallSink, prelude::*};

use crate::{definition, run, text};

#[derive(Debug)]
struct Torn;

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("torn")
    }
}

/// Counts.
#[tool(register = false)]
fn count(to: u32) -> impl Stream<Item = u32> {
    stream::iter(0..to)
}

/// Speaks in pieces.
#[tool(register = false)]
fn speak(text: &str) -> impl Stream<Item = String> + '_ {
    stream::iter(text.split_inclusive(' ').map(str::to_owned))
}

/// Counts until it breaks.
#[tool(register = false)]
async fn tear(at: u32) -> impl Stream<Item = Result<u32, Torn>> {
    stream::iter(0..10).map(move |n| if n < at { Ok(n) } else { Err(Torn) })
}

/// Counts, if it may.
#[tool(register = false)]
fn boxed(may: bool) -> Result<stream::BoxStream<'static, u32>, Torn> {
    if may { Ok(stream::iter(0..2).boxed()) } else { Err(Torn) }
}

// B26
#[test]
fn the_items_of_a_stream_are_collected() {
    assert_eq!(text(Registry::builder().tool::<count>(), "count", r#"{"to":3}"#), "[0,1,2]");
    assert_eq!(text(Registry::builder().tool::<count>(), "count", r#"{"to":0}"#), "[]");
    assert_eq!(text(Registry::builder().tool::<speak>(), "speak", r#"{"text":"a b c"}"#), "a b c");
    assert_eq!(text(Registry::builder().tool::<boxed>(), "boxed", r#"{"may":true}"#), "[0,1]");
}

// B26
#[test]
fn the_schema_of_a_stream_is_that_of_its_items_together() {
    let schema = |tools| definition(tools).output_schema().unwrap().as_value().clone();
    let number = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
    assert_eq!(schema(Registry::builder().tool::<count>()), json!({ "type": "array", "items": number }));
    assert_eq!(schema(Registry::builder().tool::<tear>()), json!({ "type": "array", "items": number }));
    assert_eq!(schema(Registry::builder().tool::<boxed>()), json!({ "type": "array", "items": number }));
    assert_eq!(schema(Registry::builder().tool::<speak>()), json!({ "type": "string" }));
}

#[test]
fn a_stream_that_breaks_is_an_error_that_keeps_what_came() {
    let tools = Registry::builder().tool::<tear>().build().unwrap();
    let error = run(tools.call("tear", r#"{"at":2}"#)).unwrap_err();
    assert_eq!(error.feedback(), "torn");
    assert_eq!(error.details(), Some(&json!([0, 1])));
    assert_eq!(
        run(Registry::builder().tool::<boxed>().build().unwrap().call("boxed", r#"{"may":false}"#))
            .unwrap_err()
            .feedback(),
        "torn"
    );
}

#[test]
fn the_details_of_an_error_are_kept_beside_what_came() {
    /// Breaks with details.
    #[tool(register = false)]
    fn detailed() -> impl Stream<Item = Result<u32, ToolError>> {
        stream::iter([Ok(1), Err(ToolError::failed("torn").with_details(json!({ "line": 3 })))])
    }
    let tools = Registry::builder().tool::<detailed>().build().unwrap();
    let error = run(tools.call("detailed", "")).unwrap_err();
    assert_eq!(error.details(), Some(&json!({ "received": [1], "details": { "line": 3 } })));
}

/// Takes an update, and lets the tool make the next item only then.
struct Gate {
    seen: Mutex<Vec<String>>,
    next: Semaphore,
}

impl CallSink for Gate {
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        self.seen.lock().unwrap().push(update.text().into_owned());
        self.next.add_permits(1);
        Box::pin(std::future::ready(()))
    }
}

/// Makes an item after the one before was seen; it would wait for ever if none was seen early.
#[tool(register = false)]
fn gated(gate: &Arc<Gate>) -> impl Stream<Item = u32> + '_ {
    stream::unfold(0, move |n| async move {
        if n > 0 {
            gate.next.acquire().await.unwrap().forget();
        }
        (n < 3).then_some((n, n + 1))
    })
}

// B26, K05
#[test]
fn an_early_item_is_seen_before_a_late_one_is_made() {
    let gate = Arc::new(Gate { seen: Mutex::default(), next: Semaphore::new(0) });
    let tools = Registry::builder().tool::<gated>().provide(Arc::clone(&gate)).build().unwrap();
    let cx = tools.context_for("gated").unwrap().with_sink(Arc::clone(&gate) as Arc<dyn CallSink>);
    // Nothing has to be waited for, unless an item is not seen in time.
    let output = tools.call_in(&cx, "{}").now_or_never().unwrap().unwrap();
    assert_eq!(output.text(), "[0,1,2]");
    assert_eq!(*gate.seen.lock().unwrap(), ["0", "1", "2"]);
}

struct Dropped(Arc<Mutex<bool>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = true;
    }
}

/// Never ends.
#[tool(register = false)]
fn endless(flag: &Arc<Mutex<bool>>) -> impl Stream<Item = u32> {
    let guard = Dropped(Arc::clone(flag));
    stream::pending().map(move |()| {
        let _ = &guard;
        0
    })
}

#[test]
fn dropping_a_call_drops_its_stream() {
    let flag = Arc::new(Mutex::new(false));
    let tools = Registry::builder().tool::<endless>().provide(Arc::clone(&flag)).build().unwrap();
    run(async {
        let call = tools.call("endless", "{}");
        assert!(futures_util::poll!(Box::pin(call)).is_pending());
    });
    assert!(*flag.lock().unwrap());
}

// B26, K07: no item is read as a number of fewer digits and written again.
#[test]
fn collected_items_are_written_as_they_are() {
    /// Gives large numbers.
    #[tool(register = false)]
    fn large() -> impl Stream<Item = u128> {
        stream::iter([u128::MAX, 0])
    }
    let expected = format!("[{},0]", u128::MAX);
    assert_eq!(text(Registry::builder().tool::<large>(), "large", "{}"), expected);
}

// B26, F02
#[test]
fn corrections_of_all_items_are_kept() {
    /// Says a number again.
    #[tool(register = false)]
    fn say(n: u32) -> u32 {
        n
    }
    /// Says two numbers again, by another tool.
    #[tool(register = false)]
    fn twice(tools: &Registry) -> impl Stream<Item = Result<ToolOutput, ToolError>> {
        let tools = tools.clone();
        stream::iter(["1", "2"]).then(move |n| {
            let tools = tools.clone();
            async move { tools.call("say", json!({ "n": n })).await }
        })
    }
    let inner = Registry::builder().tool::<say>().build().unwrap();
    let output = crate::call(Registry::builder().tool::<twice>().provide(inner), "twice", "{}").unwrap();
    assert_eq!(output.corrections().len(), 2);
}
