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

/// Streams a text in pieces.
#[tool(register = false)]
fn speak(text: &str) -> impl Stream<Item = String> + '_ {
    stream::iter(text.split_inclusive(' ').map(str::to_owned))
}

/// Counts until it fails.
#[tool(register = false)]
async fn tear(at: u32) -> impl Stream<Item = Result<u32, Torn>> {
    stream::iter(0..10).map(move |n| if n < at { Ok(n) } else { Err(Torn) })
}

/// Counts, or fails.
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
fn the_schema_of_a_stream_describes_its_collected_items() {
    let schema = |tools| definition(tools).output_schema().unwrap().as_value().clone();
    let number = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
    assert_eq!(schema(Registry::builder().tool::<count>()), json!({ "type": "array", "items": number }));
    assert_eq!(schema(Registry::builder().tool::<tear>()), json!({ "type": "array", "items": number }));
    assert_eq!(schema(Registry::builder().tool::<boxed>()), json!({ "type": "array", "items": number }));
    assert_eq!(schema(Registry::builder().tool::<speak>()), json!({ "type": "string" }));
}

#[test]
fn a_failed_stream_is_an_error_that_contains_its_items() {
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
fn the_details_of_an_error_are_kept_beside_the_items() {
    /// Fails with details.
    #[tool(register = false)]
    fn detailed() -> impl Stream<Item = Result<u32, ToolError>> {
        stream::iter([Ok(1), Err(ToolError::failed("torn").with_details(json!({ "line": 3 })))])
    }
    let tools = Registry::builder().tool::<detailed>().build().unwrap();
    let error = run(tools.call("detailed", "")).unwrap_err();
    assert_eq!(error.details(), Some(&json!({ "received": [1], "details": { "line": 3 } })));
}

/// A sink that permits the next item after each update.
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

/// Produces each item after the sink received the previous one; it would wait forever if items were delayed.
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
fn an_item_is_delivered_before_the_next_one_is_produced() {
    let gate = Arc::new(Gate { seen: Mutex::default(), next: Semaphore::new(0) });
    let tools = Registry::builder().tool::<gated>().provide(Arc::clone(&gate)).build().unwrap();
    let cx = tools.context_for("gated").unwrap().with_sink(Arc::clone(&gate) as Arc<dyn CallSink>);
    // Never pending, unless an item is not delivered in time.
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

// B26, K07: no number of an item loses digits.
#[test]
fn collected_items_keep_their_digits() {
    /// Streams large numbers.
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
    /// Returns a number.
    #[tool(register = false)]
    fn say(n: u32) -> u32 {
        n
    }
    /// Streams two numbers through another tool.
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
